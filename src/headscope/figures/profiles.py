"""Profiles: how a head's attention is spread over offsets and over distances."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.facts.slices import as_heads, choices, head_values, stack_with
from headscope.figures.colours import ACCENT, MUTED, SERIES, layer_colours
from headscope.figures.theme import axes, count_ticks, dress, legend, open_plot
from headscope.types import HeadId

MARKERS = "osD^vP"
MANY_HEADS = len(SERIES)
MOST_IN_LEGEND = 16
LEGEND_COLUMNS = 7
SIZE = (5.4, 3.5)

Array = np.ndarray[Any, Any]


def offset_profile(
    atlas: Atlas,
    heads: Sequence[str | HeadId] | None = None,
    *,
    stack: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Attention at every offset for a few heads, with standard errors.

    Without `heads`: the strongest at the previous, the same and the next token.
    """
    name = stack_with(atlas, "offset_attention", stack)
    dataset = atlas.stack(name)
    array = dataset["offset_attention"]
    offsets = [int(offset) for offset in choices(array, "offset")]
    if not offsets:
        raise AtlasError("offset_attention has no values in this atlas; analyse longer texts")
    if name == "decoder":  # what lies ahead cannot be seen and is 0 by construction
        offsets = [offset for offset in offsets if offset <= 0]
    shown = _chosen_heads(array, heads) if heads is not None else _strongest(atlas, name, offsets)
    ax = axes(ax, size=SIZE)
    for number, head in enumerate(shown):
        values = _row(array, head, offset=offsets)
        errors = _row(dataset.get("offset_attention_stderr"), head, offset=offsets)
        _line(ax, np.asarray(offsets), values, errors, number=number, label=str(head))
    dress(ax, title="Attention by offset", x="offset: key minus query, in tokens", y="share of attention")
    open_plot(ax)
    ax.axvline(0, color=MUTED, linewidth=0.7, linestyle=":", zorder=0)
    ax.set_xticks(offsets)
    ax.set_ylim(bottom=0)
    legend(ax, columns=LEGEND_COLUMNS, title="head")
    return ax


def distance_profile(
    atlas: Atlas,
    heads: Sequence[str | HeadId] | None = None,
    *,
    stack: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Attention to ordinary tokens by distance, for a few heads, or without `heads` the mean of each layer.

    Distances are shares of the text's length, in windows. The dashed line is a head that spreads its
    attention evenly over all it can see.
    """
    name = stack_with(atlas, "distance_features", stack)
    dataset = atlas.stack(name)
    array = dataset["distance_features"]
    windows = [
        label for label in choices(array, "feature") if str(label)[0] == "w" and str(label)[1:].isdigit()
    ]
    if not windows:
        raise AtlasError("distance_features has no windows with values in this atlas")
    count = len(windows)
    middles = (np.arange(count) + 0.5) / count * 100
    ax = axes(ax, size=SIZE)
    if heads is None:
        _layer_lines(ax, middles, array.sel(feature=windows).mean("head").values)
    else:
        for number, head in enumerate(_chosen_heads(array, heads)):
            values = _row(array, head, feature=windows)
            errors = _row(dataset.get("distance_features_stderr"), head, feature=windows)
            _line(ax, middles, values, errors, number=number, label=str(head))
    even = dataset.get("distance_features_uniform")
    if even is not None:
        ax.plot(middles, even.sel(feature=windows), "--", color=MUTED, linewidth=1, label="even")
    title = "Attention by distance" + (", mean of each layer" if heads is None else "")
    dress(ax, title=title, x="distance from the query, % of the text's length", y="share of attention")
    open_plot(ax)
    ax.set_xlim(0, 100)
    ax.set_ylim(bottom=0)
    legend(ax, columns=LEGEND_COLUMNS, title="layer" if heads is None else "head")
    return ax


def _chosen_heads(array: xr.DataArray, heads: Sequence[str | HeadId]) -> list[HeadId]:
    wanted = [heads] if isinstance(heads, str) else heads
    return as_heads(wanted, layers=array.sizes["layer"], per_layer=array.sizes["head"])


def _strongest(atlas: Atlas, stack: str, offsets: Sequence[int]) -> list[HeadId]:
    """The strongest head at each of the three nearest offsets."""
    nearest = [offset for offset in (-1, 0, 1) if offset in offsets] or list(offsets)
    tops = [
        head_values(atlas, "offset_attention", select={"offset": offset}, stack=stack).order()[0]
        for offset in nearest
    ]
    return list(dict.fromkeys(tops))


def _row(array: xr.DataArray | None, head: HeadId, **labels: Sequence[object]) -> Array | None:
    if array is None:
        return None
    return np.asarray(array.isel(layer=head.layer, head=head.head).sel(labels).values, dtype=float)


def _line(ax: Axes, x: Array, values: Array | None, errors: Array | None, *, number: int, label: str) -> None:
    if values is None:
        return
    colour = SERIES[number % MANY_HEADS]
    style = "-" if number < MANY_HEADS else "--"
    marker = MARKERS[number % len(MARKERS)]
    ax.plot(
        x, values, linestyle=style, marker=marker, markersize=3.5, linewidth=1.4, color=colour, label=label
    )
    if errors is not None:
        ax.fill_between(x, values - errors, values + errors, color=colour, alpha=0.2, linewidth=0)


def _layer_lines(ax: Axes, x: Array, means: Array) -> None:
    """`means` is (layer, window)."""
    layers = len(means)
    named = count_ticks(layers, most=MOST_IN_LEGEND)
    colours = layer_colours(layers) if layers > 1 else [ACCENT]
    for layer, (row, colour) in enumerate(zip(means, colours, strict=True)):
        label = str(layer) if layer in named else "_nolegend_"
        ax.plot(x, row, color=colour, linewidth=1.4, label=label)
