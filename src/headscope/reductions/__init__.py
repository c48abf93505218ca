"""What measures need of attention maps, each computed once per layer, or once for all, however many measures ask.

A reduction takes an `LayerAttention` and returns a tensor without the (query, key) plane. Measures call
`batch.reduce(reduction)`; what depends on the tokens alone is derived once for all layers with
`tokens.derive(function)`.
"""

from headscope.reductions.maps import (
    class_mass,
    cosine_of,
    divergence_of,
    entropies,
    entropy_of,
    mean_entropy,
    mean_over_groups,
    near_diagonals,
    pattern_sums,
    row_scale,
    window_sums,
)
from headscope.reductions.one_pass import MapSums, SumsRoom, in_plain_torch, one_pass, token_tables
from headscope.reductions.outputs import given_sums
from headscope.reductions.tokens import (
    FARTHEST,
    PAIR_PATTERNS,
    WINDOWS,
    KeyClass,
    QueryGroup,
    class_table,
    group_weights,
    groups_present,
    has_groups,
    ordinary_keys,
    pattern_codes,
    pattern_queries,
    picked,
    window_of_offsets,
    window_table,
)

__all__ = [
    "FARTHEST",
    "PAIR_PATTERNS",
    "WINDOWS",
    "KeyClass",
    "MapSums",
    "QueryGroup",
    "SumsRoom",
    "class_mass",
    "class_table",
    "cosine_of",
    "divergence_of",
    "entropies",
    "entropy_of",
    "given_sums",
    "group_weights",
    "groups_present",
    "has_groups",
    "in_plain_torch",
    "mean_entropy",
    "mean_over_groups",
    "near_diagonals",
    "one_pass",
    "ordinary_keys",
    "pattern_codes",
    "pattern_queries",
    "pattern_sums",
    "picked",
    "row_scale",
    "token_tables",
    "window_of_offsets",
    "window_sums",
    "window_table",
]
