"""Distances between heads as lists of pairs, nearest first."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from headscope.cli.head_table import Number
from headscope.errors import OptionError

if TYPE_CHECKING:
    import xarray as xr

PAIR_DIMS = ("head_a", "head_b")


@dataclass(frozen=True)
class HeadPair:
    """Two heads, written layer.head, and how far apart they are."""

    head_a: str
    head_b: str
    distance: Number

    def record(self) -> dict[str, Any]:
        """The pair as a flat record."""
        return {
            "head_a": self.head_a,
            "head_b": self.head_b,
            "value": self.distance.mean,
            "stderr": self.distance.stderr,
        }


def head_pairs(
    array: xr.DataArray, stderr: xr.DataArray | None, *, layer: int | None, head: int | None
) -> list[HeadPair]:
    """Each pair once, nearest first; of a given layer or head number, the pairs with at least one such head.

    With both given it is one head's neighbours, and that head stands first in every pair.
    """
    labels = [str(label) for label in array["head_a"].values]
    chosen = [_matches(label, layer, head) for label in labels]
    if not any(chosen):
        wanted = ".".join("*" if number is None else str(number) for number in (layer, head))
        raise OptionError(f"there is no head {wanted}; heads go from {labels[0]} to {labels[-1]}")
    means = array.values.tolist()
    errors = None if stderr is None else stderr.values.tolist()
    pairs = []
    for a, label_a in enumerate(labels):
        for b in range(a + 1, len(labels)):
            if chosen[a] or chosen[b]:
                first, second = (label_a, labels[b]) if chosen[a] else (labels[b], label_a)
                pairs.append(
                    HeadPair(first, second, Number(means[a][b], nan if errors is None else errors[a][b]))
                )
    return sorted(pairs, key=lambda pair: (isnan(pair.distance.mean), pair.distance.mean))


def ends(pairs: list[HeadPair], count: int) -> tuple[list[HeadPair], list[HeadPair]]:
    """The nearest pairs, and the farthest ones from the farthest on; no pair is in both."""
    nearest = pairs[:count]
    farthest = pairs[max(count, len(pairs) - count) :]
    return nearest, farthest[::-1]


def _matches(label: str, layer: int | None, head: int | None) -> bool:
    numbers = [int(number) for number in label.split(".")]
    return all(
        wanted is None or wanted == number for wanted, number in zip((layer, head), numbers, strict=True)
    )
