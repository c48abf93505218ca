"""The sentences where heads are most typical, in the atlas: they come back, and stay with their analysis."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import headscope as hs
from headscope.atlas import Atlas, Typical
from headscope.atlas.sentences import as_line, from_line
from headscope.errors import AtlasError, OptionError
from headscope.types import HeadId, LabelledArray

ONE = Typical(
    head=HeadId(1, 2),
    words=("[CLS]", "né", "👩‍👧", '"quoted"', "a\\b", "[SEP]"),
    keys=None,
    looks_at=(0, 2, 1, 5, 3, 5),
    weights=(0.5, 0.123456, 1.0, 0.0, 0.25, 0.75),
    likeness=0.987654,
)
CROSS = Typical(HeadId(0, 1), ("<pad>", "le"), ("the", "cat", "</s>"), (2, 0), (0.5, 0.5), -0.5)


def arrays(*names: str) -> dict[str, LabelledArray]:
    grid = {"layer": range(2), "head": range(3)}
    return {name: LabelledArray(np.ones((2, 3)), ("layer", "head"), grid, name) for name in names}


def build(*found: Typical, measure: str = "entropy") -> Atlas:
    return Atlas.build({"encoder": arrays(measure)}, provenance={"model": "m"}, typical={"encoder": found})


def test_it_comes_back_from_its_line() -> None:
    line = as_line(ONE)
    assert "\n" not in line
    assert "né" in line  # to be read by people too
    back = from_line(Typical, line)
    assert back.weights == (0.5, 0.123, 1.0, 0.0, 0.25, 0.75)
    assert back.likeness == 0.9877
    assert as_line(back) == line
    assert {**vars(back), "weights": (), "likeness": 0} == {**vars(ONE), "weights": (), "likeness": 0}
    assert from_line(Typical, as_line(CROSS)) == CROSS


def test_what_words_look_at() -> None:
    assert ONE.targets == ("[CLS]", "👩‍👧", "né", "[SEP]", '"quoted"', "[SEP]")
    assert CROSS.targets == ("</s>", "the")
    assert ONE.is_whole
    assert CROSS.is_whole
    assert not Typical(HeadId(0, 0), ("a", "b"), ("c",), (0, 1), (0.5, 0.5), 1.0).is_whole


def test_they_come_back_from_disk_by_head(tmp_path: Path) -> None:
    second = Typical(HeadId(1, 2), ("b",), None, (0,), (1.0,), 0.5)
    atlas = build(ONE, CROSS, second)
    atlas.save(tmp_path / "a.nc")
    back = hs.open(tmp_path / "a.nc")
    for one in (atlas, back):
        assert [found.words for found in one.typical("1.2")] == [ONE.words, ("b",)]
        assert one.typical(HeadId(0, 1), stack="encoder") == [CROSS]
        assert one.typical("0.0") == []
    with pytest.raises(OptionError, match="'first' is not a head"):
        back.typical("first")
    with pytest.raises(AtlasError, match="no stack 'cross'"):
        back.typical("0.0", stack="cross")
    back.typical("1.2").clear()
    assert len(back.typical("1.2")) == 2


def test_they_are_no_measure_and_any_tool_can_read_them(tmp_path: Path) -> None:
    atlas = build(ONE)
    assert atlas.measures == list(atlas.stack("encoder")) == ["entropy"]
    assert "typical_examples" not in atlas
    atlas.save(tmp_path / "a.nc")
    with xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf", group="typical_examples") as lines:
        assert json.loads(str(lines["typical_examples"].values[0]))["head"] == "1.2"


def test_only_a_file_with_lines_needs_the_newer_format() -> None:
    assert build(ONE).provenance["headscope_format"] == 2
    assert build().provenance["headscope_format"] == 1
    bare = Atlas.build({"encoder": arrays("entropy")}, provenance={"model": "m"})
    assert bare.provenance["headscope_format"] == 1
    assert bare.typical("0.0") == []


def add(atlas: Atlas, probe: str, *stacks: str) -> Atlas:
    return atlas.with_probe(
        probe, {stack: arrays(f"{probe}_a") for stack in stacks}, facts={}, table={}, examples={}
    )


def test_probes_leave_them_alone(tmp_path: Path) -> None:
    atlas = add(add(build(ONE), "one", "encoder"), "two", "encoder", "decoder")
    atlas.save(tmp_path / "a.nc")
    back = hs.open(tmp_path / "a.nc")  # of two stacks by now
    assert back.stacks == ["encoder", "decoder"]
    assert [one.words for one in back.typical("1.2")] == [ONE.words]
    assert back.typical("1.2", stack="decoder") == []
    assert [one.words for one in add(back, "one", "encoder").typical("1.2")] == [ONE.words]
    with pytest.raises(AtlasError, match="'typical' gives an array called 'typical_examples'"):
        build(ONE).with_probe(
            "typical", {"encoder": arrays("x")}, facts={}, table={}, examples={"encoder": []}
        )


def test_a_fresh_analysis_brings_its_own() -> None:
    old = add(build(ONE, CROSS), "one", "encoder")
    kept = build(CROSS).with_probes_of(old)
    assert "one_a" in kept
    assert kept.typical("0.1") == [CROSS]
    assert kept.typical("1.2") == []
    assert build().with_probes_of(old).typical("1.2") == []


def test_each_stack_has_its_own(tmp_path: Path) -> None:
    stacks = {stack: arrays("entropy") for stack in ("encoder", "cross")}
    Atlas.build(
        stacks, provenance={"model": "m"}, typical={"encoder": [ONE], "cross": [CROSS], "decoder": [ONE]}
    ).save(tmp_path / "a.nc")
    back = hs.open(tmp_path / "a.nc")
    assert back.stacks == ["encoder", "cross"]
    assert [one.words for one in back.typical("1.2")] == [ONE.words]
    assert back.typical("0.1", stack="cross") == [CROSS]
    assert back.typical("1.2", stack="cross") == []


@pytest.mark.parametrize(
    "line",
    ["", "7", "null", "{}", "[" * 100_000, '{"head": "0.0"}', '{"head": 7}', f'{{"head": "{"9" * 5000}.0"}}',
     '{"head": "0.1", "words": 5, "keys": null, "looks_at": [0], "weights": [1], "likeness": 0.5}',
     '{"head": "0.1", "words": ["a"], "keys": null, "looks_at": ["0"], "weights": [1], "likeness": 0.5}',
     '{"head": "0.1", "words": ["a"], "keys": null, "looks_at": [0], "weights": ["x"], "likeness": 0.5}',
     '{"head": "0.1", "words": ["a"], "keys": null, "looks_at": [0], "weights": [1], "likeness": "x"}'],
)  # fmt: skip
def test_a_damaged_sentence_is_told(line: str) -> None:
    with pytest.raises(AtlasError, match="holds a damaged sentence"):
        from_line(Typical, line)
