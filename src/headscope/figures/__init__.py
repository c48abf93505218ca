"""Pictures of an atlas: atlas in, matplotlib Axes out, saved as SVG, PDF or PNG."""

from headscope.figures.grid import head_grid
from headscope.figures.layers import entropy_by_layer, role_by_layer
from headscope.figures.map import head_map
from headscope.figures.profiles import distance_profile, offset_profile
from headscope.figures.save import save

__all__ = [
    "distance_profile",
    "entropy_by_layer",
    "head_grid",
    "head_map",
    "offset_profile",
    "role_by_layer",
    "save",
]
