"""What tests of bad input share: a folder that must stay empty."""

from pathlib import Path

import pytest


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder outputs go to; nothing else is put there."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder
