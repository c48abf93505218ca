"""Section 4.2 of Kovaleva et al. 2019: heads that tie a predicate to its semantic roles."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headscope.atlas import Atlas
from headscope.figures import head_grid
from headscope.figures.grid import grid_size
from headscope.reproduce.kovaleva import published as paper
from headscope.reproduce.kovaleva.sources import all_holding, drawn, figure, origin
from headscope.reproduce.table import Drawing, Figure, Row, Section
from headscope.reproduce.verdicts import exceeds, holds
from headscope.stats.intervals import critical

_WAYS = {"predicate_to_argument": "to the role", "argument_to_predicate": "to the predicate"}

Array = np.ndarray[Any, Any]


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
    def reach(self) -> float:
        """How many standard errors a difference must be away from 0, corrected for all heads and directions."""
        known = np.isfinite(self.difference_stderr) & (self.difference_stderr > 0)
        return critical(self.units, comparisons=max(1, int(known.sum())))

    @property
    def surely_above(self) -> Array:
        """(layer, head) whether a head gives roles surely more than other words, in one direction or the other."""
        spread = self.difference_stderr
        known = np.isfinite(spread) & (spread > 0)
        above: Array = known & (self.difference > self.reach * np.where(known, spread, 0))
        return np.asarray(above.any(0))


def roles(atlases: Sequence[Atlas]) -> Section:
    """Figure 3: the heads with most attention between a predicate and its roles, beside a control."""
    key, title = "roles", "Section 4.2, figure 3: heads for semantic roles"
    covers = ("figure 3",)
    found = next(iter(all_holding(atlases, "relation_overall_attention")), None)
    if found is None:
        needs = "figure 3 needs --roles FILE, or an atlas made with headscope probe relations"
        return Section(key, title, paper.ROLES, needs=needs, covers=covers)
    atlas, stack = found
    cells = _cells(atlas, stack)
    return Section(
        key,
        title,
        paper.ROLES,
        origin(found, "relations"),
        (*_strongest(cells), _above_control(cells), *_chosen(atlas, stack)),
        notes=(
            "The strongest attention between the words of predicate and role, mean over pairs. The control is the same "
            "at the same distance elsewhere in the sentence; the paper has none.",
            "The paper's two heads lie above the 99th percentile of its 144 heads, as any two strongest of 144 do. "
            "Which heads they are is shown in its figure.",
            "The strongest heads are chosen on the texts they are measured on, here as in the paper; the head chosen "
            "against its control is scored on other texts.",
        ),
        drawings=tuple(_grids(atlas, stack, cells)),
        covers=covers,
    )


def _cells(atlas: Atlas, stack: str) -> _Cells:
    arrays = atlas.stack(stack)
    names = ("attention", "attention_stderr", "control", "difference", "difference_stderr")
    return _Cells(
        [str(way) for way in arrays["relation_overall_attention"]["direction"].values],
        atlas.sample_size("relation_overall_difference"),
        *(
            arrays[f"relation_overall_{name}"].transpose("direction", "layer", "head").values
            for name in names
        ),
    )


def _strongest(cells: _Cells) -> Iterable[Row]:
    """The two heads with most attention, each held against its control."""
    best = np.where(np.isnan(cells.attention), -np.inf, cells.attention).max(0)  # (layer, head)
    ranked = np.argsort(-best.ravel(), kind="stable")[: len(paper.ROLE_HEADS)]
    names = ("strongest head", "second strongest head")
    for name, published, place in zip(names, paper.ROLE_HEADS, ranked, strict=False):
        layer, head = (int(number) for number in np.unravel_index(place, best.shape))
        way = int(np.nanargmax(cells.attention[:, layer, head]))
        cell = way, layer, head
        control, difference = float(cells.control[cell]), float(cells.difference[cell])
        detail = f"{layer}.{head} {_WAYS[cells.ways[way]]}, control {100 * control:.1f} %"
        half = cells.reach * float(cells.difference_stderr[cell])
        excess = (
            Figure(difference) if np.isnan(half) else Figure(difference, difference - half, difference + half)
        )
        spread = float(cells.attention_stderr[cell])
        ours = figure(float(cells.attention[cell]), spread, cells.units, detail=detail)
        verdict = exceeds(excess, 0.0, "the head gives roles more than its control")
        yield Row(name, "share", Figure(published), ours, verdict=verdict)


def _above_control(cells: _Cells) -> Row:
    """How many heads give roles surely more than other words, all heads and directions considered."""
    sure = cells.surely_above
    return Row(
        "heads for roles",
        "heads",
        Figure(len(paper.ROLE_HEADS), detail="of 144"),
        Figure(int(sure.sum()), detail=f"of {sure.size}"),
        note="the paper's stand out in a picture; ours are surely above their control, corrected for all heads",
        verdict=holds(int(sure.sum()) >= len(paper.ROLE_HEADS), "two heads or more stand out"),
    )


def _chosen(atlas: Atlas, stack: str) -> list[Row]:
    """The head that was chosen by its difference on other sentences."""
    row = next((row for row in atlas.table("relations", stack=stack) if row["role"] == "all"), None)
    if row is None or row["difference"] is None:
        return []
    detail = f"{row['head']} {_WAYS[row['direction']]}"
    figure = Figure(row["difference"], row["low"], row["high"], detail, row["cases"])
    return [Row("best head less its control", "share", None, figure)]


def _grids(atlas: Atlas, stack: str, cells: _Cells) -> Iterable[Drawing]:
    layers, heads = cells.attention.shape[1:]
    for way in cells.ways:
        yield Drawing(
            f"Attention {_WAYS[way]}",
            f"The strongest attention between predicate and role, {_WAYS[way]}, mean over pairs.",
            grid_size(layers, heads),
            drawn(head_grid, atlas, "relation_overall_attention", select={"direction": way}, stack=stack),
        )
