"""Heads compared with each other: their kinds, their neighbours and their map.

Names are loaded when they are first used: reading what an atlas says of its kinds must not load scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope.kinds.kinds import HeadKinds as HeadKinds
    from headscope.kinds.kinds import head_types as head_types
    from headscope.kinds.likeness import Likeness as Likeness
    from headscope.kinds.map import feature_map as feature_map
    from headscope.kinds.map import head_map as head_map

_HOMES = {
    "HeadKinds": "kinds",
    "Likeness": "likeness",
    "feature_map": "map",
    "head_map": "map",
    "head_types": "kinds",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'headscope.kinds' has no attribute {name!r}")
    return getattr(import_module(f"headscope.kinds.{_HOMES[name]}"), name)
