"""What every command that computes something prints, on tiny models: words alone, as numbers differ between machines.

Numbers that commands print are in test_atlases.py, where they are planted, and in the tests of each command.
"""

from pathlib import Path

from syrupy.assertion import SnapshotAssertion
from tests.cli.conftest import Run, run
from tests.cli.test_json import COMMANDS, places, quick, words_of
from tests.gallery.shown import TextFile, chapter, masked

__all__ = ["places", "quick", "run"]
"""Fixtures, which pytest finds by their names."""

COMPUTE_NOTHING = ("show", "card", "head", "redundancy", "demo", "explore", "view", "map", "report")
"""They show an atlas or a text."""


def test_terminal(run: Run, places: dict[str, Path], tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    told = []
    for name in COMMANDS:
        if name not in COMPUTE_NOTHING:
            typed = COMMANDS[name]
            done = run(*name.split(), *words_of(typed, places, tmp_path), "--full")
            assert done.exit_code == 0, done.output
            text = done.stdout + (f"\n{done.stderr}" if done.stderr else "")
            for file in (tmp_path / "new.nc", *places.values()):
                text = text.replace(str(file.parent), "FOLDER")
            told.append(chapter(f"headscope {name} {typed} --full", masked(text)))
    assert "\n".join(told) == snapshot.use_extension(TextFile)
