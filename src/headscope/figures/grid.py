"""Head grid: one number per head as a map of layers x heads."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh

from headscope.atlas import Atlas
from headscope.errors import OptionError
from headscope.facts.slices import HeadValues, Select, head_values
from headscope.facts.vocabulary import slice_title, value_name
from headscope.figures.colours import COLOUR_MAPS, INK, ON_HIGH, ON_LOW, PAPER, RULE
from headscope.figures.theme import (
    LABEL_SIZE,
    SMALL_SIZE,
    TICK_SIZE,
    as_vectors,
    axes,
    count_ticks,
    dress,
    finite,
    size_in_points,
)

CELLS_WITH_TEXT = 200
HEADS_WITH_TEXT = 16

BAR_THICKNESS = 6  # points
SHARE_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def head_grid(
    atlas: Atlas,
    measure: str,
    *,
    select: Select | None = None,
    limits: tuple[float, float] | None = None,
    stack: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Every head's value of `measure` as a coloured cell, layers down and heads across, both from 0.

    `select` names one label of each further dimension, as in `select={"offset": -1}`; several labels of
    a share are added up, as in `select={"role": ["period", "comma"], "query_role": "all"}`. Colours run
    from 0 to the smallest round number that holds all values, for entropy to that of even attention, for
    values on both sides of 0 as far below as above it, or over `limits`; the bar says which. Cells without
    a value are grey. Small grids have the numbers written in.
    """
    picked = head_values(atlas, measure, select=select, stack=stack)
    if limits is not None and not limits[0] < limits[1]:
        raise OptionError(f"limits must be two numbers, the smaller first, not {limits}")
    return draw_values(
        picked, title=slice_title(atlas, picked), limits=limits or _limits(atlas, picked), ax=ax
    )


def draw_values(
    picked: HeadValues,
    *,
    title: str,
    limits: tuple[float, float],
    is_low_good: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """The map itself, of any one number per head; on both sides of 0 blue is high, or low where that is good."""
    low, high = limits
    colours = COLOUR_MAPS["signed" if low < 0 < high else "share" if picked.is_share else "amount"]
    layers, heads = picked.values.shape
    ax = axes(ax, size=grid_size(layers, heads))
    mesh = ax.pcolormesh(
        np.arange(heads + 1) - 0.5,
        np.arange(layers + 1) - 0.5,
        np.ma.masked_invalid(picked.values),
        cmap=colours.reversed() if is_low_good else colours,
        vmin=low,
        vmax=high,
        edgecolors=PAPER,
        linewidth=1.0 if max(layers, heads) <= 16 else 0.4,
    )
    ax.invert_yaxis()
    dress(ax, title=title, x="head", y="layer")
    ax.set_xticks(count_ticks(heads, most=16))
    ax.set_yticks(count_ticks(layers, most=16))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    _colour_bar(ax, mesh, picked)
    if layers * heads <= CELLS_WITH_TEXT and heads <= HEADS_WITH_TEXT:
        _write_cells(ax, picked, low, high)
    return ax


def grid_size(layers: int, heads: int) -> tuple[float, float]:
    """Inches: cells wide enough for their number where they have one, and room for labels and the bar."""
    with_text = layers * heads <= CELLS_WITH_TEXT and heads <= HEADS_WITH_TEXT
    across = heads * (0.40 if with_text else 0.115)
    down = layers * (0.25 if with_text else 0.09)
    return float(np.clip(across + 0.7, 3.6, 9)), float(np.clip(down + 1.25, 1.6, 11))


def _limits(atlas: Atlas, picked: HeadValues) -> tuple[float, float]:
    most = max(finite(picked.values), default=0.0)
    least = min(finite(picked.values), default=0.0)
    dataset = atlas.stack(picked.stack)
    if picked.measure == "entropy" and "entropy_uniform" in dataset:
        most = max(finite([most, float(dataset["entropy_uniform"])]), default=0.0)
        return 0.0, most if most > 0 else 1.0
    if picked.is_share and least >= 0:
        return 0.0, next((step for step in SHARE_STEPS if most <= step), most)
    if picked.is_signed:
        far = max(most, -least)
        return -far, far
    return 0.0, most if most > 0 else 1.0


def _colour_bar(ax: Axes, mesh: QuadMesh, picked: HeadValues) -> None:
    width, height = size_in_points(ax)
    bar = ax.figure.colorbar(
        mesh,
        ax=ax,
        orientation="horizontal",
        fraction=min(0.3, 1.5 * BAR_THICKNESS / height),
        aspect=width / BAR_THICKNESS,
        pad=0.03,
    )
    as_vectors(bar)
    low, high = mesh.get_clim()
    ticks = [low, (low + high) / 2, high]
    bar.set_ticks(ticks, labels=[f"{tick:.3g}" for tick in ticks])
    bar.set_label(value_name(picked), fontsize=LABEL_SIZE, color=INK, parse_math=False)
    bar.ax.tick_params(labelsize=TICK_SIZE, labelcolor=INK, color=RULE, length=2)
    bar.outline.set_visible(False)


def _write_cells(ax: Axes, picked: HeadValues, low: float, high: float) -> None:
    for layer, row in enumerate(picked.values):
        for head, value in enumerate(row):
            if np.isfinite(value):
                ax.text(
                    head,
                    layer,
                    cell_text(value, is_share=picked.is_share),
                    ha="center",
                    va="center_baseline",
                    fontsize=SMALL_SIZE,
                    in_layout=False,  # inside its cell; asking hundreds of texts for their size is slow
                    color=ON_HIGH if _is_strong(value, low, high) else ON_LOW,
                )


def _is_strong(value: float, low: float, high: float) -> bool:
    """Whether a cell has one of the colours that light text stands out from."""
    if low < 0 < high:
        return abs(value) > 0.5 * (high if value > 0 else -low)
    return (value - low) / (high - low) > 0.5


def cell_text(value: float, *, is_share: bool) -> str:
    """A share as .98, without the 0 that all have; anything else with two digits."""
    if not is_share:
        return (
            f"{value:z.2f}" if abs(value) < 0.995 else f"{value:.1f}" if abs(value) < 99.5 else f"{value:.3g}"
        )
    written = f"{value:z.2f}"
    return written.replace("0", "", 1) if written.startswith(("0", "-0")) else written
