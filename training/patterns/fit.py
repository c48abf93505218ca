"""Train networks on labelled, made and unlabelled maps.

First a few teachers learn from labelled and made maps alone: two networks, and trees that see the numbers only.
What they think of the unlabelled maps is then taught, together with the labels, to the networks that are kept.
"""

from dataclasses import dataclass

import numpy as np
import torch
from sklearn.ensemble import ExtraTreesClassifier
from torch import Tensor, nn
from training.patterns.material import Material
from training.patterns.views import Views

from headscope.heads.patterns import PATTERNS, PatternNetwork

RATE = 2e-3
DECAY = 1e-2
SMOOTHING, SMOOTHING_WHEN_HARD = 0.06, 0.3
"""The share of a label that is dealt out to all patterns: more where the one who labelled was in doubt."""
TREES = 0.35
"""The weight of the trees' opinion among the teachers'."""


@dataclass(frozen=True)
class Course:
    """How long, and on how much at a time, a network is trained."""

    steps: int
    labelled: int
    made: int
    unlabelled: int = 0


@dataclass(frozen=True)
class Plan:
    """How many networks, and how they are trained. A second network that is kept would cost as much again to use."""

    teachers: int = 2
    kept: int = 1
    trees: int = 200
    teaching: Course = Course(700, labelled=36, made=28)
    keeping: Course = Course(1400, labelled=36, made=14, unlabelled=30)


def fit(material: Material, plan: Plan, *, without: int | None = None) -> list[PatternNetwork]:
    """Networks that have seen no head and no document of the fold `without`."""
    labelled = (material.fold != (-1 if without is None else without)).nonzero()[:, 0]
    unlabelled = (material.unlabelled_folds != (-1 if without is None else without)).all(-1).nonzero()[:, 0]
    teachers = [_train(material, plan.teaching, labelled, seed=seed) for seed in range(plan.teachers)]
    opinion = _opinion(material, plan, teachers, labelled, unlabelled)
    return [
        _train(material, plan.keeping, labelled, seed=10 + seed, unlabelled=unlabelled, opinion=opinion)
        for seed in range(plan.kept)
    ]


def _train(
    material: Material,
    course: Course,
    labelled: Tensor,
    *,
    seed: int,
    unlabelled: Tensor | None = None,
    opinion: Tensor | None = None,
) -> PatternNetwork:
    """A network from the labelled maps (map,) and, if given, from the opinion (map, pattern) on others (map,)."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = PatternNetwork().train()
        optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, RATE, total_steps=course.steps, pct_start=0.2
        )
        # Made maps in the shares that the real ones have.
        shares = torch.bincount(material.target[labelled], minlength=len(PATTERNS)).float()
        weights = shares[material.made_target]
        known = smoothed(material.target, material.hard)
        for _ in range(course.steps):
            batch = [
                _drawn(material.labelled, labelled, known, course.labelled),
                _made(material, weights, course.made),
            ]
            if unlabelled is not None and opinion is not None:
                batch.append(_drawn(material.unlabelled, unlabelled, opinion, course.unlabelled))
            pictures, numbers, wanted = (torch.cat(parts) for parts in zip(*batch, strict=True))
            loss = nn.functional.cross_entropy(network(pictures, numbers), wanted)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
    return network.eval()


def _drawn(seen: Views, maps: Tensor, wanted: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Some of the maps (map,), each in any of its views, and what is wanted (all maps, pattern) of them."""
    chosen = maps[torch.randint(len(maps), (count,))]
    views = torch.randint(seen.pictures.shape[1], (count,))
    return *seen.pick(chosen, views), wanted[chosen]


def _made(material: Material, weights: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    chosen = torch.multinomial(weights, count, replacement=True)
    pictures, numbers = material.made.pick(chosen, torch.zeros_like(chosen))
    return pictures, numbers, smoothed(material.made_target[chosen])


def smoothed(target: Tensor, hard: Tensor | None = None) -> Tensor:
    """(map, pattern) most for the label, a little for the others; less for the label where it was hard (map,)."""
    shared = torch.full((len(target), 1), SMOOTHING)
    if hard is not None:
        shared[hard] = SMOOTHING_WHEN_HARD
    return torch.eye(len(PATTERNS))[target] * (1 - shared) + shared / len(PATTERNS)


def _opinion(
    material: Material, plan: Plan, teachers: list[PatternNetwork], labelled: Tensor, unlabelled: Tensor
) -> Tensor:
    """(all unlabelled, pattern) what the teachers think, over all views; 0 where they were not asked."""
    seen = material.unlabelled
    trees = ExtraTreesClassifier(
        plan.trees, min_samples_leaf=3, max_features=0.4, class_weight="balanced", random_state=0
    )
    known = material.labelled.numbers[labelled, :4]  # (map, view, number)
    trees.fit(known.flatten(0, 1).numpy(), np.repeat(material.target[labelled].numpy(), known.shape[1]))
    opinion = torch.zeros(len(seen), len(PATTERNS))
    views = range(seen.pictures.shape[1])
    for view in views:
        numbers = seen.numbers[unlabelled, view]
        networks = torch.stack([probabilities(teacher, seen, unlabelled, view) for teacher in teachers]).mean(
            0
        )
        by_trees = torch.zeros_like(networks)
        by_trees[:, trees.classes_] = torch.from_numpy(trees.predict_proba(numbers.numpy())).float()
        opinion[unlabelled] += ((1 - TREES) * networks + TREES * by_trees) / len(views)
    return opinion


@torch.no_grad()
def probabilities(network: PatternNetwork, seen: Views, maps: Tensor, view: int = 0) -> Tensor:
    """(map, pattern) what a network thinks of one view of the maps (map,)."""
    chunks = [maps[start : start + 256] for start in range(0, len(maps), 256)]
    return torch.cat([network(*seen.pick(some, torch.full_like(some, view))).softmax(-1) for some in chunks])
