"""Some heads against the rest: the mean of every number known of them, and whether the difference is clear."""

import numpy as np

from headscope.atlas import Atlas
from headscope.errors import OptionError
from headscope.facts.scores import NOTHING, Score, compared
from headscope.facts.titles import AtlasWords
from headscope.facts.wording import count
from headscope.pages.atlas import colourings
from headscope.pages.head.page import check_head, grid_shape
from headscope.pages.shapes.views import Colouring, Selection, SelectionRow
from headscope.stats.intervals import difference_interval
from headscope.types import Array, HeadId

MOST = 30
"""How many numbers are shown."""


def selection(atlas: Atlas, stack: str, heads: list[HeadId]) -> Selection:
    """The numbers in which these heads differ most from all others of the stack, by the width of their interval."""
    for head in heads:
        check_head(atlas, stack, head)
    layers, width = grid_shape(atlas, stack) or (0, 0)
    chosen = np.zeros(layers * width, dtype=bool)
    chosen[[head.layer * width + head.head for head in heads]] = True
    if not 0 < chosen.sum() < chosen.size:
        raise OptionError(
            f"{count(int(chosen.sum()), 'head')} of {chosen.size} are selected; select some heads, and leave some out"
        )
    numbers = [one for one in colourings(atlas, stack, AtlasWords(atlas)) if one.kind == "number"]
    rows = [row for number in numbers if (row := _row(number, chosen, len(numbers))) is not None]
    rows.sort(key=lambda row: -_clearness(row))
    return Selection(
        rows=rows[:MOST],
        about=f"Means over {count(int(chosen.sum()), 'head')} and over the other {chosen.size - int(chosen.sum())}. "
        f"The 95 % interval of the difference takes heads as the sample (Welch) and is corrected for {len(numbers)} "
        "measures. Heads selected by a measure differ in it by choice.",
    )


def _row(number: Colouring, chosen: Array, comparisons: int) -> SelectionRow | None:
    """One number of both groups; None where either has none."""
    values = np.array([np.nan if value is None else value for value in number.values])
    known = np.isfinite(values)
    inside, outside = values[chosen & known], values[~chosen & known]
    if not (inside.size and outside.size):
        return None
    difference = float(inside.mean() - outside.mean())
    ends = difference_interval(inside, outside, comparisons=comparisons)
    low, high = ends if np.isfinite(ends).all() else (None, None)
    return SelectionRow(
        title=number.title,
        unit=number.unit,
        selected=float(inside.mean()),
        rest=float(outside.mean()),
        difference=difference,
        low=low,
        high=high,
        verdict=compared(Score("difference", difference, low, high), (NOTHING,)),
    )


def _clearness(row: SelectionRow) -> float:
    """How large a difference is for the width of its interval; 0 where that is not known."""
    if row.low is None or row.high is None or row.difference is None:
        return 0.0
    return abs(row.difference) / max(row.high - row.low, 1e-12)
