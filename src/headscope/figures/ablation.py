"""Ablations in pictures: what editing each head, layer or kind of head does to a task, and pruning curves."""

from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from headscope.atlas import Atlas
from headscope.errors import OptionError
from headscope.facts.analyses.sweeps import SWEEP_KINDS, MetricFacts, SweepFacts, sweep_facts
from headscope.facts.slices import HeadValues, stack_with
from headscope.figures.grid import draw_values
from headscope.figures.style.colours import ACCENT, INK, MUTED, SERIES
from headscope.figures.style.theme import (
    TICK_SIZE,
    axes,
    count_ticks,
    dress,
    finite,
    layer_size,
    legend,
    open_plot,
)
from headscope.types import Array

Listed = Literal["types", "pairs-of-types", "sentence-masks"]
LISTED: tuple[Listed, ...] = ("types", "pairs-of-types", "sentence-masks")
"""The sweeps that are lists of edits."""

_WORSE, _BETTER, _UNSURE = SERIES[1], SERIES[0], MUTED
ORDER_WORDS = {"importance": "least gradient importance first", "effect": "least effect alone first"}


class _Swept:
    """A sweep of one stack, by one metric."""

    def __init__(self, atlas: Atlas, sweep: str, metric: str | None, stack: str | None) -> None:
        self.stack = stack_with(atlas, SWEEP_KINDS[sweep].arrays[0], stack)
        self.facts: SweepFacts = sweep_facts(atlas, sweep)
        self.metric: MetricFacts = self.facts.metric(metric)
        arrays = atlas.stack(self.stack)
        self.arrays = {
            ending: arrays[name].sel(metric=self.metric.name)
            for name, ending in zip(self.facts.kind.arrays, self.facts.kind.endings, strict=True)
            if name in arrays
        }

    @property
    def title(self) -> str:
        return f"Change of {self.metric.label} with {self.facts.edited}"

    def values(self, ending: str, *dims: str) -> Array:
        """The numbers of an array, with its dimensions in this order."""
        return np.asarray(self.arrays[ending].transpose(*dims).values, dtype=float)

    def draw_bars(self, ax: Axes, dim: str, *, across: bool) -> None:
        """Bars with whiskers: orange for worse and blue for better where that is significant, else grey."""
        value, low, high, sure = (
            self.values(ending, dim) for ending in ("change", "change_low", "change_high", "significant")
        )
        colours = np.where(sure > 0.5, np.where(self.metric.harm(value) > 0, _WORSE, _BETTER), _UNSURE)
        whiskers = np.nan_to_num(np.stack([value - low, high - value])).clip(min=0)
        style: dict[str, Any] = {
            "color": colours.tolist(),
            "error_kw": {"ecolor": INK, "elinewidth": 0.8, "capsize": 2},
        }
        if across:
            ax.barh(range(len(value)), value, height=0.7, xerr=whiskers, **style)
            ax.axvline(0, color=INK, linewidth=0.8)
        else:
            ax.bar(range(len(value)), value, width=0.75, yerr=whiskers, **style)
            ax.axhline(0, color=INK, linewidth=0.8)
        unit = self.metric.with_unit("change")
        dress(ax, title=self.title, x=unit if across else dim, y="" if across else unit)
        open_plot(ax)


def ablation_grid(
    atlas: Atlas, *, metric: str | None = None, stack: str | None = None, ax: Axes | None = None
) -> Axes:
    """What editing each head alone changes, layers down and heads across; framed cells are significant.

    (The form of Kovaleva et al. 2019, figure 8.)
    """
    swept = _Swept(atlas, "heads", metric, stack)
    values = swept.values("change", "layer", "head")
    far = max((abs(value) for value in finite(values)), default=0.0) or 1.0
    units = swept.metric.with_unit(f"change of {swept.metric.label}")
    ax = draw_values(
        HeadValues(values, None, "ablation_change", {}, swept.stack, units),
        title=swept.title,
        limits=(-far, far),
        is_low_good=not swept.metric.higher_is_better,
        ax=ax,
    )
    for layer, head in np.argwhere(swept.values("significant", "layer", "head") > 0.5):
        frame = Rectangle((head - 0.46, layer - 0.46), 0.92, 0.92, fill=False, edgecolor=INK, linewidth=1.6)
        ax.add_patch(frame)
    return ax


def layer_changes(
    atlas: Atlas, *, metric: str | None = None, stack: str | None = None, ax: Axes | None = None
) -> Axes:
    """What editing all heads of a layer changes, with 95 % intervals; full bars are significant.

    (The form of Kovaleva et al. 2019, figure 9.)
    """
    swept = _Swept(atlas, "layers", metric, stack)
    layers = swept.arrays["change"].sizes["layer"]
    ax = axes(ax, size=layer_size(layers))
    swept.draw_bars(ax, "layer", across=False)
    ax.set_xticks(count_ticks(layers, most=24))
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
    if sweep not in LISTED:
        raise OptionError(f"sweep={sweep!r} is not a list of edits; choose from {', '.join(LISTED)}")
    swept = _Swept(atlas, sweep, metric, stack)
    names = swept.arrays["change"]["edit"].values.tolist()
    ax = axes(ax, size=list_size(len(names)))
    swept.draw_bars(ax, "edit", across=True)
    ax.grid(visible=False, axis="y")
    ax.grid(axis="x", linewidth=0.6, color=ax.spines["left"].get_edgecolor())
    ax.set_yticks(range(len(names)), names, fontsize=TICK_SIZE)
    ax.set_ylim(len(names) - 0.4, -0.6)
    return ax


def pruning_curve(
    atlas: Atlas, *, metric: str | None = None, stack: str | None = None, ax: Axes | None = None
) -> Axes:
    """A task's metric as ever more heads are edited: least important first, beside random orders' mean and range."""
    swept = _Swept(atlas, "cumulative", metric, stack)
    curve = swept.arrays["curve"].transpose("order", "pruned")
    counts = curve["pruned"].values
    is_random = np.char.startswith(curve["order"].values.astype(str), "random")
    random = curve.values[is_random]  # (random order, pruned)
    ax = axes(ax, size=(5.6, 3.4))
    if len(random):
        ax.fill_between(counts, random.min(0), random.max(0), color=MUTED, alpha=0.25, linewidth=0)
        label = f"random order: mean and range of {len(random)}"
        ax.plot(counts, random.mean(0), color=MUTED, linewidth=1.4, marker="o", markersize=3, label=label)
    for own in curve[~is_random]:
        label = ORDER_WORDS.get(order := str(own["order"].values), order)
        ax.plot(counts, own.values, color=ACCENT, linewidth=1.6, marker="s", markersize=3.5, label=label)
    start = float(curve.values[0, 0])
    unedited = f"unedited: {swept.metric.written(start)}"
    ax.axhline(start, color=INK, linewidth=0.8, linestyle="--", label=unedited)
    dress(
        ax,
        title=f"{swept.metric.label} with {swept.facts.edited}",
        x=f"heads {swept.facts.done}",
        y=swept.metric.with_unit(swept.metric.label, swept.metric.unit),
    )
    open_plot(ax)
    ax.set_xlim(0, float(counts[-1]))
    legend(ax, columns=2)
    return ax


def list_size(edits: int) -> tuple[float, float]:
    """Inches for a list of so many edits."""
    return 6.8, 0.24 * edits + 1.1
