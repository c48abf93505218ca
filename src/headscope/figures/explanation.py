"""Why heads do what they do: what carries their scores, and what of their pattern is left."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.facts.explanations import REPLACED, cell, rows_of
from headscope.figures.colours import ACCENT, INK, MUTED, SERIES
from headscope.figures.theme import axes, dress, legend, open_plot
from headscope.types import HeadId

MOST_HEADS = 12
_MARKERS = {"token": "o", "position": "s", "segment": "^"}


def explanation(
    atlas: Atlas,
    head: HeadId | str,
    *,
    stack: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """How much of a head's score its best 1, 2, 4 and 8 neurons carry, beside as many at random.

    Bars are shares of the score with standard errors over texts; dots say what the same neurons alone give of the
    head's pattern.
    """
    row = _row(atlas, stack, HeadId.parse(str(head)))
    found = [one for one in row.get("carries") or [] if cell(one.get("score")).value is not None]
    if not found:
        raise AtlasError(f"the scores of head {head} do not vary, so nothing carries them")
    ax = axes(ax, size=(4.6, 3.2))
    places = np.arange(len(found))
    for shift, key, label, colour in (
        (-0.2, "score", "best neurons", ACCENT),
        (0.2, "score_random", "as many at random", MUTED),
    ):
        cells = [cell(one.get(key)) for one in found]
        ax.bar(
            places + shift,
            [one.value or 0.0 for one in cells],
            width=0.36,
            yerr=[one.stderr or 0.0 for one in cells],
            color=colour,
            ecolor=INK,
            error_kw={"elinewidth": 0.8},
            label=label,
        )
    pattern = [cell(one.get("pattern")).value for one in found]
    ax.plot(
        places - 0.2,
        [np.nan if one is None else one for one in pattern],
        linestyle="none",
        marker="D",
        markersize=4,
        color=SERIES[1],
        label="pattern they alone give",
    )
    dress(ax, title=f"What carries the score of head {head}", x="neurons", y="share")
    open_plot(ax)
    ax.set_xticks(places, [str(one.get("neurons")) for one in found])
    lowest = min((one for one in pattern if one is not None), default=0.0)
    ax.set_ylim(min(0.0, lowest * 1.1), 1.0)
    legend(ax, columns=2)
    return ax


def pattern_left(
    atlas: Atlas,
    heads: list[HeadId] | list[str] | None = None,
    *,
    stack: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """What is left of heads' patterns without tokens, positions or segments: a row a head, a mark for each.

    Without `heads` those that need something the most. 1 is the whole pattern, 0 no better than even attention.
    """
    name = _stack_explained(atlas, stack)
    rows = rows_of(atlas, name)
    if heads is not None:
        rows = [_row(atlas, name, HeadId.parse(str(head))) for head in heads]
    else:
        rows = sorted(rows, key=lambda row: min(_left(row).values(), default=np.inf))[:MOST_HEADS]
    found = [(row, _left(row)) for row in rows if _left(row)]
    if not found:
        raise AtlasError("the embeddings of this model could not be replaced, so nothing tells what is left")
    ax = axes(ax, size=left_size(len(found)))
    for series, (replaced, marker) in enumerate(_MARKERS.items()):
        shown = [(place, left[replaced]) for place, (_, left) in enumerate(found) if replaced in left]
        if shown:
            ax.plot(
                [value for _, value in shown],
                [place for place, _ in shown],
                linestyle="none",
                marker=marker,
                markersize=5,
                color=SERIES[series],
                label=f"without {REPLACED[replaced]}",
            )
    dress(ax, title="What is left of the pattern", x="share of the pattern", y="head")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.axvline(0, color=MUTED, linewidth=0.8, linestyle="--", zorder=0)
    ax.axvline(1, color=MUTED, linewidth=0.8, zorder=0)
    ax.set_yticks(range(len(found)), [str(row["head"]) for row, _ in found])
    ax.set_ylim(len(found) - 0.5, -0.5)
    legend(ax, columns=3)
    return ax


def left_size(rows: int) -> tuple[float, float]:
    """Inches for so many rows, axis and legend."""
    return 6.0, 0.24 * rows + 1.1


def _left(row: dict[str, Any]) -> dict[str, float]:
    found = {str(one.get("replaced")): cell(one.get("left")).value for one in row.get("left") or []}
    return {name: value for name, value in found.items() if value is not None and name in _MARKERS}


def _row(atlas: Atlas, stack: str | None, head: HeadId) -> dict[str, Any]:
    for row in rows_of(atlas, _stack_explained(atlas, stack)):
        if row.get("head") == str(head):
            return row
    raise AtlasError(
        f"head {head} was not explained; add it with: headscope explain MODEL --head {head} -o ATLAS"
    )


def _stack_explained(atlas: Atlas, stack: str | None) -> str:
    """The stack to look in: the one named, or the first that was explained."""
    for name in [stack] if stack else atlas.stacks:
        if rows_of(atlas, name):
            return name
    raise AtlasError(
        "this atlas explains no head yet; add that with: headscope explain MODEL --head HEAD --text FILE -o ATLAS"
    )
