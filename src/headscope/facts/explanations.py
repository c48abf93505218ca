"""The table of `headscope explain`: its rows, its cells, and what its contrasts and embeddings are called."""

from dataclasses import dataclass
from typing import Any

from headscope.atlas import Atlas
from headscope.facts.scores import number

CONTRASTS = {
    "segment": "its own segment from the other",
    "sentence": "its own sentence from others",
    "sep": "[SEP] from other keys",
}
REPLACED = {"token": "tokens", "position": "positions", "segment": "segments", "all": "all of these"}
EMBEDDINGS = ("token", "position", "segment")
"""What may be replaced by its mean, one by one."""


@dataclass(frozen=True)
class Cell:
    """A number of the table, and its standard error over texts."""

    value: float | None
    stderr: float | None = None


def cell(found: object) -> Cell:
    """A number that stands by itself, or one with its error beside it."""
    if isinstance(found, dict):
        return Cell(number(found.get("value")), number(found.get("stderr")))
    return Cell(number(found))


def rows_of(atlas: Atlas, stack: str) -> list[dict[str, Any]]:
    """What `headscope explain` found, head by head; none where it was not asked."""
    return atlas.table("explanation", stack=stack)


def best_neuron(row: dict[str, Any], key: str = "score") -> object:
    """What the one best neuron carries; None where nothing is known."""
    carries = row.get("carries") or [{}]
    found = carries[0].get(key)
    return found if cell(found).value is not None else None
