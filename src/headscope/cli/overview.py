"""What an atlas holds, at a glance: where it comes from, its stacks, its measures and their ranges."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rich.console import Console

import headscope as hs
from headscope.cli.console import one_line

if TYPE_CHECKING:
    import xarray as xr

_HASH_SHOWN = 12


def overview(atlas: hs.Atlas) -> dict[str, Any]:
    """The overview as plain data."""
    return {
        "provenance": atlas.provenance,
        "stacks": {name: _stack(atlas, name) for name in atlas.stacks},
    }


def print_overview(console: Console, atlas: hs.Atlas) -> None:
    """The overview as text."""
    data = overview(atlas)
    for name, text in _facts(data["provenance"]):
        _print_wrapped(console, f"{name:<11}", text)
    for name, stack in data["stacks"].items():
        console.print()
        console.print(f"{name}: {_shape(stack)}", style="bold")
        for measure, about in stack["measures"].items():
            dims = ", ".join(about["dims"]) or "one number"
            console.print(f"  {measure:<18} {dims:<30} {_range(about)}".rstrip(), soft_wrap=True)
            _print_wrapped(console, "    ", about["description"])


def _print_wrapped(console: Console, start: str, text: str) -> None:
    """The text after `start`; where a line is full it goes on below its own beginning."""
    lines = wrap(one_line(text), console.width - len(start), break_on_hyphens=False)
    for number, line in enumerate(lines):
        console.print(f"{start if number == 0 else ' ' * len(start)}{line}", soft_wrap=True)


def _stack(atlas: hs.Atlas, stack: str) -> dict[str, Any]:
    layers, heads = atlas.shape(stack) or (None, None)
    arrays = atlas.stack(stack)
    return {
        "layers": layers,
        "heads": heads,
        "measures": {name: _measure(arrays[name]) for name in atlas.measures if name in arrays},
    }


def _measure(array: xr.DataArray) -> dict[str, Any]:
    return {
        "dims": {str(dim): size for dim, size in array.sizes.items()},
        "description": array.attrs.get("long_name", ""),
        "units": array.attrs.get("units", ""),
        "minimum": float(array.min()),
        "maximum": float(array.max()),
    }


def _shape(stack: dict[str, Any]) -> str:
    if stack["layers"] is None:
        return f"{len(stack['measures'])} measures"
    return f"{stack['layers']} layers x {stack['heads']} heads"


def _range(about: dict[str, Any]) -> str:
    units = "" if about["units"] in {"", "1"} else f" {about['units']}"
    if not about["dims"]:
        return f"{about['minimum']:.3f}{units}"
    return f"{about['minimum']:.3f} to {about['maximum']:.3f}{units}"


def _facts(provenance: dict[str, Any]) -> list[tuple[str, str]]:
    known = provenance.get
    revision = f" at {known('revision')}" if known("revision") else ""
    cut = f", {known('texts_cut')} cut short" if known("texts_cut") else ""
    options = {name: value for name, value in (known("options") or {}).items() if name != "measures"}
    return [
        (
            "model",
            f"{known('model')}{revision} ({known('architecture')}, weights {_short(known('weights_hash'))})",
        ),
        ("tokenizer", str(known("tokenizer"))),
        ("corpus", f"{known('corpus')} ({_short(known('corpus_hash'))})"),
        ("texts", f"{known('texts'):,}, {known('tokens'):,} tokens{cut}"),
        ("options", ", ".join(f"{name} {_word(value)}" for name, value in options.items())),
        ("versions", ", ".join(f"{name} {value}" for name, value in (known("versions") or {}).items())),
        ("made", f"{known('created')}, in {known('duration_s')} s"),
    ]


def _short(digest: Any) -> str:
    kind, _, number = str(digest).rpartition(":")
    return f"{kind}:{number[:_HASH_SHOWN]}"


def _word(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case None:
            return "none"
        case _:
            return str(value)
