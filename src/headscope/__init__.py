"""headscope: what the attention heads of a transformer do, and whether it matters.

The public names, loaded when first used, so that `import headscope` and the command line start at once. They are
listed once, in `__init__.pyi`, where type checkers look for them.
"""

from typing import Any

from headscope.loading import load_module

with open(f"{__file__}i", encoding="utf-8") as _stub:  # noqa: PTH123  # pathlib is slow to load
    _MODULES = {words[3]: words[1] for words in map(str.split, _stub) if words[:1] == ["from"]}
_MODULES["open"] = _MODULES.pop("open_atlas")
_SPELLED = {"open": "open_atlas"}  # there, so as not to hide the built-in function

__all__ = list(dict(sorted(_MODULES.items())))  # pyright: ignore


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return load_module("headscope.versions").version_of("headscope")  # slow to load
    if name not in _MODULES:
        raise AttributeError(f"module 'headscope' has no attribute {name!r}")
    if name == "figures":
        return load_module("headscope.figures")
    value = globals()[name] = getattr(load_module(_MODULES[name]), _SPELLED.get(name, name))
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
