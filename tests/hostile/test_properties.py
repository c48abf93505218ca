"""Properties of every reader: whatever is in a file, a result or a HeadscopeError; what was written comes back."""

import contextlib
import json
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tools.hostile import FORMATS, PIECES, Format

from headscope.atlas import Typical
from headscope.atlas.sentences import as_line, from_line
from headscope.atlas.storage.index import read_indexed, with_index
from headscope.atlas.storage.stored import DamagedError, StoredGroup, StoredTree
from headscope.errors import AtlasError, HeadscopeError
from headscope.text.formats.coreference import _chunks
from headscope.types import HeadId

FEW = settings(
    max_examples=40, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
READERS = [format for format in FORMATS.values() if not format.is_bounded]


@pytest.fixture(params=READERS, ids=lambda format: format.name)
def reader(request: pytest.FixtureRequest) -> Format:
    return request.param  # type: ignore[no-any-return]


def read(reader: Format, content: bytes, folder: Path) -> bool:
    """Whether a file can be read; anything but a result or a HeadscopeError is a failure."""
    path = folder / f"file{reader.ending}"
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            reader.read(path)
        except HeadscopeError:
            return False
    return True


def test_files_that_nothing_is_wrong_with(reader: Format, tmp_path: Path) -> None:
    assert all(read(reader, seed, tmp_path) for seed in reader.seeds)


def test_spoiled_files(reader: Format, tmp_path: Path) -> None:
    for number in range(60):
        chance = random.Random(f"{reader.name}/{number}")
        read(reader, reader.spoil(chance.choice(reader.seeds), chance), tmp_path)


def test_any_bytes(reader: Format, tmp_path: Path) -> None:
    start = reader.seeds[0][:8] if reader.ending == ".nc" else b""

    @FEW
    @given(st.binary(max_size=200) | st.lists(st.sampled_from(PIECES), max_size=6).map(b"".join))
    def check(content: bytes) -> None:
        read(reader, start + content, tmp_path)

    check()


LABELS = st.text(max_size=4)
ATTRIBUTES = st.dictionaries(
    st.text(max_size=5),
    st.text(max_size=8) | st.integers(-(2**62), 2**62).map(np.int64) | st.floats().map(np.float64),
)
NUMBERS = st.sampled_from(["<f8", "<f4", "<i8", "|i1", "|u1", "|b1"])


@FEW
@given(st.data())
def test_an_index_gives_back_what_was_put_in(data: st.DataObject) -> None:
    groups = {}
    for path in ["/", *data.draw(st.sets(st.text("ab", min_size=1, max_size=3), max_size=3))]:
        variables: dict[str, Any] = {}
        for name in data.draw(st.sets(LABELS, max_size=3)):
            shape = data.draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
            size = shape[0] * shape[1]
            if data.draw(st.booleans()):
                lines = data.draw(st.lists(LABELS, min_size=size, max_size=size))
                values = np.array([line.rstrip("\0") for line in lines], dtype=str)
            else:
                raw = data.draw(st.binary(min_size=8 * size, max_size=8 * size))
                dtype = np.dtype(data.draw(NUMBERS))
                values = np.frombuffer(raw[: size * dtype.itemsize], dtype)
            variables[name] = (("x", "y"), values.reshape(shape), data.draw(ATTRIBUTES))
        groups[path] = StoredGroup(variables, data.draw(ATTRIBUTES))
    before = data.draw(st.binary(max_size=20))
    stored = read_indexed(with_index(before, StoredTree(groups), {}))
    assert stored is not None
    assert list(stored.groups) == list(groups)
    for path, group in groups.items():
        np.testing.assert_equal(stored.groups[path].attrs, group.attrs)
        for name, (dims, values, attrs) in group.variables.items():
            read_dims, read_values, read_attrs = stored.groups[path].variables[name]
            assert read_dims == dims
            assert read_values.tobytes() == values.astype(read_values.dtype).tobytes()
            assert read_values.shape == values.shape
            np.testing.assert_equal(read_attrs, attrs)


@FEW
@given(st.integers(min_value=0), st.integers(0, 7))
def test_any_changed_bit_of_an_atlas_is_noticed(place: int, bit: int) -> None:
    content = bytearray(FORMATS["atlas"].seeds[0])
    content[place % (len(content) - 32)] ^= 1 << bit
    with pytest.raises(DamagedError):
        read_indexed(bytes(content))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(max_size=4), below, max_size=4),
    max_leaves=12,
)


@FEW
@given(st.text("()ae-|1[/]", max_size=30))
def test_brackets_and_the_rest_are_all_of_a_value(value: str) -> None:
    chunks, rest = _chunks(value)
    assert sorted("".join(chunks) + rest) == sorted(value)
    assert all(chunk.strip("()") for chunk in chunks)


WORDS = st.lists(st.text(max_size=6), min_size=1, max_size=5)


@FEW
@given(st.data(), WORDS, st.floats(-1, 1))
def test_a_sentence_comes_back_from_its_line(data: st.DataObject, words: list[str], likeness: float) -> None:
    places = data.draw(st.lists(st.integers(0, len(words) - 1), min_size=len(words), max_size=len(words)))
    shares = data.draw(st.lists(st.floats(0, 1), min_size=len(words), max_size=len(words)))
    weights = tuple(round(share, 3) for share in shares)
    sentence = Typical(HeadId(3, 4), tuple(words), None, tuple(places), weights, round(likeness, 4))
    assert from_line(Typical, as_line(sentence)) == sentence
    assert sentence.is_whole


@FEW
@given(JSON)
def test_any_line_is_a_sentence_or_an_atlas_error(value: Any) -> None:
    with contextlib.suppress(AtlasError):
        assert isinstance(from_line(Typical, json.dumps(value)), Typical)
