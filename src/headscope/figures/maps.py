"""Attention maps of single heads side by side, all of the same text."""

from collections.abc import Mapping

from matplotlib.axes import Axes

from headscope.atlas import Atlas
from headscope.errors import OptionError
from headscope.facts.slices import as_heads, stack_with
from headscope.figures.kinds import GAP, draw_tile
from headscope.figures.theme import axes, dress
from headscope.types import HeadId


def example_maps(
    atlas: Atlas, heads: Mapping[str, str | HeadId], *, stack: str | None = None, ax: Axes | None = None
) -> Axes:
    """The attention maps of some heads on one text, each under its name; queries run down, keys across.

    The colour is the square root of the largest weight in a cell, so that faint lines show too; every map has its own
    scale.
    """
    if not heads:
        raise OptionError("no heads were given; name at least one, such as {'next token': '3.2'}")
    name = stack_with(atlas, "example_map", stack)
    maps = atlas.stack(name)["example_map"].transpose("layer", "head", "row", "column").values
    shown = as_heads(heads.values(), layers=maps.shape[0], per_layer=maps.shape[1])
    ax = axes(ax, size=example_maps_size(len(heads)))
    for column, (title, head) in enumerate(zip(heads, shown, strict=True)):
        draw_tile(ax, maps[head.layer, head.head], column * (1 + GAP), 0.0, f"{title}: {head}")
    ax.set_xlim(0, len(heads) * (1 + GAP) - GAP)
    ax.set_ylim(1, -GAP)
    ax.set_aspect("equal")
    dress(ax, title="Attention maps on one text", x="", y="")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    return ax


def example_maps_size(heads: int) -> tuple[float, float]:
    """Inches for the maps of so many heads."""
    return 1.6 * heads + 0.2, 2.0
