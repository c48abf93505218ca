"""Profiles: how attention is spread over offsets, over distances, and over layers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from headscope.atlas import Atlas
from headscope.errors import AtlasError, OptionError
from headscope.facts.head_arrays import stack_arrays
from headscope.facts.slices import HeadValues, as_heads, head_values, stack_with
from headscope.facts.vocabulary import slice_title
from headscope.figures.style.colours import ACCENT, INK, MUTED, SERIES, layer_colours
from headscope.figures.style.theme import (
    axes,
    count_ticks,
    dress,
    finite,
    label_points,
    layer_names,
    layer_size,
    legend,
    open_plot,
)
from headscope.types import Array, HeadId, WeighedBy

MARKERS = "osD^vP"
MOST_IN_LEGEND = 16
LEGEND_COLUMNS = 7
SIZE = (5.4, 3.5)

SPREAD = 0.5  # of the room between two layers, over which a layer's heads stand side by side
LABELS = 4


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
    known = stack_arrays(atlas, name)["offset_attention"].choices("offset")
    offsets = [int(offset) for offset in known]
    if not offsets:
        raise AtlasError("offset_attention has no values in this atlas; analyse longer texts")
    if name == "decoder":  # what lies ahead cannot be seen and is 0 by construction
        offsets = [offset for offset in offsets if offset <= 0]
    if heads is None:
        nearest = [offset for offset in (-1, 0, 1) if offset in offsets] or offsets
        ranked = [
            head_values(atlas, "offset_attention", select={"offset": offset}, stack=name).order()
            for offset in nearest
        ]
        heads = list(dict.fromkeys(order[0] for order in ranked))
    ax = axes(ax, size=SIZE)
    _head_lines(ax, atlas.stack(name), "offset_attention", heads, (np.array(offsets), {"offset": offsets}))
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
    known = stack_arrays(atlas, name)["distance_features"].choices("feature")
    windows = [label for label in known if str(label)[0] == "w" and str(label)[1:].isdigit()]
    if not windows:
        raise AtlasError("distance_features has no windows with values in this atlas")
    middles = (np.arange(len(windows)) + 0.5) / len(windows) * 100
    ax = axes(ax, size=SIZE)
    if heads is None:
        means = dataset["distance_features"].sel(feature=windows).mean("head").values
        _layer_lines(ax, middles, means, layer_names(range(len(means)), atlas.module_layers(name)))
    else:
        _head_lines(ax, dataset, "distance_features", heads, (middles, {"feature": windows}))
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


def entropy_by_layer(
    atlas: Atlas, *, query_role: str = "all", stack: str | None = None, ax: Axes | None = None
) -> Axes:
    """Entropy of every head by layer, with standard errors, beside the entropy of even attention."""
    picked = head_values(atlas, "entropy", select={"query_role": query_role}, stack=stack)
    ax = _dots(atlas, picked, ax, y="entropy (nats)")
    dataset = atlas.stack(picked.stack)
    level, error = (float(dataset.get(f"entropy_uniform{ending}", np.nan)) for ending in ("", "_stderr"))
    if np.isfinite(level):
        if np.isfinite(error):
            ax.axhspan(level - error, level + error, color=MUTED, alpha=0.25, linewidth=0)
        ax.axhline(level, color=MUTED, linewidth=1, linestyle="--", label=f"even attention: {level:.2f}")
        ax.set_ylim(top=max(ax.get_ylim()[1], level * 1.06))
    order = picked.order()
    _name(ax, picked, order[:1] + order[::-1][:LABELS])
    return ax


def role_by_layer(
    atlas: Atlas,
    role: str,
    *,
    query_role: str = "all",
    weigh: WeighedBy = "looked",
    stack: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Attention of every head to one kind of token, by layer (the form of Clark et al. 2019, figure 2).

    By `weigh="moved"` it is the share of what the head moves.
    """
    select = {"role": role, "query_role": query_role}
    measure, what = (
        ("role_attention", "attention") if weigh == "looked" else ("role_attention_moved", "what is moved")
    )
    picked = head_values(atlas, measure, select=select, stack=stack)
    ax = _dots(atlas, picked, ax, y=f"share of {what}")
    _name(ax, picked, picked.order()[:LABELS])
    return ax


