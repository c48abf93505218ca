"""Saving: three kinds of file, the same bytes every time, text that stays text."""

from pathlib import Path

import pytest
from tests.helpers.atlases import previous_token_atlas

from headscope import figures
from headscope.errors import OptionError, OutputError


def drawn():
    return figures.head_grid(previous_token_atlas(), "offset_attention", select={"offset": -1})


@pytest.mark.parametrize(
    ("ending", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG"), ("PNG", b"\x89PNG")]
)
def test_the_same_picture_is_the_same_file(tmp_path: Path, ending: str, start: bytes) -> None:
    first = figures.save(drawn(), tmp_path / f"one.{ending}")
    second = figures.save(drawn().figure, tmp_path / f"two.{ending}")
    assert first.read_bytes().startswith(start)
    assert first.read_bytes() == second.read_bytes()


def test_text_stays_text_in_svg(tmp_path: Path) -> None:
    written = figures.save(drawn(), tmp_path / "grid.svg").read_text()
    assert ">Attention to the previous token</text>" in written
    assert "<image" not in written
    assert "<dc:date" not in written


@pytest.mark.parametrize("name", ["grid.jpg", "grid"])
def test_other_endings_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(OptionError, match=r"saved as \.svg, \.pdf or \.png"):
        figures.save(drawn(), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        figures.save(drawn(), tmp_path / "missing" / "grid.svg")
