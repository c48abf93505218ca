"""Write docs/api.md from the docstrings of the public names, or check that it is up to date.

python tools/api_reference.py            # write it
python tools/api_reference.py --check    # exit 1 when the file is stale
"""

import argparse
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import headscope as hs
import headscope_papers

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
WIDTH = 90
"""Signatures longer than this have one parameter a line."""

_MODULES = re.compile(
    r"\b(?:headscope(?:_papers)?|pathlib|collections|typing|torch|xarray|xr|numpy|np|transformers)(?:\.[a-z_]\w*)*\.(?=\w)"
)
_FUNCTION = re.compile(r"<function .*? at 0x\w+>")
"""A function as a default, which stands somewhere else in every run."""

INTRODUCTION = """\
# Python reference

<!-- Written by tools/api_reference.py from the docstrings; change those, not this page. -->

Every public name of `import headscope as hs`, in the order of the alphabet, then those of
[headscope-papers](guide/reproduce.md). [Python by example](guide/python.md) shows them at work.
"""


def page() -> str:
    """The whole page."""
    packages = {"hs": hs, "headscope_papers": headscope_papers}
    entries = [
        _entry(f"{package}.{name}", getattr(module, name))
        for package, module in packages.items()
        for name in sorted(module.__all__)
    ]
    return "\n".join([INTRODUCTION, *entries])


def _entry(title: str, thing: Any) -> str:
    if inspect.ismodule(thing):
        names = ", ".join(f"`{inner}`" for inner in thing.__all__)
        return f"## {title}\n\n{_words(thing)}\n\nIt has {names}.\n"
    if inspect.isclass(thing):
        name = title.rpartition(".")[2]
        inner = [_member(f"{name}.{key}", value) for key, value in _own(thing)]
        return "\n".join([f"## {title}\n", _signature(title, thing), _words(thing), "", *inner])
    if callable(thing):
        return "\n".join([f"## {title}\n", _signature(title, thing), _words(thing), ""])
    return f"## {title}\n\nA `{type(thing).__name__}`: {_words(type(thing))}\n"


def _own(thing: type) -> list[tuple[str, Any]]:
    """The public methods and properties with a docstring, in the order of the source, those of base classes last."""
    seen: dict[str, Any] = {}
    for base in thing.__mro__:
        if base.__module__.startswith("headscope"):
            for key, value in vars(base).items():
                plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
                if not key.startswith("_") and key not in seen and _is_member(plain):
                    seen[key] = plain
    return list(seen.items())


def _is_member(value: object) -> bool:
    return (inspect.isfunction(value) or isinstance(value, property)) and bool(value.__doc__)


def _member(name: str, value: Any) -> str:
    if isinstance(value, property):
        return f"### {name}\n\n{_words(value)}\n"
    return "\n".join([f"### {name}\n", _signature(name, value), _words(value), ""])


class _Type:
    """A type as a reader writes it: by its own name, without its module."""

    def __init__(self, annotation: object) -> None:
        text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
        self.text = _MODULES.sub("", text)

    def __repr__(self) -> str:
        return self.text


def _signature(name: str, thing: Any) -> str:
    try:
        signature = inspect.signature(thing)
    except ValueError:
        return ""
    parameters = [
        each if each.annotation is each.empty else each.replace(annotation=_Type(each.annotation))
        for key, each in signature.parameters.items()
        if key not in ("self", "cls")
    ]
    result = signature.return_annotation
    back = "" if result in (signature.empty, None, "None") else f" -> {_Type(result)}"
    text = str(signature.replace(parameters=parameters, return_annotation=signature.empty)) + back
    if len(name) + len(text) > WIDTH:
        lines = [_FUNCTION.sub("...", str(each)) for each in parameters]
        named = [index for index, each in enumerate(parameters) if each.kind is each.KEYWORD_ONLY]
        if named:
            lines.insert(named[0], "*")
        text = "(\n" + "".join(f"    {line},\n" for line in lines) + ")" + back
    return f"```text\n{name}{text}\n```\n"


def _words(thing: Any) -> str:
    return inspect.getdoc(thing) or ""


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description="Write docs/api.md from the docstrings.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the page is stale")
    wanted = page()
    if parser.parse_args().check:
        if not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != wanted:
            print("docs/api.md is stale; write it again with: python tools/api_reference.py", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
