"""Writing an atlas without losing what others wrote: the file is read again under a lock, and merged."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.atlas.files import locked, replacing_locked
from headscope.errors import AtlasError, HeadscopeWarning

if TYPE_CHECKING:
    from headscope.atlas.atlas import Atlas


@dataclass(frozen=True)
class Opened:
    """The file that an atlas was opened from, as it was then."""

    path: Path
    state: tuple[int, int, int]
    probes: Mapping[str, Any] = field(compare=False)

    @classmethod
    def of(cls, path: str | os.PathLike[str], probes: Mapping[str, Any]) -> Opened | None:
        """The file as it is now; None where it is gone already."""
        with suppress(OSError, RuntimeError):
            target = Path(path).resolve()
            return cls(target, _state(target), probes)
        return None


def _state(path: Path) -> tuple[int, int, int]:
    """What changes when a file is replaced."""
    about = path.stat()
    return about.st_ino, about.st_size, about.st_mtime_ns


def update(path: str | os.PathLike[str], change: Callable[[Atlas | None], Atlas]) -> Atlas:
    """Write what `change` makes of the atlas that is at `path` now, None where there is none.

    Two programs that add to one atlas at the same time both find what the other wrote.
    """
    with locked(path) as target:
        changed = change(_existing(target))
        _write(changed, target)
    return changed


def save(atlas: Atlas, path: str | os.PathLike[str]) -> None:
    """Write an atlas, and keep what probes found in the one of the same model that is there."""
    with locked(path) as target:
        _write(_merged(atlas, target), target)


def _write(atlas: Atlas, target: Path) -> None:
    # Loads xarray, which is slow.
    from headscope.atlas.trees import content_of

    content = content_of(atlas.tree)
    with replacing_locked(target) as temporary:
        temporary.write_bytes(content)


def _existing(target: Path) -> Atlas | None:
    from headscope.atlas.atlas import open_atlas

    return open_atlas(target) if target.is_file() and target.stat().st_size else None


def _merged(atlas: Atlas, target: Path) -> Atlas:
    """The atlas with what would be lost if it took the place of the file."""
    if not target.is_file() or not target.stat().st_size:
        return atlas
    opened = atlas.opened if atlas.opened is not None and atlas.opened.path == target else None
    if opened is not None and opened == Opened.of(target, {}):
        return atlas
    adds = opened is not None or not atlas.has_measures
    try:
        there = _existing(target)
        if there is None or (_model(there) != _model(atlas) and not adds):
            return atlas
        if not adds:
            return atlas.with_probes_of(there)
        if _model(there) != _model(atlas):
            raise AtlasError(f"it is the atlas of another model ({there.provenance.get('model')})")
        return _added_to(there, atlas, None if opened is None else opened.probes)
    except AtlasError as error:
        if adds:
            raise AtlasError(f"nothing was written to {target}: {error}") from error
        warnings.warn(f"{target} is replaced with all it held: {error}", HeadscopeWarning, stacklevel=4)
        return atlas


def _model(atlas: Atlas) -> object:
    return atlas.provenance.get("weights_hash")


def _added_to(there: Atlas, atlas: Atlas, before: Mapping[str, Any] | None) -> Atlas:
    """The atlas in the file with what was added to this one; `before`: what probes the file had when opened."""
    for probe in atlas.added:
        if before is not None and there.probes.get(probe) not in (None, before.get(probe)):
            raise AtlasError(
                f"another program added {probe!r} meanwhile; open the file again and add to that"
            )
        there = there.with_probe(
            probe,
            atlas.found_by(probe),
            facts={key: fact for key, fact in atlas.probes[probe].items() if key != "arrays"},
            table={stack: rows for stack in atlas.stacks if (rows := atlas.table(probe, stack=stack))},
            examples={stack: kept for stack in atlas.stacks if (kept := atlas.examples(probe, stack=stack))},
        )
    return there
