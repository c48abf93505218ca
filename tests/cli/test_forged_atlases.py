"""A forged atlas is refused in words by every command that takes one, and nothing of this machine gets out by it."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from tests.cli.conftest import Run
from tests.cli.test_every_command import commands
from typer.main import get_command
from typer.testing import Result

from headscope import server
from headscope.cli.main import app

SECRET = b"a secret of this machine "
HEAD = "1.1"
"""Of the tiny BERT that the atlases are of."""


def external(file: h5py.File, folder: Path) -> None:
    file.create_dataset("stolen", (3,), dtype="f8", external=[(str(folder / "secret"), 0, 24)])


def virtual(file: h5py.File, folder: Path) -> None:
    layout = h5py.VirtualLayout(shape=(3,), dtype="f8")
    layout[:] = h5py.VirtualSource(str(folder / "other.h5"), "x", shape=(3,))
    file.create_virtual_dataset("stolen", layout)


def link(file: h5py.File, folder: Path) -> None:
    file["away"] = h5py.ExternalLink(str(folder / "other.h5"), "/x")


def path_link(file: h5py.File, folder: Path) -> None:
    file["away"] = h5py.SoftLink("/")


def giant(file: h5py.File, folder: Path) -> None:
    file.create_dataset("zeros", (1 << 40,), dtype="f8", chunks=(1 << 20,), compression="gzip")


def damaged_sentences(file: h5py.File, folder: Path) -> None:
    lines = file["typical_examples/typical_examples"]
    lines[...] = np.array(['{"head": 7}'] * len(lines), dtype=object)


FORGERIES: dict[str, tuple[Callable[[h5py.File, Path], None], str]] = {
    "external storage": (external, "keeps its numbers in another file"),
    "virtual data set": (virtual, "keeps its numbers in another file"),
    "link to a file": (link, "is a link to another place or file"),
    "link to a place": (path_link, "is a link to another place or file"),
    "giant size": (giant, "far larger unpacked"),
}


NOT_READ = {
    ("analyze", "-o"): "is replaced with all it held: ",
    ("report", "--save-atlas"): "is already one; leave it out",
}
"""What commands say that put a new atlas in the place of one, or none."""


@pytest.fixture
def forge(tmp_path: Path, atlas_path: Path) -> Callable[[Callable[[h5py.File, Path], None]], Path]:
    """An atlas with something hostile in it, in a folder with a secret."""
    (tmp_path / "secret").write_bytes(SECRET * 4)
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["x"] = np.frombuffer(SECRET[:24], "f8")

    def forged(change: Callable[[h5py.File, Path], None]) -> Path:
        path = tmp_path / "atlas.nc"
        shutil.copy(atlas_path, path)
        with h5py.File(path, "a") as file:
            change(file, tmp_path)
        return path

    return forged


@pytest.fixture(autouse=True)
def not_serving(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "serve", lambda app, listener, **options: listener.close())


def leaves(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command, by the words that call it."""
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from leaves(inner, (*words, name))
    else:
        yield " ".join(words), command


COMMANDS = list(leaves(get_command(app)))


def own_ways(atlas: Path, good: Path) -> dict[str, list[object]]:
    """The ways into the commands of headscope itself."""
    known = commands("bert", good.parent)
    known["ablate"] = ["types" if word == "layers" else word for word in known["ablate"]]
    return ways_in(atlas, good, COMMANDS, known)


def ways_in(
    atlas: Path, good: Path, commands: Sequence[tuple[str, Any]], known: Mapping[str, list[object]]
) -> dict[str, list[object]]:
    """For each argument and option of any command that takes an atlas, what to type for this one to be read there."""
    ways: dict[str, list[object]] = {}
    for name, command in commands:
        for parameter in command.params:
            metavar = str(parameter.metavar)
            if parameter.param_type_name == "argument" and takes_atlas(name, metavar):
                rest = {"card": [HEAD], "head": [HEAD], "map": ["-o", good.parent / "map.svg"]}
                ways[name] = [*name.split(), atlas, *rest.get(name, [])]
            elif metavar in ("OUT.nc", "FILE.nc", "ATLAS"):
                option = parameter.opts[-1]
                ways[f"{name} {option}"] = [*without(known[name], option), option, atlas]
    return ways


