"""A kept shard whose numbers were exchanged, though its file is in good order, is counted again."""

import io
from pathlib import Path

import numpy as np
import pytest
from tests.contract.shards import TEXTS, arrays_of, small_shards
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.errors import HeadscopeWarning
from headscope.passes.checkpoint import checkpoint

__all__ = ["small_shards"]
pytestmark = pytest.mark.usefixtures("small_shards")


def entropy(folder: Path) -> hs.Atlas:
    with checkpoint(folder):
        return hs.analyze(tiny("bert"), TEXTS, max_length=24, sentences=0, batch_size=1, measures=["entropy"])


def with_other_numbers(file: Path) -> None:
    """Double every number with a fraction; the file's own check sums are those of the new numbers."""
    head, _, data = file.read_bytes().partition(b"\n")
    with np.load(io.BytesIO(data)) as stored:
        arrays = {
            name: 2 * stored[name] if stored[name].dtype.kind == "f" else stored[name] for name in stored
        }
    changed = io.BytesIO()
    np.savez(changed, **arrays)
    file.write_bytes(head + b"\n" + changed.getvalue())


def test_numbers_that_were_exchanged_are_not_used(tmp_path: Path) -> None:
    expected = arrays_of(entropy(tmp_path / "kept"))
    file = sorted((tmp_path / "kept").glob("pass-*/*.shard"))[1]
    whole = file.read_bytes()
    with_other_numbers(file)
    assert file.read_bytes() != whole
    with pytest.warns(HeadscopeWarning, match=f"{file.name} cannot be used .*counted again"):
        found = arrays_of(entropy(tmp_path / "kept"))
    assert all(found[name].tobytes() == values.tobytes() for name, values in expected.items())
    assert file.read_bytes() == whole
