"""Nothing is lost when an atlas is written: not what others wrote, the mode, nor the old file when writing fails."""

import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.atlas.test_atlas import array
from tests.helpers.programs import FORKED

import headscope as hs
from headscope.atlas import Atlas, check_writable, replacing, update
from headscope.atlas.storage import lock
from headscope.errors import AtlasError, HeadscopeWarning, OutputError


def build(**provenance: str) -> Atlas:
    about = {"model": "m", "weights_hash": "sha256:1", **provenance}
    return Atlas.build({"encoder": {"example": array(2, 4)}}, provenance=about)


def bare(**provenance: str) -> Atlas:
    return Atlas.build({"encoder": {}}, provenance={"model": "m", "weights_hash": "sha256:1", **provenance})


def probed(atlas: Atlas, probe: str, size: int = 2) -> Atlas:
    arrays = {"encoder": {f"{probe}_accuracy": array(size, 4)}}
    rows = {"encoder": [{"relation": probe, "score": 0.5}]}
    return atlas.with_probe(probe, arrays, facts={"data": f"{size} files"}, table=rows, examples={})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.nc"


# Two programs and one file


def test_two_that_add_to_one_file_both_stay(path: Path) -> None:
    build().save(path)
    first, second = hs.open(path), hs.open(path)
    probed(first, "one").save(path)
    probed(second, "two").save(path)
    both = hs.open(path)
    assert set(both.probes) == {"one", "two"}
    assert both["one_accuracy"].shape == both["two_accuracy"].shape == (2, 4)
    assert both.table("one") == [{"relation": "one", "score": 0.5}]
    assert "example" in both


def test_two_that_begin_a_file_both_stay(path: Path) -> None:
    probed(bare(), "one").save(path)
    probed(bare(), "two").save(path)
    assert set(hs.open(path).probes) == {"one", "two"}


def test_update_sees_the_file_as_it_is_now(path: Path) -> None:
    update(path, lambda there: probed(there or bare(), "one"))
    update(path, lambda there: probed(there or bare(), "two"))
    assert set(hs.open(path).probes) == {"one", "two"}


def _add(path: Path, probe: str, go: object) -> None:
    go.wait()  # type: ignore[attr-defined]
    update(path, lambda there: probed(there or bare(), probe))


def test_many_processes_at_once(path: Path) -> None:
    go = FORKED.Event()
    workers = [FORKED.Process(target=_add, args=(path, f"p{number}", go)) for number in range(4)]
    for worker in workers:
        worker.start()
    go.set()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert set(hs.open(path).probes) == {"p0", "p1", "p2", "p3"}
    assert [file.name for file in path.parent.iterdir()] == ["a.nc"]


def test_a_new_analysis_keeps_what_probes_found_since(path: Path) -> None:
    build().save(path)
    probed(hs.open(path), "one").save(path)
    new = build(created="later")
    new.save(path)
    assert hs.open(path).provenance["created"] == "later"
    assert set(hs.open(path).probes) == {"one"}


def test_a_new_analysis_meanwhile_keeps_its_measures(path: Path) -> None:
    build(created="first").save(path)
    opened = hs.open(path)
    build(created="second").save(path)
    probed(opened, "one").save(path)
    assert hs.open(path).provenance["created"] == "second"
    assert "one_accuracy" in hs.open(path)


def test_the_same_probe_twice(path: Path) -> None:
    build().save(path)
    first, second = hs.open(path), hs.open(path)
    probed(first, "one").save(path)
    with pytest.raises(AtlasError, match="another program added 'one' meanwhile; open the file again"):
        probed(second, "one", size=1).save(path)
    probed(hs.open(path), "one", size=1).save(path)  # whoever knows of the other may replace it
    assert hs.open(path)["one_accuracy"].shape == (1, 4)
    probed(bare(), "one").save(path)  # a notebook's cell that is run again
    assert hs.open(path)["one_accuracy"].shape == (2, 4)


def test_a_file_that_became_another_models(path: Path) -> None:
    build().save(path)
    opened = hs.open(path)
    build(weights_hash="sha256:2").save(path)
    with pytest.raises(AtlasError, match=r"nothing was written to .*another model"):
        probed(opened, "one").save(path)
    assert hs.open(path).provenance["weights_hash"] == "sha256:2"


