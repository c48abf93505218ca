"""Commands that are killed, and go on from their checkpoint: real processes, real signals."""

import signal
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from tests.contract.shards import TEXTS, arrays_of
from tests.helpers.programs import Program, start
from tests.helpers.tasks import headed
from tests.helpers.tiny import saved, tiny
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner

import headscope as hs
from headscope.cli.main import app

pytestmark = pytest.mark.slow

Whole = Callable[[str], Path]

SMALL = """
import sys, time
from headscope.passes import run_pass
from headscope.passes import checkpoint
from headscope.tasks import base
from headscope.text import batching
run_pass.TEXTS_A_SHARD, batching.READ_AHEAD, base.BATCHES_A_SHARD = 4, 4, 1
if {pause}:
    put = checkpoint._Pass.put
    def slow(self, shard, state):
        put(self, shard, state)
        time.sleep({pause})  # so that there is time to be killed in
    checkpoint._Pass.put = slow
from headscope.cli.main import run
run()
"""


def command(kept: Path, *words: object, pause: float = 0.0) -> Program:
    """One that keeps its shards in a folder, and what it says beside that."""
    code, options = SMALL.format(pause=pause), ("--checkpoint", kept)
    return start(code, *words, *options, folder=kept.parent, env={"OMP_NUM_THREADS": "1"})


def finished(kept: Path, *words: object) -> None:
    program = command(kept, *words)
    assert program.ended() == 0, program.err


def stopped_by(sign: signal.Signals, kept: Path, shards: int, *words: object) -> tuple[int, str]:
    """The exit code of a command that gets the signal once it has kept so many shards, and what it said."""
    program = command(kept, *words, pause=0.3)
    until = time.monotonic() + 240
    while len(list(kept.glob("pass-*/*.shard"))) < shards:
        if not program.is_running:
            if (
                "Ray could not be started" in program.err
            ):  # by Ray's own deadlines, on a machine that is too busy
                pytest.skip(program.err)
            raise AssertionError(program.err)
        if "--ray" in words and time.monotonic() > until:
            program.send(signal.SIGKILL)
            pytest.skip("Ray did not start within four minutes: the machine is too busy")
        assert time.monotonic() < until
        time.sleep(0.02)
    program.send(sign)
    return program.ended(), program.err


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models and data in files, as commands take them."""
    folder = tmp_path_factory.mktemp("killed")
    for name, model in (("bert", tiny("bert")), ("headed", headed("bert", "classification"))):
        saved(model, folder / name)
    (folder / "texts.txt").write_text("\n\n".join(TEXTS))
    (folder / "labelled.tsv").write_text(
        "".join(f"{text}\t{number % 2}\n" for number, text in enumerate(TEXTS))
    )
    return folder


def words_of(name: str, place: Path) -> list[object]:
    options = ["--batch-size", 1, "--quiet"]
    return {
        "analyze": ["analyze", place / "bert", "--text", place / "texts.txt", "--max-length", 24, *options],
        "ablate": [
            *("ablate", place / "headed", "--task", "classification", "--data", place / "labelled.tsv"),
            *("--sweep", "layers", *options),
        ],
    }[name]


@pytest.fixture(scope="module")
def whole(place: Path) -> Whole:
    """The atlas of a command that nobody kills; run in this process, which has loaded torch already."""

    @cache
    def written(name: str) -> Path:
        path = place / f"{name}.nc"
        with pytest.MonkeyPatch.context() as patch, threadpool_limits(1):
            patch.setattr("headscope.passes.run_pass.TEXTS_A_SHARD", 4)
            patch.setattr("headscope.text.batching.READ_AHEAD", 4)
            patch.setattr("headscope.tasks.base.BATCHES_A_SHARD", 1)
            done = CliRunner().invoke(app, [str(word) for word in (*words_of(name, place), "-o", path)])
        assert done.exit_code == 0, done.output
        return path

    return written


@pytest.mark.parametrize("name", ["analyze", "ablate"])
def test_a_killed_command_goes_on_and_gives_the_same_bits(
    name: str, place: Path, whole: Whole, tmp_path: Path
) -> None:
    words = words_of(name, place)
    kept = tmp_path / "kept"
    code, _ = stopped_by(signal.SIGKILL, kept, 2, *words, "-o", tmp_path / "resumed.nc")
    assert code == -signal.SIGKILL
    assert not (tmp_path / "resumed.nc").exists()
    before = {path: path.stat().st_mtime_ns for path in kept.glob("pass-*/*.shard")}
    finished(kept, *words, "-o", tmp_path / "resumed.nc")
    assert all(path.stat().st_mtime_ns == written for path, written in before.items())
    same_bits(tmp_path / "resumed.nc", whole(name))


def same_bits(one: Path, other: Path) -> None:
    found, expected = arrays_of(hs.open(one)), arrays_of(hs.open(other))
    assert found.keys() == expected.keys()
    for variable, values in found.items():
        same = values.tolist() == expected[variable].tolist()  # of objects, whose bytes are addresses
        assert same or values.tobytes() == expected[variable].tobytes(), variable


def test_a_killed_driver_of_a_cluster_goes_on_and_gives_the_same_bits(
    place: Path, whole: Whole, tmp_path: Path
) -> None:
    pytest.importorskip("ray")
    words, kept = words_of("analyze", place), tmp_path / "kept"
    ray = ("--ray", "--workers", 1)
    code, _ = stopped_by(signal.SIGKILL, kept, 2, *words, "-o", tmp_path / "resumed.nc", *ray)
    assert code == -signal.SIGKILL
    finished(kept, *words, "-o", tmp_path / "resumed.nc")
    same_bits(tmp_path / "resumed.nc", whole("analyze"))


def test_ctrl_c_says_how_to_go_on_and_another_option_is_refused(place: Path, tmp_path: Path) -> None:
    words, kept = [*words_of("analyze", place), "-o", tmp_path / "a.nc"], tmp_path / "kept"
    code, err = stopped_by(signal.SIGINT, kept, 1, *words)
    assert code == 130
    assert f"finished shards are in {kept}: the same command goes on from there" in " ".join(err.split())
    other = [*words, "--limit", 5, "--checkpoint", kept]
    refused = CliRunner().invoke(app, [str(word) for word in other])
    assert refused.exit_code == 2
    assert "is of another run: its limit is null, here it is 5" in refused.stderr