def _head_lines(
    ax: Axes,
    arrays: Mapping[str, xr.DataArray],
    measure: str,
    heads: Sequence[str | HeadId],
    lines: tuple[Array, dict[str, Any]],
) -> None:
    """A line a head, with a band of one standard error; `lines` are its x and the labels that are there."""
    array, errors = arrays[measure], arrays.get(f"{measure}_stderr")
    x, labels = lines
    wanted = [heads] if isinstance(heads, str) else heads
    shown = as_heads(wanted, layers=array.sizes["layer"], per_layer=array.sizes["head"])
    for number, head in enumerate(shown):
        at = {"layer": head.layer, "head": head.head}
        values = array.isel(at).sel(labels).values
        colour = SERIES[number % len(SERIES)]
        style = ("-" if number < len(SERIES) else "--") + MARKERS[number % len(MARKERS)]
        ax.plot(x, values, style, markersize=3.5, linewidth=1.4, color=colour, label=str(head))
        if errors is not None:
            error = errors.isel(at).sel(labels).values
            ax.fill_between(x, values - error, values + error, color=colour, alpha=0.2, linewidth=0)


def _layer_lines(ax: Axes, x: Array, means: Array, names: Sequence[str]) -> None:
    """`means` is (layer, window), `names` are the layers'."""
    named = count_ticks(len(means), most=MOST_IN_LEGEND)
    colours = layer_colours(len(means)) if len(means) > 1 else [ACCENT]
    for layer, (row, colour) in enumerate(zip(means, colours, strict=True)):
        label = names[layer] if layer in named else "_nolegend_"
        ax.plot(x, row, color=colour, linewidth=1.4, label=label)


def _dots(atlas: Atlas, picked: HeadValues, ax: Axes | None, *, y: str) -> Axes:
    """Every head a dot with its standard error, every layer its mean."""
    layers, heads = picked.values.shape
    if not finite(picked.values):
        raise OptionError(f"{picked.measure!r} has no values for {picked.select}")
    ax = axes(ax, size=layer_size(layers))
    x, values = _places(layers, heads).ravel(), picked.values.ravel()
    if picked.stderr is not None:
        errors = picked.stderr.ravel()
        ax.errorbar(x, values, yerr=errors, fmt="none", ecolor=ACCENT, elinewidth=0.8, alpha=0.6)
    size = 3 if heads <= 16 else 2
    ax.plot(x, values, "o", markersize=size, color=ACCENT, alpha=0.75, label="one head", clip_on=False)
    means = [float(np.mean(row)) if (row := finite(layer)) else np.nan for layer in picked.values]
    ax.plot(range(layers), means, "o-", color=INK, linewidth=1.3, markersize=3.2, label="layer mean")
    dress(ax, title=slice_title(atlas, picked), x="layer", y=y)
    open_plot(ax)
    ticks = count_ticks(layers, most=16)
    ax.set_xticks(ticks, layer_names(ticks, atlas.module_layers(picked.stack)))
    ax.set_xlim(-0.7, layers - 0.3)
    ax.set_ylim(0, max(ax.get_ylim()[1], 1e-6))
    ax.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    return ax


def _places(layers: int, heads: int) -> Array:
    """(layer, head) heads side by side around their layer."""
    aside = (np.arange(heads) - (heads - 1) / 2) / max(heads - 1, 1) * SPREAD
    return np.arange(layers)[:, None] + aside


def _name(ax: Axes, picked: HeadValues, heads: Sequence[HeadId]) -> None:
    """Names beside the dots of some heads, and the legend."""
    points = np.stack([_places(*picked.values.shape), picked.values], -1)  # (layer, head, x y)
    named = [(*points[head.layer, head.head].tolist(), str(head)) for head in dict.fromkeys(heads)]
    label_points(ax, named, around=points[np.isfinite(picked.values)].tolist())
    legend(ax, columns=3)
