"""Section 4.2 of Kovaleva et al. 2019: heads that tie a predicate to its semantic roles."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from headscope.atlas import Atlas
from headscope.stats.intervals import student
from headscope.types import Array
from headscope_papers.reproduce import ours as read
from headscope_papers.reproduce.paper import PublishedSection
from headscope_papers.reproduce.table import Figure, Row, Section

_WAYS = {"predicate_to_argument": "to the role", "argument_to_predicate": "to the predicate"}


@dataclass(frozen=True)
class _Cells:
    """What was found of every head, (direction, layer, head) each."""

    ways: list[str]
    units: int | None  # how many documents or texts the errors are over
    attention: Array
    attention_stderr: Array
    control: Array
    difference: Array
    difference_stderr: Array

    @property
    def spread(self) -> Array:
        """The standard errors of differences, nan where there is none to speak of."""
        return np.where(self.difference_stderr > 0, self.difference_stderr, np.nan)

    @property
    def reach(self) -> float:
        """How many standard errors a difference must be away from 0, corrected for all heads and directions."""
        return student(self.units, comparisons=max(1, int(np.isfinite(self.spread).sum())))

    @property
    def surely_above(self) -> Array:
        """(layer, head) whether a head gives roles surely more than other words, in one direction or the other."""
        return np.asarray((self.difference > self.reach * self.spread).any(0))


def roles(section: PublishedSection, atlases: Sequence[Atlas]) -> Section:
    """Figure 3: the heads with most attention between a predicate and its roles, beside a control."""
    holding = read.all_with(atlases, "relation_overall_attention")
    if not holding:
        return section.left_out()
    atlas, stack = holding[0]
    arrays = atlas.stack(stack)
    names = ("attention", "attention_stderr", "control", "difference", "difference_stderr")
    dims = ("direction", "layer", "head")
    cells = _Cells(
        [str(way) for way in arrays["relation_overall_attention"]["direction"].values],
        atlas.sample_size("relation_overall_difference"),
        *(arrays[f"relation_overall_{name}"].transpose(*dims).values for name in names),
    )
    sure = cells.surely_above
    least = section.figure("heads").value or 0
    count = Figure(int(sure.sum()), detail=f"of {sure.size}")
    drawings = [
        section.head_grid(
            "grid",
            atlas,
            stack,
            "relation_overall_attention",
            select={"direction": way},
            names={"direction": _WAYS[way]},
        )
        for way in cells.ways
    ]
    return section.filled(
        read.probed_by(atlas, stack, "relations"),
        [
            *_strongest(section, cells),
            section.row("heads", count, int(sure.sum()) >= least),
            *_chosen(section, atlas, stack),
        ],
        drawings=drawings,
    )


def _strongest(section: PublishedSection, cells: _Cells) -> Iterable[Row]:
    """The two heads with most attention, each held against its control."""
    best = np.where(np.isnan(cells.attention), -np.inf, cells.attention).max(0)  # (layer, head)
    ranked = np.argsort(-best.ravel(), kind="stable")
    for key, place in zip(("strongest", "second"), ranked, strict=False):
        layer, head = (int(number) for number in np.unravel_index(place, best.shape))
        way = int(np.nanargmax(cells.attention[:, layer, head]))
        cell = way, layer, head
        difference, half = float(cells.difference[cell]), cells.reach * float(cells.difference_stderr[cell])
        ends = (None, None) if np.isnan(half) else (difference - half, difference + half)
        control = f"control {100 * float(cells.control[cell]):.1f} %"
        ours = read.figure(
            float(cells.attention[cell]),
            float(cells.attention_stderr[cell]),
            cells.units,
            detail=f"{layer}.{head} {_WAYS[cells.ways[way]]}, {control}",
        )
        yield section.row(key, ours, 0.0, tested=Figure(difference, *ends))


def _chosen(section: PublishedSection, atlas: Atlas, stack: str) -> Iterable[Row]:
    """The head that was chosen by its difference on other sentences."""
    for row in atlas.table("relations", stack=stack):
        if row["role"] == "all" and row["difference"] is not None:
            detail = f"{row['head']} {_WAYS[row['direction']]}"
            ours = Figure(row["difference"], row["low"], row["high"], detail, row["cases"])
            yield section.row("chosen", ours)
