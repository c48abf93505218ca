"""Who knows where something is in `src` knows where its tests are."""

from pathlib import Path

SRC = Path(__file__).parents[1] / "src" / "headscope"


def test_every_folder_has_tests_of_its_name() -> None:
    tests = {folder.name for folder in Path(__file__).parent.iterdir() if folder.is_dir()}
    packages = {folder.parent.name for folder in SRC.glob("*/__init__.py")}
    assert packages - tests == set()
