"""How every picture looks: quiet axes, readable sizes, room for labels."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar

from headscope.figures.colours import INK, MUTED, PAPER, RULE

TITLE_SIZE = 10.0
LABEL_SIZE = 8.5
TICK_SIZE = 8.0
SMALL_SIZE = 7.0
ROOM_FOR_LABELS = 34  # points between a plot and its legend, for ticks and the axis label


def axes(ax: Axes | None, *, size: tuple[float, float]) -> Axes:
    """The given Axes, or new ones on a figure of this size in inches."""
    if ax is not None:
        return ax
    _, new = pyplot.subplots(figsize=size, layout="constrained", facecolor=PAPER)
    return new


def dress(ax: Axes, *, title: str, x: str, y: str) -> None:
    """Title and axis labels in the house style; names may hold a dollar sign, which starts no formula."""
    ax.set_title(title, loc="left", fontsize=TITLE_SIZE, color=INK, pad=8, parse_math=False)
    ax.set_xlabel(x, fontsize=LABEL_SIZE, color=INK)
    ax.set_ylabel(y, fontsize=LABEL_SIZE, color=INK)
    ax.tick_params(labelsize=TICK_SIZE, labelcolor=INK, color=RULE, length=3)
    ax.set_facecolor(PAPER)
    for spine in ax.spines.values():
        spine.set_color(RULE)


def open_plot(ax: Axes) -> None:
    """A plot of points or lines: no box, light horizontal rules behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color=RULE, linewidth=0.6)
    ax.set_axisbelow(True)


def legend(ax: Axes, *, columns: int, title: str | None = None, room: float = ROOM_FOR_LABELS) -> None:
    """A legend below the plot, where it hides nothing; `room` is left for ticks and the axis label, in points."""
    _, height = size_in_points(ax)
    box = ax.legend(
        loc="upper left",
        bbox_to_anchor=(0, -room / height),
        frameon=False,
        fontsize=TICK_SIZE,
        labelcolor=INK,
        ncols=columns,
        title=title,
        title_fontsize=TICK_SIZE,
        alignment="left",
        borderaxespad=0,
        handlelength=1.8,
        columnspacing=1.2,
    )
    box.get_title().set_color(INK)


def as_vectors(bar: Colorbar) -> None:
    """Keep the bar's colours as shapes; matplotlib would make pixels of them in SVG and PDF."""
    solids = bar.solids
    if solids is not None:
        solids.set_rasterized(False)
        solids.set_edgecolor("face")  # no hairlines between the steps


def count_ticks(count: int, *, most: int) -> list[int]:
    """Which of `count` layers or heads get a label, so that at most `most` do."""
    step = next(step for step in (1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, count) if count <= step * most)
    return list(range(0, count, step))


def label_points(
    ax: Axes,
    points: Sequence[tuple[float, float, str]],
    *,
    around: Sequence[tuple[float, float]] = (),
    most: int | None = None,
) -> None:
    """Write texts beside their points, first come first served, to the right or else to the left.

    A text that would cover another text, or one of the points `around`, is left out.
    """
    width, height = size_in_points(ax)
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()

    def place(x: float, y: float) -> tuple[float, float]:
        return (x - left) / (right - left) * width, (y - low) / (high - low) * height

    taken = [(x - 2, y - 2, x + 2, y + 2) for x, y in (place(*point) for point in around)]
    full = len(taken) + (len(points) if most is None else most)
    for x, y, text in points:
        at_x, at_y = place(x, y)
        long, half = 0.62 * SMALL_SIZE * len(text), 0.55 * SMALL_SIZE
        for start, side in ((at_x + 4, "left"), (at_x - 4 - long, "right")):
            box = (start, at_y - half, start + long, at_y + half)
            inside = box[0] >= 0 and box[2] <= width
            if inside and len(taken) < full and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                ax.annotate(
                    text,
                    (x, y),
                    xytext=(4 if side == "left" else -4, 0),
                    textcoords="offset points",
                    fontsize=SMALL_SIZE,
                    color=INK,
                    va="center_baseline",
                    ha=side,
                    annotation_clip=False,
                )
                break


def size_in_points(ax: Axes) -> tuple[float, float]:
    """How large the plot area is, about: layout may still change it a little when it is drawn."""
    ax.apply_aspect()  # equal scales shrink the plot area
    box = ax.get_window_extent()
    points = 72 / ax.figure.canvas.figure.dpi
    return float(box.width * points), float(box.height * points)


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def finite(values: Iterable[Any]) -> list[float]:
    """The numbers among `values`."""
    return [float(value) for value in np.ravel(np.asarray(values)) if np.isfinite(value)]


def note(ax: Axes, text: str) -> None:
    """A short remark inside the plot, bottom right."""
    ax.text(
        0.99, 0.02, text, transform=ax.transAxes, fontsize=SMALL_SIZE, color=MUTED, ha="right", va="bottom"
    )
