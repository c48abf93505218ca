"""Why heads do what they do: what carries their scores, and what of their pattern is left."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.facts.analyses.explanations import EMBEDDINGS, HeadExplanation, explained_heads
from headscope.figures.style.colours import ACCENT, INK, MUTED, SERIES
from headscope.figures.style.theme import axes, dress, legend, open_plot
from headscope.types import HeadId

MOST_HEADS = 12
_MARKERS = dict(zip(EMBEDDINGS, "os^", strict=True))


def explanation(
    atlas: Atlas, head: HeadId | str, *, stack: str | None = None, ax: Axes | None = None
) -> Axes:
    """How much of a head's score its best 1, 2, 4 and 8 neurons carry, beside as many at random.

    Bars are shares of the score with standard errors over texts; dots say what the same neurons alone give of the
    head's pattern.
    """
    (row,) = _explained(atlas, stack, [head])
    if not row.carried:
        raise AtlasError(f"the scores of head {head} do not vary, so nothing carries them")
    ax = axes(ax, size=(4.6, 3.2))
    places = np.arange(len(row.carried))
    best, random = [part.score for part in row.carried], [part.score_random for part in row.carried]
    for shift, cells, label, colour in (
        (-0.2, best, "best neurons", ACCENT),
        (0.2, random, "as many at random", MUTED),
    ):
        ax.bar(
            places + shift,
            [cell.value or 0.0 for cell in cells],
            width=0.36,
            yerr=[cell.stderr or 0.0 for cell in cells],
            color=colour,
            ecolor=INK,
            error_kw={"elinewidth": 0.8},
            label=label,
        )
    pattern = np.array([part.pattern.number for part in row.carried])
    ax.plot(places - 0.2, pattern, "D", markersize=4, color=SERIES[1], label="pattern they alone give")
    dress(ax, title=f"What carries the score of head {head}", x="neurons", y="share")
    open_plot(ax)
    ax.set_xticks(places, [str(part.neurons) for part in row.carried])
    ax.set_ylim(np.nanmin([0.0, *(1.1 * pattern)]), 1.0)
    legend(ax, columns=2)
    return ax


def pattern_left(
    atlas: Atlas,
    heads: Sequence[HeadId | str] | None = None,
    *,
    stack: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """What is left of heads' patterns without tokens, positions or segments: a row a head, a mark for each.

    Without `heads` those that need something the most. 1 is the whole pattern, 0 no better than even attention.
    """
    shown = [(row.head, left) for row in _explained(atlas, stack, heads) if (left := _left(row))]
    if heads is None:
        shown = sorted(shown, key=lambda item: min(item[1].values()))[:MOST_HEADS]
    if not shown:
        raise AtlasError("the embeddings of this model could not be replaced, so what is left is unknown")
    ax = axes(ax, size=left_size(len(shown)))
    for series, (replaced, marker) in enumerate(_MARKERS.items()):
        values = [left.get(replaced, np.nan) for _, left in shown]
        if np.isfinite(values).any():
            label = f"without {EMBEDDINGS[replaced]}"
            ax.plot(values, range(len(shown)), marker, markersize=5, color=SERIES[series], label=label)
    dress(ax, title="What is left of the pattern", x="share of the pattern", y="head")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.axvline(0, color=MUTED, linewidth=0.8, linestyle="--", zorder=0)
    ax.axvline(1, color=MUTED, linewidth=0.8, zorder=0)
    ax.set_yticks(range(len(shown)), [head for head, _ in shown])
    ax.set_ylim(len(shown) - 0.5, -0.5)
    legend(ax, columns=3)
    return ax


def left_size(rows: int) -> tuple[float, float]:
    """Inches for so many rows, axis and legend."""
    return 6.0, 0.24 * rows + 1.1


def _left(row: HeadExplanation) -> dict[str, float]:
    return {name: left.number for name, left in row.pattern_left.items() if name in EMBEDDINGS}


def _explained(
    atlas: Atlas, stack: str | None, heads: Sequence[HeadId | str] | None
) -> list[HeadExplanation]:
    """The rows about these heads, or all, of the stack named or of the first that was explained."""
    by_stack = (explained_heads(atlas, name) for name in ([stack] if stack else atlas.stacks))
    rows = {row.head: row for row in next(filter(None, by_stack), [])}
    if not rows:
        raise AtlasError(
            "this atlas explains no head yet; add that with: headscope explain MODEL --head HEAD --text FILE -o ATLAS"
        )
    wanted = list(rows) if heads is None else [str(HeadId.parse(str(head))) for head in heads]
    for head in wanted:
        if head not in rows:
            raise AtlasError(
                f"head {head} was not explained; add it with: headscope explain MODEL --head {head} -o ATLAS"
            )
    return [rows[head] for head in wanted]
