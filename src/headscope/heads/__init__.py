"""Heads compared with each other: their kinds, their neighbours and their map."""

from headscope.heads.kinds import HeadKinds, head_types
from headscope.heads.likeness import Likeness
from headscope.heads.map import head_map
from headscope.heads.tsne import feature_map

__all__ = ["HeadKinds", "Likeness", "feature_map", "head_map", "head_types"]
