"""Sweeps in an atlas: one probe called "ablation" that keeps the last sweep of each kind."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import xarray as xr

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
    merged = {stack: _arrays(atlas, stack, kept) for stack in stacks}
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


def _arrays(atlas: Atlas, stack: str, sweeps: Collection[str]) -> dict[str, LabelledArray]:
    """What these sweeps left in a stack."""
    return {
        name: _labelled(array)
        for name, array in atlas.stack(stack).items()
        if _is_ours(atlas, name) and _sweep_of(name) in sweeps
    }


def _sweep_of(name: str) -> str:
    """The sweep an array comes from, by how its name begins: that of the longest beginning that fits."""
    fitting = [sweep for sweep, start in NAMES.items() if name.startswith(f"{start}_")]
    return max(fitting, key=lambda sweep: len(NAMES[sweep]), default="")


def _is_ours(atlas: Atlas, name: str) -> bool:
    """Whether the array belongs to this probe; companions go with what they are companions of."""
    owned = atlas.provenance.get("probes", {}).get(PROBE, {}).get("arrays", [])
    return name in owned or name.removesuffix("_stderr") in owned


def _labelled(array: xr.DataArray) -> LabelledArray:
    return LabelledArray(
        array.values,
        tuple(str(dim) for dim in array.dims),
        {str(dim): array[dim].values.tolist() for dim in array.dims},
        str(array.attrs.get("long_name", "")),
        str(array.attrs.get("units", "1")),
    )
