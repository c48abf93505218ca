"""Ablations in pictures: what editing each head, layer or kind of head does to a task, and pruning curves."""

from typing import Any, Literal

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from headscope.atlas import Atlas
from headscope.errors import OptionError
from headscope.facts.slices import HeadValues, stack_with
from headscope.facts.sweeps import (
    edit_words,
    is_higher_better,
    metric_digits,
    metric_of,
    metric_words,
    sweep_facts,
    unit_words,
)
from headscope.figures.colours import ACCENT, INK, MUTED, SERIES
from headscope.figures.grid import draw_values
from headscope.figures.theme import TICK_SIZE, axes, count_ticks, dress, finite, legend, open_plot

Array = np.ndarray[Any, Any]
Listed = Literal["types", "pairs-of-types", "sentence-masks"]

_LISTS: dict[str, str] = {
    "types": "type_change",
    "pairs-of-types": "type_pair_change",
    "sentence-masks": "sentence_mask_change",
}
_WORSE, _BETTER, _UNSURE = SERIES[1], SERIES[0], MUTED


def ablation_grid(
    atlas: Atlas, *, metric: str | None = None, stack: str | None = None, ax: Axes | None = None
) -> Axes:
    """What editing each head alone changes, layers down and heads across; framed cells are significant.

    (The form of Kovaleva et al. 2019, figure 8.)
    """
    name = stack_with(atlas, "ablation_change", stack)
    arrays = atlas.stack(name)
    told = sweep_facts(atlas, "heads")
    chosen = metric_of(arrays["ablation_change"], metric)
    values = _taken(arrays["ablation_change"], chosen, "layer", "head")
    significant = _taken(arrays["ablation_significant"], chosen, "layer", "head") > 0.5
    far = max((abs(value) for value in finite(values)), default=0.0) or 1.0
    picked = HeadValues(
        values,
        None,
        "ablation_change",
        {},
        name,
        f"change of {metric_words(chosen)}{unit_words(told, chosen)}",
    )
    title = f"Change of {metric_words(chosen)} with a single head {edit_words(told)}"
    is_low_good = not is_higher_better(told, chosen)
    ax = draw_values(picked, title=title, limits=(-far, far), is_low_good=is_low_good, ax=ax)
    for layer, head in np.argwhere(significant):
        ax.add_patch(
            Rectangle((head - 0.46, layer - 0.46), 0.92, 0.92, fill=False, edgecolor=INK, linewidth=1.6)
        )
    return ax


def layer_changes(
    atlas: Atlas, *, metric: str | None = None, stack: str | None = None, ax: Axes | None = None
) -> Axes:
    """What editing all heads of a layer changes, with 95 % intervals; full bars are significant.

    (The form of Kovaleva et al. 2019, figure 9.)
    """
    name = stack_with(atlas, "layer_change", stack)
    arrays = atlas.stack(name)
    told = sweep_facts(atlas, "layers")
    chosen = metric_of(arrays["layer_change"], metric)
    value, low, high, significant = _with_interval(arrays, "layer", chosen, "layer")
    ax = axes(ax, size=(float(np.clip(0.35 * len(value) + 2, 4.6, 9)), 3.2))
    _bars(
        ax, range(len(value)), (value, low, high), significant, is_higher_better(told, chosen), across=False
    )
    dress(
        ax,
        title=f"Change of {metric_words(chosen)} with all heads of a layer {edit_words(told)}",
        x="layer",
        y=f"change{unit_words(told, chosen)}",
    )
    open_plot(ax)
    ax.set_xticks(count_ticks(len(value), most=24))
    return ax