def test_a_file_that_cannot_be_merged_is_said_to_be_gone(path: Path) -> None:
    path.write_bytes(b"no atlas")
    with pytest.warns(HeadscopeWarning, match="is replaced with all it held"):
        build().save(path)
    assert "example" in hs.open(path)


# The lock


def test_a_writer_waits_for_another(path: Path) -> None:
    order = []

    def second() -> None:
        with replacing(path) as temporary:
            order.append("second")
            temporary.write_bytes(b"2")

    with replacing(path) as temporary:
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.2)
        order.append("first")
        temporary.write_bytes(b"1")
    thread.join()
    assert order == ["first", "second"]
    assert path.read_bytes() == b"2"


def test_a_writer_does_not_wait_for_ever(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "PATIENCE", 0)
    with replacing(path), pytest.raises(OutputError, match="is being written by another program"):
        build().save(path)


def test_a_lock_whose_file_was_taken_away_is_taken_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer had it when the file was opened, and took the file away before the lock was there."""
    beside, hold = lock.lock_file(path), fcntl.flock

    def late(handle: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", hold)
        beside.unlink()
        hold(handle, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with lock.lock(path):
        assert beside.exists()


def test_the_lock_of_a_killed_writer_is_free(path: Path) -> None:
    (path.parent / ".a.nc.lock").touch()
    build().save(path)
    assert [file.name for file in path.parent.iterdir()] == ["a.nc"]


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOLCK])
def test_a_file_system_without_locks_is_written_to(
    path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, "no locks here")

    monkeypatch.setattr("fcntl.flock", refuse)
    build().save(path)
    assert [file.name for file in path.parent.iterdir()] == ["a.nc"]
    assert "example" in hs.open(path)


# The file


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_the_mode_is_kept(path: Path, mode: int) -> None:
    build().save(path)
    path.chmod(mode)
    probed(hs.open(path), "one").save(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_private_file_is_private_while_it_is_written(path: Path) -> None:
    path.touch(0o600)
    with replacing(path) as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600


def test_a_new_file_has_the_usual_mode(path: Path) -> None:
    build().save(path)
    (path.parent / "usual").touch()
    assert path.stat().st_mode == (path.parent / "usual").stat().st_mode


_KILLED = """
import os, signal, sys
from pathlib import Path
import headscope as hs
from headscope.atlas import saving
def killed(self, content):
    with self.open("wb") as file: file.write(content[: len(content) // 2])
    os.kill(os.getpid(), signal.SIGKILL)
Path.write_bytes = killed
hs.open(sys.argv[1]).save(sys.argv[1])
"""


def test_killed_while_writing(path: Path) -> None:
    build().save(path)
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", _KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    assert any(file.name.endswith(".part") for file in path.parent.iterdir())
    check_writable(path)  # what the next command does first
    assert [file.name for file in path.parent.iterdir()] == ["a.nc"]


def test_only_its_own_leftovers_are_removed(path: Path) -> None:
    others = {".b.nc.12345678.part", "a.nc.part", ".a.nc.part.txt"}
    for name in others:
        (path.parent / name).touch()
    (path.parent / ".a.nc.12345678.part").touch()
    build().save(path)
    assert {file.name for file in path.parent.iterdir()} == {"a.nc", *others}


@pytest.mark.parametrize("step", ["write_bytes", "replace"])
def test_a_full_disk_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    build().save(path)
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, step, full)
    with pytest.raises(OutputError, match="nothing was left behind: No space left on device"):
        probed(hs.open(path), "one").save(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["a.nc"]


def test_a_read_only_folder(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build().save(path)
    before = path.read_bytes()

    def refused(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refused)  # root, who may run the tests, writes anywhere
    with pytest.raises(OutputError, match=r"a\.nc cannot be written: Permission denied"):
        check_writable(path)
    monkeypatch.undo()
    assert path.read_bytes() == before


def test_a_link_that_leads_to_itself(tmp_path: Path) -> None:
    (tmp_path / "loop.nc").symlink_to(tmp_path / "loop.nc")
    with pytest.raises(OutputError, match="a link that leads to itself"):
        build().save(tmp_path / "loop.nc")
    with pytest.raises(AtlasError, match="cannot be opened"):
        hs.open(tmp_path / "loop.nc")
