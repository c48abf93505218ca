"""Sweeps in an atlas: one probe called "ablation" that keeps the last sweep of each kind."""

from collections.abc import Mapping, Sequence
from typing import Any

from headscope.ablation.arrays import NAMES
from headscope.atlas import Atlas
from headscope.types import LabelledArray

PROBE = "ablation"


def added_to(
    atlas: Atlas,
    sweep: str,
    arrays: Mapping[str, Mapping[str, LabelledArray]],
    facts: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
) -> Atlas:
    """The atlas with a sweep in it, in the place of an earlier one of the same kind."""
    earlier = _sweeps(atlas)
    kept = {name: told for name, told in earlier.items() if name != sweep}
    stacks = atlas.stacks if kept else []
    earlier_arrays = atlas.found_by(PROBE) if kept else {}
    merged = {
        stack: {
            name: array for name, array in earlier_arrays.get(stack, {}).items() if _sweep_of(name) in kept
        }
        for stack in stacks
    }
    for stack, found in arrays.items():
        merged.setdefault(stack, {}).update(found)
    first = next(iter(arrays))
    old = [row for stack in stacks for row in atlas.table(PROBE, stack=stack) if row.get("sweep") in kept]
    sweeps = {**kept, sweep: dict(facts)}
    return atlas.with_probe(
        PROBE,
        merged,
        facts={
            "data": ", ".join(dict.fromkeys(str(told["data"]) for told in sweeps.values())),
            "sweeps": sweeps,
        },
        table={first: [*old, *rows]},
        examples={},
    )


def _sweeps(atlas: Atlas) -> dict[str, Any]:
    probes = atlas.provenance.get("probes", {})
    found: dict[str, Any] = probes.get(PROBE, {}).get("sweeps", {})
    return found


def _sweep_of(name: str) -> str:
    """The sweep an array comes from, by how its name begins: that of the longest beginning that fits."""
    fitting = [sweep for sweep, start in NAMES.items() if name.startswith(f"{start}_")]
    return max(fitting, key=lambda sweep: len(NAMES[sweep]), default="")
