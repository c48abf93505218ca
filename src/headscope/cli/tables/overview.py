"""What an atlas holds, at a glance: where it comes from, its stacks, its measures and their ranges."""

from __future__ import annotations

from collections import Counter
from math import isnan
from typing import TYPE_CHECKING, Any

import headscope as hs
from headscope.cli.console import print_wrapped

if TYPE_CHECKING:
    import xarray as xr
    from rich.console import Console

_HASH_SHOWN = 12


def overview(atlas: hs.Atlas) -> dict[str, Any]:
    """The overview as plain data."""
    return {"provenance": atlas.provenance, "stacks": {name: _stack(atlas, name) for name in atlas.stacks}}


def print_overview(console: Console, atlas: hs.Atlas) -> None:
    """The overview as text."""
    data = overview(atlas)
    probes = data["provenance"].get("probes") or {}
    lines = [_probe(name, facts) for name, facts in probes.items()]
    told = [("" if number else "probes", line) for number, line in enumerate(lines)]
    for name, text in [*_facts(data["provenance"], is_measured=_is_measured(atlas)), *told]:
        print_wrapped(console, f"{name:<11}", text)
    for name, stack in data["stacks"].items():
        console.print()
        measures = stack["measures"]
        shape = f"{stack['layers']} layers x {stack['heads']} heads"
        shape = f"{len(measures)} measures" if stack["layers"] is None else shape
        console.print(f"{name}: {shape}", style="bold")
        dims = {measure: ", ".join(about["dims"]) or "one number" for measure, about in measures.items()}
        first, second = max((18, *map(len, dims))), max((30, *map(len, dims.values())))
        for measure, about in measures.items():
            line = f"  {measure:<{first}} {dims[measure]:<{second}} {_range(about)}"
            console.print(line.rstrip(), soft_wrap=True)
            print_wrapped(console, "    ", about["description"])


def _is_measured(atlas: hs.Atlas) -> bool:
    """Whether it has measures of its own; without, its corpus is only that of its first probe."""
    probes = atlas.provenance.get("probes") or {}
    return bool(set(atlas.measures) - {name for facts in probes.values() for name in facts.get("arrays", ())})


def source_of(atlas: hs.Atlas) -> str:
    """Model, shape and corpus in a line."""
    facts = atlas.provenance
    shapes = [
        f"{layers} layers x {heads} heads" for layers, heads in filter(None, map(atlas.shape, atlas.stacks))
    ]
    edited = f", edited ({'; '.join(atlas.edits)})" if atlas.edits else ""
    model = f"{facts.get('model')}{edited} ({', '.join(dict.fromkeys(shapes))})"
    if not _is_measured(atlas):
        return model
    return f"{model} on {facts.get('corpus')}: {facts.get('texts'):,} texts, {facts.get('tokens'):,} tokens"


def _stack(atlas: hs.Atlas, stack: str) -> dict[str, Any]:
    layers, heads = atlas.shape(stack) or (None, None)
    arrays = atlas.stack(stack)
    measures = {name: _measure(arrays[name]) for name in atlas.measures if name in arrays}
    numbers = atlas.module_layers(stack)
    return {
        "layers": layers,
        "heads": heads,
        **({"module_layers": list(numbers)} if numbers else {}),
        "measures": measures,
    }


def _measure(array: xr.DataArray) -> dict[str, Any]:
    about = {
        "dims": {str(dim): size for dim, size in array.sizes.items()},
        "description": array.attrs.get("long_name", ""),
        "units": array.attrs.get("units", ""),
    }
    if array.dtype.kind in "OUS":
        return about | {"counts": dict(Counter(map(str, array.values.ravel().tolist())))}
    return about | {"minimum": array.min().item(), "maximum": array.max().item()}


def _range(about: dict[str, Any]) -> str:
    if "counts" in about:
        return ", ".join(f"{name} {count}" for name, count in about["counts"].items())
    ends = [
        f"{value:,}" if isinstance(value, int) else "-" if isnan(value) else f"{value:.3f}"
        for value in (about["minimum"], about["maximum"])
    ]
    units = "" if about["units"] in {"", "1"} else f" {about['units']}"
    return f"{' to '.join(ends) if about['dims'] else ends[0]}{units}"


def _probe(name: str, facts: dict[str, Any]) -> str:
    """On what a probe was run."""
    parts = [str(facts.get("data"))]
    parts += [f"{facts[key]:,} {key}" for key in ("texts", "tokens") if isinstance(facts.get(key), int)]
    if chosen_on := (facts.get("options") or {}).get("chosen_on"):
        parts.append(f"heads chosen on {chosen_on}")
    if facts.get("annotated_by") not in (None, "the files"):
        parts.append(f"annotated by {facts['annotated_by']}")
    return f"{name} on {', '.join(parts)}"


def _facts(provenance: dict[str, Any], *, is_measured: bool) -> list[tuple[str, str]]:
    known = provenance.get
    revision = f" at {known('revision')}" if known("revision") else ""
    cut = f", {known('texts_cut')} cut short" if known("texts_cut") else ""
    words = {True: "yes", False: "no", None: "none"}
    options = [
        f"{name} {words.get(value, value) if value is None or isinstance(value, bool) else value}"
        for name, value in (known("options") or {}).items()
        if name != "measures"
    ]
    corpus = [
        ("corpus", f"{known('corpus')} ({_short(known('corpus_hash'))})"),
        ("texts", f"{known('texts'):,}, {known('tokens'):,} tokens{cut}"),
        ("options", ", ".join(options)),
    ]
    begins = f", texts begin with {known('start_token')}" if known("start_token") else ""
    model = f"{known('model')}{revision} ({known('architecture')}, weights {_short(known('weights_hash'))})"
    return [
        ("model", model),
        *([("edited", "; ".join(provenance["edits"]))] if known("edits") else []),
        ("tokenizer", f"{known('tokenizer')}{begins}"),
        *(corpus if is_measured else []),
        ("versions", ", ".join(f"{name} {value}" for name, value in (known("versions") or {}).items())),
        ("made", f"{known('created')}, in {known('duration_s')} s"),
    ]


def _short(digest: Any) -> str:
    kind, _, number = str(digest).rpartition(":")
    return f"{kind}:{number[:_HASH_SHOWN]}"
