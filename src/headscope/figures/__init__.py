"""Pictures of an atlas: atlas in, matplotlib Axes out, saved as SVG, PDF or PNG."""

from headscope.figures.ablation import ablation_grid, layer_changes, pruning_curve, type_changes
from headscope.figures.card import head_card
from headscope.figures.compare import change_by_layer, kind_changes
from headscope.figures.dots import relation_accuracy
from headscope.figures.explained import explained_heads
from headscope.figures.explanation import explanation, pattern_left
from headscope.figures.grid import cls_attention, head_grid
from headscope.figures.importance import gradient_by_layer, importance_grid
from headscope.figures.kinds import feature_boxes, kinds_by_layer, pattern_bars, patterns_by_layer
from headscope.figures.map import feature_map, head_map
from headscope.figures.moved import looked_and_moved
from headscope.figures.profiles import distance_profile, entropy_by_layer, offset_profile, role_by_layer
from headscope.figures.style.theme import save
from headscope.figures.texts.arcs import head_at_work, heads_at_work
from headscope.figures.texts.maps import example_maps, kind_examples, pattern_maps
from headscope.figures.texts.views import head_view, matrix_view, model_view

__all__ = [
    "ablation_grid",
    "change_by_layer",
    "cls_attention",
    "distance_profile",
    "entropy_by_layer",
    "example_maps",
    "explained_heads",
    "explanation",
    "feature_boxes",
    "feature_map",
    "gradient_by_layer",
    "head_at_work",
    "head_card",
    "head_grid",
    "head_map",
    "head_view",
    "heads_at_work",
    "importance_grid",
    "kind_changes",
    "kind_examples",
    "kinds_by_layer",
    "layer_changes",
    "looked_and_moved",
    "matrix_view",
    "model_view",
    "offset_profile",
    "pattern_bars",
    "pattern_left",
    "pattern_maps",
    "patterns_by_layer",
    "pruning_curve",
    "relation_accuracy",
    "role_by_layer",
    "save",
    "type_changes",
]