def type_changes(
    atlas: Atlas,
    *,
    sweep: Listed = "types",
    metric: str | None = None,
    stack: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """What editing kinds of heads, pairs of kinds, or attention in and between sentences changes, as bars.

    (As Guan et al. 2020 have them in tables.)
    """
    if sweep not in _LISTS:
        raise OptionError(f"sweep={sweep!r} is not a list of edits; choose from {', '.join(_LISTS)}")
    measure = _LISTS[sweep]
    arrays = atlas.stack(stack_with(atlas, measure, stack))
    told = sweep_facts(atlas, sweep)
    chosen = metric_of(arrays[measure], metric)
    value, low, high, significant = _with_interval(arrays, measure.removesuffix("_change"), chosen, "edit")
    names = [str(edit) for edit in arrays[measure]["edit"].values]
    ax = axes(ax, size=list_size(len(names)))
    _bars(ax, range(len(names)), (value, low, high), significant, is_higher_better(told, chosen), across=True)
    what = "attention removed" if sweep == "sentence-masks" else f"kinds of heads {edit_words(told)}"
    dress(
        ax, title=f"Change of {metric_words(chosen)} with {what}", x=f"change{unit_words(told, chosen)}", y=""
    )
    open_plot(ax)
    ax.grid(visible=False, axis="y")
    ax.grid(axis="x", linewidth=0.6, color=ax.spines["left"].get_edgecolor())
    ax.set_yticks(range(len(names)), names, fontsize=TICK_SIZE)
    ax.set_ylim(len(names) - 0.4, -0.6)
    return ax


ORDER_WORDS = {"importance": "least gradient importance first", "effect": "least effect alone first"}


def pruning_curve(
    atlas: Atlas, *, metric: str | None = None, stack: str | None = None, ax: Axes | None = None
) -> Axes:
    """A task's metric as ever more heads are edited: least important first, beside random orders' mean and range."""
    arrays = atlas.stack(stack_with(atlas, "pruning_curve", stack))
    told = sweep_facts(atlas, "cumulative")
    chosen = metric_of(arrays["pruning_curve"], metric)
    curve = arrays["pruning_curve"].sel(metric=chosen).transpose("order", "pruned")
    counts = curve["pruned"].values
    orders = [str(order) for order in curve["order"].values]
    random = curve.values[[order.startswith("random") for order in orders]]  # (random order, pruned)
    ax = axes(ax, size=(5.6, 3.4))
    if len(random):
        ax.fill_between(counts, random.min(0), random.max(0), color=MUTED, alpha=0.25, linewidth=0)
        label = f"random order: mean and range of {len(random)}"
        ax.plot(counts, random.mean(0), color=MUTED, linewidth=1.4, marker="o", markersize=3, label=label)
    for ranked in [order for order in orders if not order.startswith("random")]:
        own = curve.values[orders.index(ranked)]
        ax.plot(
            counts,
            own,
            color=ACCENT,
            linewidth=1.6,
            marker="s",
            markersize=3.5,
            label=ORDER_WORDS.get(ranked, ranked),
        )
    start = float(curve.values[0, 0])
    ax.axhline(
        start,
        color=INK,
        linewidth=0.8,
        linestyle="--",
        label=f"untouched: {start:.{metric_digits(told, chosen)}f}",
    )
    dress(
        ax,
        title=f"{metric_words(chosen)} with ever more heads {edit_words(told)}",
        x=f"heads {edit_words(told)}",
        y=f"{metric_words(chosen)}{unit_words(told, chosen)}".replace(" (points)", " (%)"),
    )
    open_plot(ax)
    ax.set_xlim(0, float(counts[-1]))
    legend(ax, columns=2)
    return ax


def list_size(edits: int) -> tuple[float, float]:
    """Inches for a list of so many edits."""
    return 6.8, 0.24 * edits + 1.1


def _taken(array: xr.DataArray, metric: str, *dims: str) -> Array:
    return np.asarray(array.sel(metric=metric).transpose(*dims).values, dtype=float)


def _with_interval(
    arrays: dict[str, xr.DataArray], start: str, metric: str, dim: str
) -> tuple[Array, Array, Array, Array]:
    """(edit,) change, both ends of its interval, and whether it is significant."""
    names = (f"{start}_change", f"{start}_change_low", f"{start}_change_high", f"{start}_significant")
    value, low, high, significant = (_taken(arrays[name], metric, dim) for name in names)
    return value, low, high, significant > 0.5


def _bars(
    ax: Axes,
    places: range,
    numbers: tuple[Array, Array, Array],
    significant: Array,
    higher_is_better: bool,
    *,
    across: bool,
) -> None:
    """Bars with whiskers: orange for worse and blue for better where that is significant, else grey."""
    value, low, high = numbers
    worse = value < 0 if higher_is_better else value > 0
    colours = [
        (_WORSE if bad else _BETTER) if sure else _UNSURE
        for bad, sure in zip(worse.tolist(), significant.tolist(), strict=True)
    ]
    whiskers = np.nan_to_num(np.stack([value - low, high - value])).clip(min=0)
    style: dict[str, Any] = {
        "color": colours,
        "error_kw": {"ecolor": INK, "elinewidth": 0.8, "capsize": 2},
    }
    if across:
        ax.barh(places, value, height=0.7, xerr=whiskers, **style)
        ax.axvline(0, color=INK, linewidth=0.8)
    else:
        ax.bar(places, value, width=0.75, yerr=whiskers, **style)
        ax.axhline(0, color=INK, linewidth=0.8)
