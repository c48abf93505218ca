"""Loading modules, quickly."""

import gc
from importlib import import_module
from typing import Any


def load_module(name: str) -> Any:
    """The module of that name.

    Python looks for garbage as objects are made. Loading torch and transformers makes a million of them, and drops
    none: not to look meanwhile saves a fifth of the time.
    """
    looks = gc.isenabled()
    gc.disable()
    try:
        return import_module(name)
    finally:
        if looks:
            gc.enable()
