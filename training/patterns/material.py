"""All that the networks are trained on: labelled maps, made maps, and real maps without a label."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from training.patterns.choose_maps import SETTINGS, SHORTEST
from training.patterns.contact_sheets import read_rows
from training.patterns.generate import made_maps
from training.patterns.real_maps import (
    documents_at,
    fold_of_document,
    fold_of_head,
    is_pair,
    parse,
    real_text,
    tokens_in,
)
from training.patterns.views import Views, views

from headscope.heads.patterns import PATTERNS

LABELS = Path(__file__).with_name("labels.jsonl")
UNLABELLED_MODELS = ("demo", "demo-mrpc", "demo-qa", "demo-sharp", "demo-qa-sharp")


@dataclass(frozen=True)
class Sizes:
    """How much material is made."""

    changed: int = 6
    made: int = 4000
    longest_made: int = 512
    unlabelled_rounds: int = 5
    """In each round, one text of every length for every model, and some of its heads."""
    heads_each: int = 12


@dataclass(frozen=True)
class Material:
    """Maps as the networks see them; a map's first view is the map as it is."""

    rows: list[dict[str, Any]]
    labelled: Views
    target: Tensor  # (map,) index into PATTERNS
    fold: Tensor  # (map,) that of its head, which is also that of its document
    made: Views
    made_target: Tensor  # (made,)
    unlabelled: Views
    unlabelled_folds: Tensor  # (unlabelled, 2) those of its head and of its document

    @property
    def hard(self) -> Tensor:
        """(map,) True where the one who labelled it was in doubt."""
        return torch.tensor(["note" in row for row in self.rows])


def build(sizes: Sizes, rows: list[dict[str, Any]] | None = None) -> Material:
    """The material, the same every time."""
    rows = read_rows(LABELS) if rows is None else rows
    made = made_maps(sizes.made, seed=1, longest=sizes.longest_made)
    unlabelled, folds = _unlabelled(sizes)
    return Material(
        rows,
        views(_maps(rows), changed=sizes.changed, rng=np.random.default_rng(3)),
        torch.tensor([PATTERNS.index(row["label"]) for row in rows]),
        torch.tensor([_folds(row)[0] for row in rows]),
        views((map_.attention for map_ in made), changed=0, rng=np.random.default_rng(4)),
        torch.tensor([map_.label for map_ in made]),
        unlabelled,
        folds,
    )


def _maps(rows: list[dict[str, Any]]) -> Iterator[Tensor]:
    """(query, key) the map of each row."""
    for row in rows:
        yield real_text(row["model"], row["text"]).attention[row["layer"], row["head"]]


def _folds(row: dict[str, Any]) -> tuple[int, int]:
    """The folds of a map's head and of its document."""
    length, number, _ = parse(row["text"])
    return fold_of_head(row["layer"], row["head"]), fold_of_document(documents_at(length)[number])


def _unlabelled(sizes: Sizes) -> tuple[Views, Tensor]:
    """Real maps by chance, each with two changed views, and (map, 2) their folds."""
    chance, rng = random.Random(11), np.random.default_rng(5)
    found: list[Views] = []
    folds: list[tuple[int, int]] = []
    for _ in range(sizes.unlabelled_rounds):
        for setting in SETTINGS:
            length = int(setting.split("/")[0])
            numbers = [
                place for place in range(len(documents_at(length))) if length < 48 or is_pair(length, place)
            ]
            for model in UNLABELLED_MODELS:
                text = f"articles/{length}/{chance.choice(numbers)}" + setting[len(str(length)) :]
                if tokens_in(text) < SHORTEST:
                    continue
                attention = real_text(model, text).attention  # (layer, head, query, key)
                heads = [(chance.randrange(12), chance.randrange(8)) for _ in range(sizes.heads_each)]
                found.append(views((attention[head] for head in heads), changed=2, rng=rng))
                folds += [_folds({"text": text, "layer": layer, "head": head}) for layer, head in heads]
    return Views.joined(found), torch.tensor(folds)
