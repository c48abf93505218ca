"""Head map: heads on a plane, near each other when they look at texts alike."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection

from headscope.atlas import Atlas
from headscope.errors import OptionError
from headscope.figures.colours import COLOUR_MAPS, INK, MUTED, RULE
from headscope.figures.slices import Select, head_values, stack_with
from headscope.figures.theme import (
    LABEL_SIZE,
    SMALL_SIZE,
    TICK_SIZE,
    as_vectors,
    axes,
    count_ticks,
    dress,
    label_points,
    note,
)
from headscope.figures.words import slice_title
from headscope.heads.map import head_map as scaled_map

FEW_HEADS = 40
LABELS = 24


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

    `color` is "layer" or the name of a measure, with `select` as in `head_grid`. Directions mean nothing,
    only distances do; the stress in the corner says how well a plane can show them. `places` is what
    `headscope.heads.head_map` returned, when it was computed before; it takes seconds for a thousand heads.
    """
    name = stack_with(atlas, "head_distance", stack)
    if color == "layer" and select:
        raise OptionError('select goes with a measure; color="layer" takes none')
    if places is None:
        places = scaled_map(atlas, stack=name, seed=seed)
    ax = axes(ax, size=(6.4, 4.6))
    x, y = places["x"].values, places["y"].values
    layers = int(places["layer"].max()) + 1
    if color == "layer":
        values, title, label = places["layer"].values.astype(float), "Head map, coloured by layer", "layer"
        shades, low, high = COLOUR_MAPS["layer"], 0.0, float(max(layers - 1, 1))
    else:
        picked = head_values(atlas, color, select=select, stack=name)
        values = picked.values[places["layer"].values, places["head"].values]
        title, label = (
            f"Head map: {slice_title(atlas, picked)}",
            "share of attention" if picked.is_share else picked.units,
        )
        shades = COLOUR_MAPS["share" if picked.is_share else "amount"]
        low, high = 0.0, float(np.nanmax(values)) or 1.0
    size = 34 if len(x) <= 200 else 14
    dots = ax.scatter(
        x, y, c=np.ma.masked_invalid(values), cmap=shades, vmin=low, vmax=high, s=size, edgecolors=MUTED,
        linewidths=0.5, plotnonfinite=True,
    )  # fmt: skip
    dress(ax, title=title, x="", y="")
    _frame(ax, places)
    _bar(ax, dots, label, layers if color == "layer" else None)
    _names(ax, places)
    note(ax, f"stress {float(places['stress']):.2f}")
    return ax


def _frame(ax: Axes, places: xr.Dataset) -> None:
    """Equal scales, no ticks (directions mean nothing), and a bar that says how long a distance is."""
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
    length = _round_down(reach / 4)
    left, low = ax.get_xlim()[0] + 0.03 * reach, ax.get_ylim()[0] + 0.04 * reach
    ax.plot([left, left + length], [low, low], color=INK, linewidth=1.2, solid_capstyle="butt")
    scale = f"{length:g} {places['x'].attrs['units']}"
    ax.text(left, low + 0.015 * reach, scale, fontsize=SMALL_SIZE, color=INK, parse_math=False)


def _round_down(value: float) -> float:
    """The largest of 1, 2, 5, 10 … that is not more."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(max(step * power for step in (1, 2, 5) if step * power <= value))


def _bar(ax: Axes, dots: PathCollection, label: str, layers: int | None) -> None:
    if layers == 1:
        return
    bar = ax.figure.colorbar(dots, ax=ax, fraction=0.03, aspect=35, pad=0.02)
    as_vectors(bar)
    if layers is not None:
        bar.set_ticks(count_ticks(layers, most=16))
    bar.set_label(label, fontsize=LABEL_SIZE, color=INK, parse_math=False)
    bar.ax.tick_params(labelsize=TICK_SIZE, labelcolor=INK, color=RULE, length=2)
    bar.outline.set_visible(False)


def _names(ax: Axes, places: xr.Dataset) -> None:
    """Names beside the points that stand apart; all of them when there are few."""
    x, y, labels = places["x"].values, places["y"].values, places["label"].values
    gaps = np.hypot(x[:, None] - x[None, :], y[:, None] - y[None, :])
    np.fill_diagonal(gaps, np.inf)
    alone = np.argsort(-gaps.min(1), kind="stable")
    most = None if len(labels) <= FEW_HEADS else LABELS
    label_points(
        ax,
        [(float(x[i]), float(y[i]), str(labels[i])) for i in alone],
        around=list(zip(x.tolist(), y.tolist(), strict=True)),
        most=most,
    )
