"""What an atlas holds, at a glance: where it comes from, its stacks, its measures and their ranges."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any

from rich.console import Console

import headscope as hs
from headscope.cli.console import print_wrapped
from headscope.cli.tables.heads import counted, is_words

if TYPE_CHECKING:
    import xarray as xr

_HASH_SHOWN = 12


def overview(atlas: hs.Atlas) -> dict[str, Any]:
    """The overview as plain data."""
    return {"provenance": atlas.provenance, "stacks": {name: _stack(atlas, name) for name in atlas.stacks}}


def print_overview(console: Console, atlas: hs.Atlas) -> None:
    """The overview as text."""
    data = overview(atlas)
    for name, text in [
        *_facts(data["provenance"], measured=_is_measured(atlas)),
        *_probes(data["provenance"]),
    ]:
        print_wrapped(console, f"{name:<11}", text)
    for name, stack in data["stacks"].items():
        console.print()
        console.print(f"{name}: {_shape(stack)}", style="bold")
        lines = {name: ", ".join(about["dims"]) or "one number" for name, about in stack["measures"].items()}
        first, second = max((18, *map(len, lines))), max((30, *map(len, lines.values())))
        for measure, about in stack["measures"].items():
            line = f"  {measure:<{first}} {lines[measure]:<{second}} {_range(about)}"
            console.print(line.rstrip(), soft_wrap=True)
            print_wrapped(console, "    ", about["description"])


def _is_measured(atlas: hs.Atlas) -> bool:
    """Whether there is anything but what probes left; without it the corpus is only that of the first probe."""
    probes = atlas.provenance.get("probes") or {}
    found = {name for facts in probes.values() for name in facts.get("arrays", ())}
    return bool(set(atlas.measures) - found)


def _stack(atlas: hs.Atlas, stack: str) -> dict[str, Any]:
    layers, heads = atlas.shape(stack) or (None, None)
    arrays = atlas.stack(stack)
    return {
        "layers": layers,
        "heads": heads,
        "measures": {name: _measure(arrays[name]) for name in atlas.measures if name in arrays},
    }


def _measure(array: xr.DataArray) -> dict[str, Any]:
    values = (
        {"counts": counted(array)}
        if is_words(array)
        else {"minimum": array.min().item(), "maximum": array.max().item()}
    )
    return {
        "dims": {str(dim): size for dim, size in array.sizes.items()},
        "description": array.attrs.get("long_name", ""),
        "units": array.attrs.get("units", ""),
        **values,
    }


def _shape(stack: dict[str, Any]) -> str:
    if stack["layers"] is None:
        return f"{len(stack['measures'])} measures"
    return f"{stack['layers']} layers x {stack['heads']} heads"


def _range(about: dict[str, Any]) -> str:
    if "counts" in about:
        return ", ".join(f"{name} {count}" for name, count in about["counts"].items())
    units = "" if about["units"] in {"", "1"} else f" {about['units']}"
    low, high = _number(about["minimum"]), _number(about["maximum"])
    return f"{low if not about['dims'] else f'{low} to {high}'}{units}"


def _number(value: float) -> str:
    """Counts as they are, anything else with three decimals."""
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if isnan(value) else f"{value:.3f}"


def _probes(provenance: dict[str, Any]) -> list[tuple[str, str]]:
    """A line for each probe: on what it was run."""
    lines = []
    for name, facts in (provenance.get("probes") or {}).items():
        sizes = [f"{facts[key]:,} {key}" for key in ("texts", "tokens") if isinstance(facts.get(key), int)]
        options = facts.get("options") or {}
        chosen = [f"heads chosen on {options['chosen_on']}"] if options.get("chosen_on") else []
        automatic = facts.get("annotated_by") not in (None, "the files")
        by = [f"annotated by {facts['annotated_by']}"] if automatic else []
        lines.append(f"{name} on {', '.join([str(facts.get('data')), *sizes, *chosen, *by])}")
    return [("" if number else "probes", line) for number, line in enumerate(lines)]


def _facts(provenance: dict[str, Any], *, measured: bool) -> list[tuple[str, str]]:
    known = provenance.get
    revision = f" at {known('revision')}" if known("revision") else ""
    cut = f", {known('texts_cut')} cut short" if known("texts_cut") else ""
    options = {name: value for name, value in (known("options") or {}).items() if name != "measures"}
    corpus = [
        ("corpus", f"{known('corpus')} ({_short(known('corpus_hash'))})"),
        ("texts", f"{known('texts'):,}, {known('tokens'):,} tokens{cut}"),
        ("options", ", ".join(f"{name} {_word(value)}" for name, value in options.items())),
    ]
    return [
        (
            "model",
            f"{known('model')}{revision} ({known('architecture')}, weights {_short(known('weights_hash'))})",
        ),
        *([("edited", "; ".join(provenance["edits"]))] if known("edits") else []),
        ("tokenizer", str(known("tokenizer"))),
        *(corpus if measured else []),
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
