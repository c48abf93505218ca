"""What probes found, added to an atlas or taken over from another one."""

import json
from collections.abc import Iterable, Mapping, Sequence

import xarray as xr

from headscope.atlas.atlas import DERIVED, EXAMPLES, STACKS, TABLE, Atlas
from headscope.atlas.files import FORMAT, FORMAT_KEY, Results, name_of
from headscope.atlas.sentences import Example, as_line
from headscope.atlas.trees import array_groups, line_groups, tree_of
from headscope.errors import AtlasError


def added(
    atlas: Atlas,
    probe: str,
    stacks: Results,
    *,
    facts: Mapping[str, object],
    table: Mapping[str, Sequence[Mapping[str, object]]],
    examples: Mapping[str, Sequence[Example]],
) -> Atlas:
    """`Atlas.with_probe`."""
    known = [stack for stack in STACKS if stack in (*atlas.stacks, *stacks)]
    several = len(known) > 1
    groups = array_groups(stacks, several=several)
    lines = {stack: list(map(as_line, sentences)) for stack, sentences in examples.items()}
    groups |= line_groups(probe + EXAMPLES, lines, several=several)
    lines = {stack: list(map(json.dumps, rows)) for stack, rows in table.items()}
    groups |= line_groups(probe + TABLE, lines, several=several)
    names = sorted(set(map(name_of, groups)))
    _check_free(atlas, probe, names)
    owners = atlas.owners()
    kept = {
        _path(atlas, path, several=several): group
        for path, group in datasets_of(atlas).items()
        if owners.get(name_of(path)) != probe
    }
    probes = {**atlas.probes, probe: {**facts, "arrays": names}}
    facts = {"probes": json.dumps(probes), "stacks": ",".join(known), FORMAT_KEY: FORMAT}
    extended = Atlas(tree_of({**kept, **{path.lstrip("/"): group for path, group in groups.items()}}, facts))
    extended.opened, extended.added = atlas.opened, tuple(dict.fromkeys((*atlas.added, probe)))
    return extended


def joined(atlas: Atlas, other: Atlas) -> Atlas:
    """`Atlas.with_probes_of`."""
    probes = {
        name: facts
        for name, facts in other.probes.items()
        if DERIVED not in facts and name not in atlas.probes
    }
    owned = [name for name, probe in other.owners().items() if probe in probes]
    if not owned:
        return atlas
    atlas.check_edits(other.edits, "what its probes found is")
    if other.stacks != atlas.stacks:
        raise AtlasError(
            f"its probes looked at the stacks {', '.join(other.stacks)}, and the new atlas has "
            f"{', '.join(atlas.stacks)}"
        )
    for probe, facts in probes.items():
        _check_free(atlas, probe, facts.get("arrays", []))
    theirs = {path: group for path, group in datasets_of(other).items() if name_of(path) in owned}
    facts = {"probes": json.dumps(atlas.probes | probes), FORMAT_KEY: FORMAT}
    extended = Atlas(tree_of(datasets_of(atlas) | theirs, facts))
    extended.opened, extended.added = atlas.opened, atlas.added
    return extended


def datasets_of(atlas: Atlas) -> dict[str, xr.Dataset]:
    """Every group of the tree by its path."""
    return {path: node.to_dataset(inherit=False) for path, node in atlas.tree.subtree_with_keys}


def _check_free(atlas: Atlas, probe: str, names: Iterable[str]) -> None:
    """Raise AtlasError if a name is that of another probe's results or of what an analysis left here."""
    owners = atlas.owners()
    known = {name_of(path) for path, _ in atlas.tree.subtree_with_keys}
    for name in sorted(known.intersection(names)):
        owner = owners.get(name)
        if owner != probe:
            whose = "a measure of this atlas" if owner is None else f"what the probe {owner!r} found"
            raise AtlasError(
                f"the probe {probe!r} gives an array called {name!r}, which is {whose}; write it to another file"
            )


def _path(atlas: Atlas, path: str, *, several: bool) -> str:
    """Where a group of an atlas belongs in one of several stacks: below its stack's name."""
    if several and len(atlas.stacks) == 1 and path not in (".", "/"):
        return f"{atlas.stacks[0]}/{path}"
    return path
