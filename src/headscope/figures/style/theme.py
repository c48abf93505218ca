"""How every picture looks, quiet axes, readable sizes, room for labels; and how it is saved."""

import os
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot, rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure

from headscope.atlas import replacing
from headscope.errors import OptionError
from headscope.figures.style.colours import INK, MUTED, PAPER, RULE

TITLE_SIZE = 10.0
LABEL_SIZE = 8.5
TICK_SIZE = 8.0
SMALL_SIZE = 7.0
LONGEST_WORD = 22  # characters; a longer word loses its middle
_NARROW = frozenset("fijlrtI.,;:!'|()[]{}`´‘’ ")
_WIDE = frozenset("mwMW@%—…")

ROOM_FOR_LABELS = 34  # points between a plot and its legend, for ticks and the axis label
PIXELS_PER_INCH = 200

# No date and no tool name in the file, so that the same picture is the same file.
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}

# Text stays text (editable, searchable, in the font of the paper); ids come from the content alone.
VECTOR_SETTINGS: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "headscope", "pdf.fonttype": 42}


def axes(ax: Axes | None, *, size: tuple[float, float]) -> Axes:
    """The given Axes, or new ones on a figure of this size in inches."""
    if ax is not None:
        return ax
    _, new = pyplot.subplots(figsize=size, layout="constrained", facecolor=PAPER)
    return new


def layer_size(layers: int, high: float = 3.2) -> tuple[float, float]:
    """Inches for a plot of so many layers side by side."""
    return float(np.clip(0.35 * layers + 2, 4.6, 9)), high


def title(ax: Axes, text: str, *, pad: float | None = None) -> None:
    """A title; names may hold a dollar sign, which starts no formula."""
    ax.set_title(text, loc="left", fontsize=TITLE_SIZE, color=INK, pad=pad, parse_math=False)


def dress(ax: Axes, *, title: str, x: str, y: str) -> None:
    """Title and axis labels in the house style."""
    ax.set_title(title, loc="left", fontsize=TITLE_SIZE, color=INK, pad=8, parse_math=False)
    ax.set_xlabel(x, fontsize=LABEL_SIZE, color=INK)
    ax.set_ylabel(y, fontsize=LABEL_SIZE, color=INK)
    ax.tick_params(labelsize=TICK_SIZE, labelcolor=INK, color=RULE, length=3)
    ax.set_facecolor(PAPER)
    for spine in ax.spines.values():
        spine.set_color(RULE)


def count_axes(
    ax: Axes, *, layers: int, heads: int, most: int = 16, step: float = 1.0, first: float = 0.0
) -> None:
    """Layers down and heads across, both from 0, without a box; the first is at `first`, the next a `step` on."""
    for axis, count in ((ax.xaxis, heads), (ax.yaxis, layers)):
        ticks = count_ticks(count, most=most)
        axis.set_ticks([first + tick * step for tick in ticks], [str(tick) for tick in ticks])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def write(
    ax: Axes, x: float, y: float, text: str, *, size: float = SMALL_SIZE, color: str = INK, **options: Any
) -> None:
    """A text inside a plot, which layout does not ask for its size: that would need a font that has its letters."""
    ax.text(x, y, text, fontsize=size, color=color, parse_math=False, **{"in_layout": False} | options)


def open_plot(ax: Axes) -> None:
    """A plot of points or lines: no box, light horizontal rules behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color=RULE, linewidth=0.6)
    ax.set_axisbelow(True)


def legend(
    ax: Axes,
    *,
    columns: int,
    title: str | None = None,
    room: float = ROOM_FOR_LABELS,
    handles: Sequence[Artist] | None = None,
) -> None:
    """A legend below the plot, where it hides nothing; `room` is left for ticks and the axis label, in points."""
    _, height = size_in_points(ax)
    box = ax.legend(
        handles=handles,
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


def colour_bar(
    ax: Axes, colours: ScalarMappable, label: str, *, ticks: Sequence[float] | None = None, **place: Any
) -> Colorbar:
    """The scale of colours: at the right, or where options of matplotlib's colorbar `place` it; numbers at `ticks`."""
    bar = ax.figure.colorbar(colours, ax=ax, **{"fraction": 0.03, "aspect": 35, "pad": 0.02} | place)
    if bar.solids is not None:  # colours stay shapes; matplotlib would make pixels of them in SVG and PDF
        bar.solids.set_rasterized(False)
        bar.solids.set_edgecolor("face")  # no hairlines between the steps
    if ticks is not None:
        bar.set_ticks(ticks, labels=[f"{tick:.3g}" for tick in ticks])
    bar.set_label(label, fontsize=LABEL_SIZE, color=INK, parse_math=False)
    bar.ax.tick_params(labelsize=TICK_SIZE, labelcolor=INK, color=RULE, length=2)
    bar.outline.set_visible(False)
    return bar


