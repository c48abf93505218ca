"""Checkpoints: a run that was stopped goes on, gives the same bits, and trusts nothing that is not its own."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.contract.shards import TEXTS, arrays_of, counted, small_shards, stopped
from tests.helpers.tiny import tiny
from tests.helpers.two_models import moved

import headscope as hs
from headscope.errors import HeadscopeWarning, OptionError, OutputError
from headscope.passes import checkpoint as module
from headscope.passes.checkpoint import checkpoint

__all__ = ["counted", "small_shards"]
pytestmark = [
    pytest.mark.usefixtures("small_shards"),
    pytest.mark.filterwarnings("ignore:.*(few|single|separat|skipped|no case|kinds|automatic).*"),
    pytest.mark.filterwarnings("ignore::headscope.errors.HeadscopeWarning:headscope.ablation"),
]


def analyzed(folder: Path) -> hs.Atlas:
    return hs.analyze(tiny("bert"), TEXTS, max_length=24, sentences=0, batch_size=1, measures=["entropy"])


def shard_files(folder: Path) -> list[Path]:
    return sorted((folder / "kept").glob("pass-*/*.shard"))


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-50])


def flipped(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[-2000] ^= 1
    file.write_bytes(data)


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def foreign(file: Path) -> None:
    file.write_text("my notes\nare here")


def of_another_run(file: Path) -> None:
    with checkpoint(file.parent.parent.parent / "other", seed=1):
        analyzed(file)
    other = file.parent.parent.parent / "other" / file.parent.name / file.name
    file.write_bytes(other.read_bytes())


@pytest.mark.parametrize("damage", [cut, flipped, emptied, foreign, of_another_run])
def test_what_is_damaged_or_foreign_is_named_and_counted_again(
    damage: Callable[[Path], None], tmp_path: Path, counted: list[str]
) -> None:
    with checkpoint(tmp_path / "kept"):
        expected = arrays_of(analyzed(tmp_path))
    file = shard_files(tmp_path)[1]
    whole = file.read_bytes()
    damage(file)
    counted.clear()
    with (
        pytest.warns(HeadscopeWarning, match=f"{file.name} cannot be used .*counted again"),
        checkpoint(tmp_path / "kept"),
    ):
        found = arrays_of(analyzed(tmp_path))
    assert counted == [file.stem]
    assert file.read_bytes() == whole
    assert all(found[name].tobytes() == values.tobytes() for name, values in expected.items())


def test_what_a_kill_left_half_written_is_swept_away(tmp_path: Path, counted: list[str]) -> None:
    stopped(analyzed, tmp_path)
    half = tmp_path / "kept" / "pass-0000" / "00000002-0123456789abcdef.shard.part"
    half.write_bytes(b"half")
    with checkpoint(tmp_path / "kept"):
        analyzed(tmp_path)
    assert not half.exists()


def test_damaged_words_about_the_run_are_written_anew(tmp_path: Path, counted: list[str]) -> None:
    stopped(analyzed, tmp_path)
    cut(tmp_path / "kept" / module.ABOUT)
    counted.clear()
    with (
        pytest.warns(HeadscopeWarning, match=r"run.json is damaged .* written anew"),
        checkpoint(tmp_path / "kept"),
    ):
        analyzed(tmp_path)
    assert counted
    assert counted[0].startswith("00000002")  # the shards before say themselves of which run they are


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"limit": 4, "text": "a.txt"}, "its limit is 3, here it is 4"),
        ({"limit": 3, "text": "b.txt"}, 'its text is "a.txt", here it is "b.txt"'),
        ({"text": "a.txt"}, "its limit is 3, here it is null"),
    ],
)
def test_another_run_is_refused_in_words(about: dict[str, object], words: str, tmp_path: Path) -> None:
    with checkpoint(tmp_path / "kept", limit=3, text="a.txt"):
        pass
    with (
        pytest.raises(OptionError, match=f"is of another run: {words}; .* another folder"),
        checkpoint(tmp_path / "kept", **about),
    ):
        pass


def test_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with checkpoint(tmp_path / "kept"):
        pass
    monkeypatch.setattr(module, "version_of", lambda name: "9.9" if name == "headscope" else "1")
    with pytest.raises(OptionError, match="its version of headscope is"), checkpoint(tmp_path / "kept"):
        pass


def test_another_model_is_refused(tmp_path: Path) -> None:
    with checkpoint(tmp_path / "kept") as kept:
        kept.model(tiny("bert"))
        kept.model(tiny("t5"))
    with checkpoint(tmp_path / "kept") as kept:
        kept.model(tiny("bert"))
        with pytest.raises(OptionError, match=r"its model is .*here it is .*moved-bert"):
            kept.model(moved("bert"))


def test_other_texts_are_refused(tmp_path: Path) -> None:
    with checkpoint(tmp_path / "kept"):
        analyzed(tmp_path)
    with (
        pytest.raises(OptionError, match=r"other texts: those of 00000000-.* have changed"),
        checkpoint(tmp_path / "kept"),
    ):
        hs.analyze(tiny("bert"), ["the dog", *TEXTS], max_length=24, batch_size=1, measures=["entropy"])


def test_another_measure_is_not_trusted(tmp_path: Path, counted: list[str]) -> None:
    with checkpoint(tmp_path / "kept"):
        analyzed(tmp_path)
    counted.clear()
    with pytest.warns(HeadscopeWarning, match="it is of another run"), checkpoint(tmp_path / "kept"):
        hs.analyze(tiny("bert"), TEXTS, max_length=24, sentences=0, batch_size=1, measures=["loudness"])
    assert len(counted) == len(shard_files(tmp_path))


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(OptionError, match="not empty and holds no checkpoint"), checkpoint(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with (
        pytest.raises(OptionError, match=r"mine\.txt: the folder cannot be made, read or written"),
        checkpoint(tmp_path / "mine.txt"),
    ):
        pass


def test_two_runs_in_one_folder(tmp_path: Path) -> None:
    with checkpoint(tmp_path / "kept"):
        analyzed(tmp_path)
        with (
            pytest.raises(OptionError, match="another run is at work in this folder; wait"),
            checkpoint(tmp_path / "kept"),
        ):
            pass
    before = {path: path.stat().st_mtime_ns for path in shard_files(tmp_path)}
    with checkpoint(tmp_path / "kept"):  # the first has ended
        analyzed(tmp_path)
    assert before == {path: path.stat().st_mtime_ns for path in shard_files(tmp_path)}
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["pass-0000", "run.json"]


def test_a_folder_that_a_killed_run_held_is_free(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / ".run.json.lock").touch()
    with checkpoint(tmp_path / "kept"):
        analyzed(tmp_path)
    assert shard_files(tmp_path)


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with checkpoint(tmp_path / "kept"):
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OutputError, match=r"cannot be written .No space left"):
            analyzed(tmp_path)
    assert not list((tmp_path / "kept").rglob("*.part"))
    assert json.loads((tmp_path / "kept" / module.ABOUT).read_text())["models"] == []
