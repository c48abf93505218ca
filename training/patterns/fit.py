"""Train networks on labelled and made maps."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from training.patterns.material import Material

from headscope.kinds.patterns import PATTERNS, PatternNetwork

RATE = 3e-3
DECAY = 2e-2
SMOOTHING, SMOOTHING_WHEN_HARD = 0.06, 0.3
"""The share of a label that is dealt out to all patterns: more where the one who labelled was in doubt."""


@dataclass(frozen=True)
class Plan:
    """How many networks are trained, how long, and on how many maps at a time."""

    networks: int = 6
    steps: int = 1000
    labelled: int = 96
    made: int = 32


def fit(material: Material, plan: Plan, *, without: int | None = None) -> list[PatternNetwork]:
    """Networks that have seen no head and no document of the fold `without`."""
    labelled = (material.fold != (-1 if without is None else without)).nonzero()[:, 0]
    return [_train(material, plan, labelled, seed=seed) for seed in range(plan.networks)]


def _train(material: Material, plan: Plan, labelled: Tensor, *, seed: int) -> PatternNetwork:
    """A network from the labelled maps (map,) and the made ones."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = PatternNetwork().train()
        optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=plan.steps, pct_start=0.2)
        # Made maps in the shares that the real ones have.
        shares = torch.bincount(material.target[labelled], minlength=len(PATTERNS)).float()
        weights = shares[material.made_target]
        wanted, made_wanted = smoothed(material.target, material.hard), smoothed(material.made_target)
        for _ in range(plan.steps):
            maps = labelled[torch.randint(len(labelled), (plan.labelled,))]
            view = torch.randint(material.labelled.shape[1], (plan.labelled,))
            made = torch.multinomial(weights, plan.made, replacement=True)
            numbers = torch.cat([material.labelled[maps, view], material.made[made, 0]])
            loss = nn.functional.cross_entropy(network(numbers), torch.cat([wanted[maps], made_wanted[made]]))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
    return network.eval()


def smoothed(target: Tensor, hard: Tensor | None = None) -> Tensor:
    """(map, pattern) most for the label, a little for the others; less for the label where it was hard (map,)."""
    shared = torch.full((len(target), 1), SMOOTHING)
    if hard is not None:
        shared[hard] = SMOOTHING_WHEN_HARD
    return torch.eye(len(PATTERNS))[target] * (1 - shared) + shared / len(PATTERNS)


@torch.no_grad()
def probabilities(networks: list[PatternNetwork], numbers: Tensor) -> Tensor:
    """(map, pattern) what networks think of maps (map, number)."""
    return torch.stack([network(numbers).softmax(-1) for network in networks]).mean(0)
