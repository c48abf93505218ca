"""Grids: one number per head as a map of layers x heads, or per class of words and head."""

import numpy as np
from matplotlib.axes import Axes

from headscope.atlas import Atlas
from headscope.errors import OptionError
from headscope.facts.slices import HeadValues, Select, head_values, stack_with
from headscope.facts.vocabulary import class_name, slice_title, value_name
from headscope.figures.style.colours import COLOUR_MAPS, ON_HIGH, ON_LOW, PAPER
from headscope.figures.style.theme import (
    TICK_SIZE,
    axes,
    colour_bar,
    count_axes,
    count_ticks,
    dress,
    finite,
    layer_names,
    size_in_points,
    write,
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
    title = slice_title(atlas, picked)
    ax = draw_values(picked, title=title, limits=limits or _limits(atlas, picked), ax=ax)
    if numbers := atlas.module_layers(picked.stack):
        ticks = count_ticks(len(numbers), most=16)
        ax.set_yticks(ticks, layer_names(ticks, numbers))
    return ax


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
    count_axes(ax, layers=layers, heads=heads)
    width, height = size_in_points(ax)
    colour_bar(
        ax,
        mesh,
        value_name(picked),
        ticks=[low, (low + high) / 2, high],
        orientation="horizontal",
        fraction=min(0.3, 1.5 * BAR_THICKNESS / height),
        aspect=width / BAR_THICKNESS,
        pad=0.03,
    )
    if _has_text(layers, heads):
        _write_cells(ax, picked, low, high)
    return ax


def cls_attention(
    atlas: Atlas, *, against: bool = False, stack: str | None = None, ax: Axes | None = None
) -> Axes:
    """What [CLS] of the last layer gives each class, classes down and heads across.

    `against` shows the second model of the probe. (The form of Kovaleva et al. 2019, figure 7.)
    """
    measure = f"feature_attention_cls{'_against' if against else ''}"
    name = stack_with(atlas, measure, stack)
    array = atlas.stack(name)[measure].transpose("feature", "head")
    picked = HeadValues(np.asarray(array.values, dtype=float), None, measure, {}, name, "1")
    ax = axes(ax, size=(5.4, 3.4))
    limits = 0.0, round_share(max(finite(picked.values), default=0.0))
    draw_values(picked, title="Attention of [CLS] in the last layer", limits=limits, ax=ax)
    classes = [class_name(atlas, name, str(feature)) for feature in array["feature"].values]
    ax.set_yticks(range(len(classes)), classes, fontsize=TICK_SIZE)
    ax.set_ylabel("")
    return ax


def _has_text(layers: int, heads: int) -> bool:
    """Whether the cells of such a grid have their numbers written in."""
    return layers * heads <= CELLS_WITH_TEXT and heads <= HEADS_WITH_TEXT


def grid_size(layers: int, heads: int) -> tuple[float, float]:
    """Inches: cells wide enough for their number where they have one, and room for labels and the bar."""
    across, down = (0.40, 0.25) if _has_text(layers, heads) else (0.115, 0.09)
    across, down = across * heads, down * layers
    return float(np.clip(across + 0.7, 3.6, 9)), float(np.clip(down + 1.25, 1.6, 11))


def _limits(atlas: Atlas, picked: HeadValues) -> tuple[float, float]:
    most = max(finite(picked.values), default=0.0)
    least = min(finite(picked.values), default=0.0)
    dataset = atlas.stack(picked.stack)
    if picked.measure == "entropy" and "entropy_uniform" in dataset:
        most = max(finite([most, float(dataset["entropy_uniform"])]), default=0.0)
        return 0.0, most if most > 0 else 1.0
    if picked.is_share and least >= 0:
        return 0.0, round_share(most)
    if picked.is_signed:
        far = max(most, -least)
        return -far, far
    return 0.0, most if most > 0 else 1.0


def round_share(most: float) -> float:
    """The smallest round number that holds shares up to `most`."""
    return next((step for step in SHARE_STEPS if most <= step), most)


def _write_cells(ax: Axes, picked: HeadValues, low: float, high: float) -> None:
    for layer, head in np.argwhere(np.isfinite(picked.values)):
        value = picked.values[layer, head]
        color = ON_HIGH if _is_strong(value, low, high) else ON_LOW
        text = cell_text(value, is_share=picked.is_share)
        write(ax, head, layer, text, color=color, ha="center", va="center_baseline")


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
