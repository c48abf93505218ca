"""Head view: the tokens of a text on both sides, and lines as strong as the attention between them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D

from headscope.errors import OptionError
from headscope.figures.colours import INK, MUTED
from headscope.figures.theme import SMALL_SIZE, TITLE_SIZE, axes
from headscope.figures.token_maps import ROW, checked, head_colour, labels, widest, write

BETWEEN = 150.0  # points from the tokens that look to those looked at
GAP = 4.0
MOST_LINES = 20_000
"""A picture has no more: of very many, the weakest are left out."""


def head_view(
    weights: Any,
    tokens: Sequence[str],
    *,
    key_tokens: Sequence[str] | None = None,
    heads: Sequence[int] | None = None,
    threshold: float = 0.01,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """One layer's heads on one text: lines from each token to those it looks at, one colour a head.

    `weights` is (head, query, key), `key_tokens` those looked at where they are others (cross attention), `heads` the
    numbers of the heads to draw (all when None). The stronger a line, the more attention; weights below `threshold`
    have none.
    """
    array = checked(weights, tokens, key_tokens, dims=3)
    chosen = list(range(len(array))) if heads is None else list(heads)
    unknown = [head for head in chosen if head not in range(len(array))]
    if unknown or not chosen:
        raise OptionError(f"heads must be some of 0 to {len(array) - 1}, not {unknown or chosen}")
    left, right = labels(tokens), labels(tokens if key_tokens is None else key_tokens)
    rows = max(len(left), len(right))
    margins = widest(left) + GAP, widest(right) + GAP
    if ax is None:
        ax = axes(None, size=head_view_size(tokens, key_tokens))
    ax.set_xlim(-margins[0], BETWEEN + margins[1])
    ax.set_ylim(rows * ROW, -1.5 * ROW)
    ax.set_axis_off()
    ax.set_title(title, loc="left", fontsize=TITLE_SIZE, color=INK, parse_math=False)
    for x, side, name in ((-GAP, "right", "from"), (BETWEEN + GAP, "left", "to")):
        ax.text(x, -ROW, name, fontsize=SMALL_SIZE, color=MUTED, ha=side, va="center")
    for x, side, texts in ((-GAP, "right", left), (BETWEEN + GAP, "left", right)):
        for number, text in enumerate(texts):
            write(ax, x, number * ROW, text, side=side)
    ax.add_collection(_lines(array, chosen, threshold), autolim=False)
    if len(chosen) > 1:
        _legend(ax, chosen)
    return ax


def head_view_size(tokens: Sequence[str], key_tokens: Sequence[str] | None = None) -> tuple[float, float]:
    """Inches for these tokens, a title and a legend."""
    left, right = labels(tokens), labels(tokens if key_tokens is None else key_tokens)
    width = widest(left) + BETWEEN + widest(right) + 2 * GAP
    return width / 72, ((max(len(left), len(right)) + 1.5) * ROW + 40) / 72


def _lines(array: np.ndarray[Any, Any], heads: Sequence[int], threshold: float) -> LineCollection:
    """The weakest first, so that the strongest lie on top."""
    found = [
        (float(array[head, query, key]), head, int(query), int(key))
        for head in heads
        for query, key in np.argwhere(array[head] >= max(threshold, np.finfo(float).tiny))
    ]
    found = sorted(found)[-MOST_LINES:]
    return LineCollection(
        [[(0, query * ROW), (BETWEEN, key * ROW)] for _, _, query, key in found],
        colors=[to_rgba(head_colour(head), min(1.0, 0.08 + 0.92 * weight)) for weight, head, _, _ in found],
        linewidths=[0.3 + 2.2 * min(1.0, weight) for weight, _, _, _ in found],
        capstyle="round",
    )


def _legend(ax: Axes, heads: Sequence[int]) -> None:
    handles = [Line2D([], [], color=head_colour(head), linewidth=2.5, label=str(head)) for head in heads]
    ax.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0, 0),
        ncols=min(len(heads), 6),
        frameon=False,
        fontsize=SMALL_SIZE,
        labelcolor=INK,
        title="head",
        title_fontsize=SMALL_SIZE,
        alignment="left",
        handlelength=1.2,
        columnspacing=1.0,
        borderaxespad=0,
    )
