"""All that the networks are trained on: labelled maps and made maps."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from training.patterns.contact_sheets import read_rows
from training.patterns.generate import made_maps
from training.patterns.real_maps import fold_of_head, real_text
from training.patterns.views import views

from headscope.kinds.patterns import PATTERNS

LABELS = Path(__file__).with_name("labels.jsonl")


@dataclass(frozen=True)
class Sizes:
    """How much material is made."""

    changed: int = 6
    made: int = 4000
    longest_made: int = 512


@dataclass(frozen=True)
class Material:
    """Maps as the networks see them; a map's first view is the map as it is."""

    rows: list[dict[str, Any]]
    labelled: Tensor  # (map, view, number)
    target: Tensor  # (map,) index into PATTERNS
    fold: Tensor  # (map,) that of its head, which is also that of its document
    made: Tensor  # (made, 1, number)
    made_target: Tensor  # (made,)

    @property
    def hard(self) -> Tensor:
        """(map,) True where the one who labelled it was in doubt."""
        return torch.tensor(["note" in row for row in self.rows])


def build(sizes: Sizes, rows: list[dict[str, Any]] | None = None) -> Material:
    """The material, the same every time."""
    rows = read_rows(LABELS) if rows is None else rows
    made = made_maps(sizes.made, seed=1, longest=sizes.longest_made)
    return Material(
        rows,
        views(_maps(rows), changed=sizes.changed, rng=np.random.default_rng(3)),
        torch.tensor([PATTERNS.index(row["label"]) for row in rows]),
        torch.tensor([fold_of_head(row["layer"], row["head"]) for row in rows]),
        views((map_.attention for map_ in made), changed=0, rng=np.random.default_rng(4)),
        torch.tensor([map_.label for map_ in made]),
    )


def _maps(rows: list[dict[str, Any]]) -> Iterator[Tensor]:
    """(query, key) the map of each row."""
    for row in rows:
        yield real_text(row["model"], row["text"]).attention[row["layer"], row["head"]]
