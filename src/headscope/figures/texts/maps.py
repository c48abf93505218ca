"""Attention maps of single heads side by side: of some heads, of each pattern, of the typical heads of each kind.

Queries run down, keys across. The colour is the square root of the largest weight in a cell, so that faint lines show
too; every map has its own scale.
"""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from headscope.atlas import Atlas
from headscope.errors import AtlasError, OptionError
from headscope.facts.slices import as_heads, stack_with
from headscope.figures.kinds import kinds_of
from headscope.figures.style.colours import COLOUR_MAPS, INK, MUTED, RULE, SHARE_RAMP
from headscope.figures.style.theme import LABEL_SIZE, SMALL_SIZE, axes, dress
from headscope.types import Array, HeadId

EXAMPLES = 4
"""How many typical heads of each kind are shown."""
GAP = 0.18
"""Between two maps, as a share of a map's side."""
FAINT = 1 / 64


def example_maps(
    atlas: Atlas, heads: Mapping[str, str | HeadId], *, stack: str | None = None, ax: Axes | None = None
) -> Axes:
    """The attention maps of some heads on one text, each under its name."""
    if not heads:
        raise OptionError("no heads were given; name at least one, such as {'next token': '3.2'}")
    maps = every_map(atlas, stack_with(atlas, "example_map", stack))
    shown = as_heads(heads.values(), layers=maps.shape[0], per_layer=maps.shape[1])
    ax = axes(ax, size=example_maps_size(len(heads)))
    tiles = {
        f"{title}: {head}": maps[head.layer, head.head] for title, head in zip(heads, shown, strict=True)
    }
    return _draw_rows(ax, {"": tiles}, title="Attention maps on one text")


def pattern_maps(atlas: Atlas, *, stack: str | None = None, ax: Axes | None = None) -> Axes:
    """A clear map of each pattern, its head's name above it. (The form of Kovaleva et al. 2019, figure 1.)"""
    name = stack_with(atlas, "pattern_map", stack)
    array = atlas.stack(name)["pattern_map"].transpose("shown_pattern", "row", "column")
    heads = {row["pattern"]: row["head"] for row in atlas.table("pattern_maps", stack=name)}
    patterns = [str(pattern) for pattern in array["shown_pattern"].values]
    ax = axes(ax, size=(1.75 * len(patterns) + 0.2, 2.3))
    tiles = {f"{pattern} ({heads[pattern]})": array.values[at] for at, pattern in enumerate(patterns)}
    return _draw_rows(ax, {"": tiles}, title="Typical maps of the patterns")


def kind_examples(atlas: Atlas, *, stack: str | None = None, ax: Axes | None = None) -> Axes:
    """Attention maps of the most typical heads of each kind, all of the same text.

    Typical are those that lie nearest to the centre of their kind and farthest from the others.
    """
    name, order, kind = kinds_of(atlas, stack)
    maps = every_map(atlas, name)
    certainty = atlas.stack(name)["head_type_certainty"].transpose("layer", "head").values
    rows: dict[str, dict[str, Array]] = {}
    for own in order:
        ranked = np.argsort(-np.where(kind == own, certainty, -np.inf), axis=None, kind="stable")
        heads = [HeadId(*divmod(int(place), kind.shape[1])) for place in ranked[: int((kind == own).sum())]]
        rows[own] = {str(head): maps[head.layer, head.head] for head in heads[:EXAMPLES]}
    ax = axes(ax, size=examples_size(len(order)))
    return _draw_rows(ax, rows, title="Typical heads of each kind, on the same text")


def example_maps_size(heads: int) -> tuple[float, float]:
    """Inches for the maps of so many heads."""
    return 1.6 * heads + 0.2, 2.0


def examples_size(kinds: int) -> tuple[float, float]:
    """Inches for the typical heads of so many kinds."""
    return 6.4, 1.25 * kinds + 0.5


def every_map(atlas: Atlas, stack: str | None) -> Array:
    """(layer, head, row, column) of a stack, or of the first that has any."""
    for name in atlas.stacks if stack is None else [stack]:
        maps = atlas.stack(name).get("example_map")
        if maps is not None:
            return np.asarray(maps.transpose("layer", "head", "row", "column").values)
    raise AtlasError("this atlas has no example_map; analyse again with that measure to see maps of heads")


def _draw_rows(ax: Axes, rows: Mapping[str, Mapping[str, Array]], *, title: str) -> Axes:
    """Rows of maps below each other, each with its name at the left and the maps' names above them."""
    top = 0.0
    for name, tiles in rows.items():
        if name:
            ax.text(-0.1, top + 0.5, name, ha="right", va="center", fontsize=LABEL_SIZE, color=INK)
        for column, (label, weights) in enumerate(tiles.items()):
            draw_tile(ax, weights, column * (1 + GAP), top, label)
        top += 1 + 2 * GAP
    ax.set_xlim(-0.02, max(map(len, rows.values())) * (1 + GAP) - GAP + 0.02)
    ax.set_ylim(top - 2 * GAP + 0.02, -0.3)
    ax.set_aspect("equal")
    dress(ax, title=title, x="", y="")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    return ax


def draw_tile(ax: Axes, weights: Array, left: float, top: float, name: str = "") -> None:
    """One map, a unit wide and high, its head's name above it."""
    edges = np.linspace(0, 1, len(weights) + 1)
    shown = np.sqrt(weights)
    ax.add_patch(
        Rectangle((left, top), 1, 1, facecolor=SHARE_RAMP[0], edgecolor=RULE, linewidth=0.6, zorder=0.5)
    )
    ax.pcolormesh(
        left + edges,
        top + edges,
        np.ma.masked_less(shown, FAINT),  # what would have the ground's colour is not drawn
        cmap=COLOUR_MAPS["share"].with_extremes(bad=(0, 0, 0, 0)),
        vmin=0,
        vmax=max(float(np.nanmax(shown)), FAINT),
    )
    if name:
        ax.text(left, top - 0.05, name, ha="left", va="bottom", fontsize=SMALL_SIZE, color=MUTED)
