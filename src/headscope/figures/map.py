"""Heads as points on a plane: near each other when they look at texts alike, or equally far."""

from itertools import cycle

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection

from headscope.atlas import Atlas
from headscope.errors import OptionError
from headscope.facts.slices import Select, head_values, stack_with
from headscope.facts.vocabulary import slice_title, value_name
from headscope.figures.kinds import kind_colours, kinds_of
from headscope.figures.style.colours import COLOUR_MAPS, INK, MUTED
from headscope.figures.style.theme import (
    SMALL_SIZE,
    axes,
    colour_bar,
    count_ticks,
    dress,
    label_points,
    legend,
    note,
)
from headscope.kinds.map import feature_map as neighbour_map
from headscope.kinds.map import head_map as scaled_map
from headscope.types import Array

FEW_HEADS = 40
LABELS = 24
MANY_HEADS = 200
SIZE = (6.4, 4.6)


def head_map(
    atlas: Atlas,
    *,
    color: str = "layer",
    select: Select | None = None,
    seed: int = 0,
    places: xr.Dataset | None = None,
    stack: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Every head as a point; two heads lie near each other when they look at the same tokens.

    `color` is "layer", "type" (what `headscope types` found) or the name of a measure, with `select` as in
    `head_grid`. Directions mean nothing, only distances do; the stress in the corner says how well a plane can show
    them. `places` is what `headscope.kinds.head_map` returned, when it was computed before; it takes seconds for a
    thousand heads.
    """
    name = stack_with(atlas, "head_distance", stack)
    places = scaled_map(atlas, stack=name, seed=seed) if places is None else places
    ax = _drawn(ax, atlas, places, stack=name, color=color, select=select, title="Head map")
    _scale(ax, places)
    note(ax, f"stress {float(places['stress']):.2f}")
    return ax


def feature_map(
    atlas: Atlas,
    *,
    color: str = "type",
    select: Select | None = None,
    seed: int = 0,
    places: xr.Dataset | None = None,
    stack: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Every head as a point, by t-SNE of its distance features: neighbours look equally far, at like kinds of tokens.

    Only who lies beside whom means something; gaps and sizes of groups do not. `color`, `select` and `places` are as
    in `head_map`, `places` being what `headscope.kinds.feature_map` returned.
    """
    name = stack_with(atlas, "distance_features", stack)
    places = neighbour_map(atlas, stack=name, seed=seed) if places is None else places
    title = "t-SNE of distance features"
    return _drawn(ax, atlas, places, stack=name, color=color, select=select, title=title)


def _drawn(
    ax: Axes | None,
    atlas: Atlas,
    places: xr.Dataset,
    *,
    stack: str,
    color: str,
    select: Select | None,
    title: str,
) -> Axes:
    """The points in the colours asked for, with their names and what the colours mean."""
    if color in ("layer", "type") and select:
        raise OptionError(f'select goes with a measure; color="{color}" takes none')
    ax = axes(ax, size=SIZE)
    _frame(ax, places)
    layers, heads = places["layer"].values, places["head"].values
    if color in ("layer", "type"):
        dress(ax, title=f"{title}, coloured by {color}", x="", y="")
    if color == "type":
        _, order, kind = kinds_of(atlas, stack)
        _by_type(ax, places, kind[layers, heads], kind_colours(order))
    elif color == "layer":
        last = int(layers.max())
        dots = _dots(ax, places, layers.astype(float), "layer", (0.0, float(max(last, 1))))
        if last:
            colour_bar(ax, dots, "layer").set_ticks(count_ticks(last + 1, most=16))
    else:
        picked = head_values(atlas, color, select=select, stack=stack)
        values = picked.values[layers, heads]
        dress(ax, title=f"{title}: {slice_title(atlas, picked)}", x="", y="")
        far = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
        ramp = "signed" if picked.is_signed else "share" if picked.is_share else "amount"
        dots = _dots(ax, places, values, ramp, (-far if picked.is_signed else 0.0, far))
        colour_bar(ax, dots, value_name(picked))
    _names(ax, places)
    return ax


def _dots(
    ax: Axes, places: xr.Dataset, values: Array, ramp: str, limits: tuple[float, float]
) -> PathCollection:
    return ax.scatter(
        places["x"].values,
        places["y"].values,
        c=np.ma.masked_invalid(values),
        cmap=COLOUR_MAPS[ramp],
        vmin=limits[0],
        vmax=limits[1],
        s=_size(places),
        edgecolors=MUTED,
        linewidths=0.5,
        plotnonfinite=True,
    )


def _by_type(ax: Axes, places: xr.Dataset, kind: Array, colours: dict[str, str]) -> None:
    """Shapes beside colours, for those who cannot tell these colours apart."""
    for (name, colour), marker in zip(colours.items(), cycle("osD^vPX*"), strict=False):
        own = kind == name
        x, y, size = places["x"].values[own], places["y"].values[own], _size(places)
        ax.scatter(x, y, color=colour, marker=marker, s=size, edgecolors=MUTED, linewidths=0.5, label=name)
    legend(ax, columns=min(4, len(colours)), room=6)


def _size(places: xr.Dataset) -> int:
    return 34 if places.sizes["label"] <= MANY_HEADS else 14


def _frame(ax: Axes, places: xr.Dataset) -> None:
    """Equal scales, and no ticks: directions mean nothing."""
    x, y = places["x"].values, places["y"].values
    reach = max(np.ptp(x), np.ptp(y)) or 1.0
    ax.set_xlim(x.min() - 0.08 * reach, x.max() + 0.08 * reach)
    # A row of points still gets a plane to lie on.
    half = max(np.ptp(y), 0.4 * reach) / 2 + 0.1 * reach
    middle = (y.min() + y.max()) / 2
    ax.set_ylim(middle - half, middle + half)
    ax.set_aspect("equal", adjustable="box")
    ax.set_xticks([])
    ax.set_yticks([])


def _scale(ax: Axes, places: xr.Dataset) -> None:
    """A bar that says how long a distance is."""
    reach = max(np.ptp(places["x"].values), np.ptp(places["y"].values)) or 1.0
    length = _round_down(reach / 4)
    left, low = ax.get_xlim()[0] + 0.03 * reach, ax.get_ylim()[0] + 0.04 * reach
    ax.plot([left, left + length], [low, low], color=INK, linewidth=1.2, solid_capstyle="butt")
    scale = f"{length:g} {places['x'].attrs['units']}"
    ax.text(left, low + 0.015 * reach, scale, fontsize=SMALL_SIZE, color=INK, parse_math=False)


def _round_down(value: float) -> float:
    """The largest of 1, 2, 5, 10 … that is not more."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(max(step * power for step in (1, 2, 5) if step * power <= value))


def _names(ax: Axes, places: xr.Dataset) -> None:
    """Names beside the points that stand apart; all of them when there are few."""
    x, y, labels = places["x"].values, places["y"].values, places["label"].values
    gaps = np.hypot(x[:, None] - x[None, :], y[:, None] - y[None, :])
    np.fill_diagonal(gaps, np.inf)
    alone = np.argsort(-gaps.min(1), kind="stable")
    points = [(float(x[at]), float(y[at]), str(labels[at])) for at in alone]
    around = list(zip(x.tolist(), y.tolist(), strict=True))
    label_points(ax, points, around=around, most=None if len(labels) <= FEW_HEADS else LABELS)
