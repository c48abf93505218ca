"""Kinds of heads and how they lie to each other."""

from headscope.heads.map import head_map

__all__ = ["head_map"]
