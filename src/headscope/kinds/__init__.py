"""Heads compared with each other: their kinds, their neighbours and their map."""

from headscope.kinds.kinds import HeadKinds, head_types
from headscope.kinds.likeness import Likeness
from headscope.kinds.map import feature_map, head_map

__all__ = ["HeadKinds", "Likeness", "feature_map", "head_map", "head_types"]
