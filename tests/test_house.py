"""The house stays as it was built: no folder grows so full that nothing is found in it."""

from pathlib import Path

SRC = Path(__file__).parents[1] / "src" / "headscope"
MOST_FILES = 15


def test_no_folder_has_more_files_than_one_looks_through() -> None:
    folders = [SRC, *(folder for folder in SRC.rglob("*") if folder.is_dir())]
    full = {
        str(folder.relative_to(SRC)): count
        for folder in folders
        if (count := len(list(folder.glob("*.py")))) > MOST_FILES
    }
    assert full == {}


def test_every_folder_has_tests_of_its_name() -> None:
    tests = {folder.name for folder in Path(__file__).parent.iterdir() if folder.is_dir()}
    packages = {folder.parent.name for folder in SRC.glob("*/__init__.py")}
    assert packages - tests == set()