def takes_atlas(name: str, metavar: str) -> bool:
    """Whether an argument of that name in --help is an atlas; reproduce takes one for a model."""
    return "ATLAS" in metavar or (name.startswith("reproduce") and metavar == "MODEL")


def without(words: list[object], option: str) -> list[object]:
    """The words but an option and its value."""
    if option not in words:
        return list(words)
    place = words.index(option)
    return words[:place] + words[place + 2 :]


@pytest.fixture
def good(tmp_path: Path, atlas_path: Path, model: Path) -> Path:
    """A whole atlas, beside a model and its data."""
    folder = tmp_path / "good"
    folder.mkdir()
    (folder / "bert").symlink_to(model)
    (folder / "arrows.jsonl").write_text('{"text": "The cat sat on it.", "arrows": [[1, 0], [2, 1]]}\n' * 6)
    return Path(shutil.copy(atlas_path, folder / "atlas.nc"))


WAYS = list(own_ways(Path("forged.nc"), Path("good.nc")))


def test_all_commands_that_read_or_add_to_an_atlas_are_here() -> None:
    assert {"types", "redundancy", "map", "explore", "show", "card", "head", "report", "view --atlas"} < {
        *WAYS
    }
    assert {"ablate --atlas", "types -o", "patterns -o", "probe features -o"} < {*WAYS}
    assert len(WAYS) > 25


@pytest.mark.slow  # forty commands
@pytest.mark.parametrize("way", WAYS)
def test_every_command_refuses_an_atlas_that_names_another_file(
    way: str, forge: Callable[..., Path], good: Path, run: Run, tmp_path: Path
) -> None:
    command, *_, place = way.split() * 2
    not_read = NOT_READ.get((command, place), "")
    check_refused(
        lambda atlas: run(*own_ways(atlas, good)[way]),
        forge,
        tmp_path,
        not_read,
        replaces=way == "analyze -o",
    )


def check_refused(
    type_it: Callable[[Path], Result],
    forge: Callable[..., Path],
    tmp_path: Path,
    not_read: str = "",
    *,
    replaces: bool = False,
) -> None:
    """A command refuses such an atlas, or says why it does not read it, and takes nothing out of the other file."""
    change, words = FORGERIES["external storage"]
    done = type_it(forge(change))
    said = " ".join(done.output.split())
    assert "bug" not in said
    assert (not_read or words) in said
    assert done.exit_code == (0 if replaces else 2), said
    written = [
        path for path in tmp_path.rglob("*") if path.is_file() and path.name not in ("secret", "other.h5")
    ]
    assert not [path for path in written if SECRET in path.read_bytes()]


@pytest.mark.parametrize("way", ["show", "types", "patterns -o"])
@pytest.mark.parametrize("kind", list(FORGERIES)[1:])
def test_every_forgery_is_refused(
    kind: str, way: str, forge: Callable[..., Path], good: Path, run: Run
) -> None:
    change, words = FORGERIES[kind]
    done = run(*own_ways(forge(change), good)[way])
    assert done.exit_code == 2
    assert words in " ".join(done.output.split())


@pytest.mark.parametrize("way", [way for way in WAYS if " -" not in way or way == "view --atlas"])
def test_damaged_sentences_are_named_or_not_looked_at(
    way: str, forge: Callable[..., Path], good: Path, run: Run
) -> None:
    done = run(*own_ways(forge(damaged_sentences), good)[way])
    said = " ".join(done.output.split())
    assert "bug" not in said
    assert done.exit_code in (0, 1, 2), said
    if way in ("report", "head"):
        assert "holds a damaged sentence" in said