def count_ticks(count: int, *, most: int) -> list[int]:
    """Which of `count` layers or heads get a label, so that at most `most` do."""
    step = next(step for step in (1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, count) if count <= step * most)
    return list(range(0, count, step))


def layer_names(layers: Sequence[int], module_layers: Sequence[int]) -> list[str]:
    """Layers by their numbers, with those that they have in the network in brackets where these are others."""
    return [f"{layer} ({module_layers[layer]})" if module_layers else str(layer) for layer in layers]


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
    size = np.array(size_in_points(ax))
    low, high = np.array([ax.get_xlim(), ax.get_ylim()]).T

    def place(points: Sequence[tuple[float, float]]) -> Any:
        return (np.array(points, dtype=float).reshape(-1, 2) - low) / (high - low) * size  # (point, x y)

    others = place(around)
    taken = np.hstack([others - 2, others + 2])  # (box, left low right high)
    full = len(taken) + (len(points) if most is None else most)
    for (x, y, text), (at_x, at_y) in zip(points, place([point[:2] for point in points]), strict=True):
        long, half = 0.62 * SMALL_SIZE * len(text), 0.55 * SMALL_SIZE
        for side, start, aside in (("left", at_x + 4, 4), ("right", at_x - 4 - long, -4)):
            box = np.array([start, at_y - half, start + long, at_y + half])
            is_covering = ((box[:2] < taken[:, 2:]) & (taken[:, :2] < box[2:])).all(1).any()
            if box[0] >= 0 and box[2] <= size[0] and len(taken) < full and not is_covering:
                taken = np.vstack([taken, box])
                ax.annotate(
                    text,
                    (x, y),
                    xytext=(aside, 0),
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


def finite(values: Iterable[Any]) -> list[float]:
    """The numbers among `values`."""
    return [float(value) for value in np.ravel(np.asarray(values)) if np.isfinite(value)]


def note(ax: Axes, text: str) -> None:
    """A short remark inside the plot, bottom right."""
    ax.text(
        0.99, 0.02, text, transform=ax.transAxes, fontsize=SMALL_SIZE, color=MUTED, ha="right", va="bottom"
    )


def short(word: str) -> str:
    """A long word without its middle."""
    if len(word) <= LONGEST_WORD:
        return word
    half = (LONGEST_WORD - 1) // 2
    return f"{word[: LONGEST_WORD - 1 - half]}…{word[-half:]}"


def text_width(text: str, size: float) -> float:
    """How wide a text is, about, in points; what fonts there will be is not known when a picture is made."""
    return size * sum(map(_em, text))


def _em(character: str) -> float:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in ("W", "F"):
        return 1.05
    if character in _NARROW:
        return 0.37
    if character in _WIDE:
        return 0.95
    return 0.69 if character.isupper() else 0.61


def save(picture: Axes | Figure, path: str | os.PathLike[str]) -> Path:
    """Write the figure, or the figure of the Axes, as SVG, PDF or PNG, as the name's ending says."""
    target = Path(path)
    kind = target.suffix.lower().removeprefix(".")
    if kind not in _METADATA:
        ending = f"{target.suffix!r}" if target.suffix else "a name without an ending"
        raise OptionError(f"{target.name}: pictures are saved as .svg, .pdf or .png, not {ending}")
    # By way of the canvas, which belongs to the whole figure even when the Axes are on a part of it.
    figure = picture if isinstance(picture, Figure) else picture.figure.canvas.figure
    with replacing(target) as temporary, rc_context(VECTOR_SETTINGS):
        figure.savefig(
            temporary, format=kind, dpi=PIXELS_PER_INCH, bbox_inches="tight", metadata=_METADATA[kind]
        )
    return target
