"""headscope-papers: what papers published on attention heads, beside the same analysis of your model.

The public names are loaded when first used, as those of headscope are, so that the help of its commands comes at once.
They are listed once, in `__init__.pyi`, where type checkers look for them.
"""

from pathlib import Path
from typing import Any

from headscope.loading import load_module

_STUB = Path(f"{__file__}i").read_text(encoding="utf-8")
_MODULES = {words[3]: words[1] for words in map(str.split, _STUB.splitlines()) if words[:1] == ["from"]}

__all__ = list(_MODULES)  # pyright: ignore


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'headscope_papers' has no attribute {name!r}")
    value = globals()[name] = getattr(load_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
