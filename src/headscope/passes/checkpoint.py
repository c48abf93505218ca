"""A folder in which a run keeps each shard that is counted, so that one that was stopped goes on where it was.

Every pass has a folder, and every shard a file there, named by its id. A file is written under another name, forced
to the disk and then renamed: it is there whole or not at all. It begins with a line that says of which run and pass it
is and what the rest must hash to. What does not fit is named, counted again and replaced. One run at a time is at work
in a folder.
"""

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch

from headscope.atlas.storage.lock import lock, lock_file
from headscope.errors import HeadscopeWarning, OptionError, OutputError
from headscope.kernels.cpu.loops import is_compiled
from headscope.models import Model
from headscope.passes.run_pass import Accept, B, Engine, Job, S, Shard, T, Told, current_engine, running_on
from headscope.passes.states import StateError, dump_state, kind_of, load_state
from headscope.versions import version_of

ABOUT = "run.json"
"""What the checkpoint is of."""
ENDING = ".shard"
PARTIAL = ".part"

_FORMAT = 1
_PACKAGES = ("headscope", "torch", "transformers", "numpy")


class Checkpoint:
    """The shards of one run that are counted, in a folder; an engine that has only the others counted."""

    def __init__(self, folder: str | os.PathLike[str], about: Mapping[str, object], engine: Engine) -> None:
        """`about` tells this run from others: the command and its options, by name. The `engine` counts shards.

        Raises OptionError for a folder that holds another run.
        """
        self.folder = Path(folder)
        self.engine = engine
        self.kept = 0
        """How many shards the folder has of the passes run so far."""
        self._passes = 0
        self._about: dict[str, Any] = json.loads(json.dumps({**_versions(), **about}, default=str))
        self._models: list[dict[str, str]] = []
        self._before = self._opened()
        self._check(self._before.get("about", self._about), self._about)
        self._threads = _threads(self._before.get("threads"))
        if not self._before:
            self._note()

    def model(self, model: Model) -> None:
        """Note that the run uses this model; OptionError where the checkpoint has another one in its place."""
        self.engine.model(model)
        facts = {
            "model": model.name,
            "weights": model.weights_hash,
            "device": model.device.type,
            "dtype": str(model.dtype).removeprefix("torch."),
        }
        before = self._before.get("models", [])[len(self._models) :][:1]
        for known in before:
            self._check(known, facts)
        self._models.append(facts)
        if not before:
            self._note()

    def _note(self) -> None:
        """Write down what the checkpoint is of."""
        self._before = {"about": self._about, "threads": self._threads, "models": list(self._models)}
        _write(self.folder / ABOUT, json.dumps(self._before, indent=2).encode())

    def run(
        self, parts: Iterable[Shard[T]], job: Job[T, B, S], accept: Accept[T, S], told: Told[B], *, keep: bool
    ) -> None:
        """Accept what is kept, and have all else counted and kept."""
        if not keep:
            self.engine.run(parts, job, accept, told, keep=False)
            return
        kept = _Pass(self.folder / f"pass-{self._passes:04d}", self._digest(job))
        self._passes += 1

        def missing() -> Iterator[Shard[T]]:
            for shard in parts:
                state = kept.get(shard, job.nothing)
                if state is None:
                    yield shard
                else:
                    self.kept += 1
                    accept(shard, state)

        def counted(shard: Shard[T], state: S) -> None:
            kept.put(shard, state)
            self.kept += 1
            accept(shard, state)

        self.engine.run(missing(), job, counted, told, keep=True)

    def _digest(self, job: Job[Any, Any, Any]) -> str:
        said = json.dumps([_FORMAT, self._about, self._models, kind_of(job.nothing)], sort_keys=True)
        return sha256(said.encode()).hexdigest()

    def _opened(self) -> dict[str, Any]:
        """What is said of the run that the folder is of; nothing for a new one."""
        file = self.folder / ABOUT
        if not file.exists():
            return {}
        try:
            before: dict[str, Any] = json.loads(file.read_bytes())
            if not isinstance(before["about"], dict) or not isinstance(before["models"], list):
                raise TypeError("it is not of that form")
        except (ValueError, KeyError, TypeError, OSError) as error:
            _warn(f"{file} is damaged ({error}) and is written anew; each shard is checked by itself")
            return {}
        return before

    def _check(self, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
        for name in dict.fromkeys([*before, *now]):
            if before.get(name) != now.get(name):
                raise OptionError(
                    f"--checkpoint {self.folder} is of another run: its {name} is {_shown(before.get(name))}, here it "
                    f"is {_shown(now.get(name))}; run the command as it was, or name another folder"
                )


class _Pass:
    """The shards of one pass that are kept."""

    def __init__(self, folder: Path, digest: str) -> None:
        self.folder = folder
        self.digest = digest
        folder.mkdir(exist_ok=True)
        self._names: dict[str, str] = {}  # by place
        for path in folder.iterdir():
            if path.name.endswith(PARTIAL):
                path.unlink()  # of a run that was killed while it wrote
            else:
                self._names[path.name.partition("-")[0]] = path.name

    def get(self, shard: Shard[Any], nothing: S) -> S | None:
        """What was counted of a shard; None where that is not known."""
        name = self._names.get(shard.id.partition("-")[0])
        if name is None:
            return None
        path = self.folder / name
        if name != shard.id + ENDING:
            raise OptionError(
                f"--checkpoint {self.folder.parent} was made with other texts: those of {path.name} have changed; name "
                "another folder"
            )
        try:
            head, _, data = path.read_bytes().partition(b"\n")
            about = json.loads(head)
            if about != _head(self.digest, shard.id, data):
                whole = len(data) == about["bytes"] and sha256(data).hexdigest() == about["sha256"]
                raise StateError("it is of another run" if whole else "it is damaged or cut off")
            return load_state(data, nothing.empty())
        except (StateError, ValueError, KeyError, TypeError, OSError) as error:
            why = str(error) if isinstance(error, StateError) else f"it is no shard of a checkpoint: {error}"
            _warn(f"{path} cannot be used ({why}); the shard is counted again")
            return None

    def put(self, shard: Shard[Any], state: object) -> None:
        """Keep what was counted of a shard."""
        data = dump_state(state)
        head = json.dumps(_head(self.digest, shard.id, data)).encode()
        _write(self.folder / (shard.id + ENDING), head + b"\n" + data)


def _head(digest: str, name: str, data: bytes) -> dict[str, object]:
    return {"run": digest, "shard": name, "bytes": len(data), "sha256": sha256(data).hexdigest()}


def _write(path: Path, data: bytes) -> None:
    """The file is there whole or not at all, whatever happens on the way."""
    partial = path.with_name(path.name + PARTIAL)
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OutputError(
            f"{path}: the checkpoint cannot be written ({error.strerror}); free some disk, or name another folder"
        ) from error


def _versions() -> dict[str, object]:
    """What decides the last bits of a number, beside the number of threads."""
    versions: dict[str, object] = {f"version of {name}": version_of(name) for name in _PACKAGES}
    return {**versions, "use of compiled loops (numba)": is_compiled()}


def _threads(before: object) -> int:
    """How many threads a CPU's sums are cut into, as that can change their last bits: as many as before."""
    if isinstance(before, int) and before > 0:
        torch.set_num_threads(before)
    return torch.get_num_threads()


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _warn(text: str) -> None:
    warnings.warn(text, HeadscopeWarning, stacklevel=4)


@contextmanager
def checkpoint(folder: str | os.PathLike[str], **about: object) -> Iterator[Checkpoint]:
    """Inside, every shard that is counted is kept in the folder, and those that are kept are not counted again.

        with hs.checkpoint("work", model="demo", text="corpus.txt") as kept:
            kept.model(model)
            hs.analyze(model, corpus)

    `about` is all that tells this run from others: whatever of it changes, the folder is refused. The models that are
    used are told by `Checkpoint.model`. The calls inside must be the same each time.
    """
    with _alone_in(Path(folder)):
        kept = Checkpoint(folder, about, current_engine())
        with running_on(kept):
            yield kept


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Make the folder and hold its lock; OptionError where another run does, or something else is in it."""
    file = folder / ABOUT
    with ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            names = {path.name for path in folder.iterdir()}
            if file.name not in names and names - {f"{ABOUT}{PARTIAL}", lock_file(file).name}:
                raise OptionError(
                    f"--checkpoint {folder}: the folder is not empty and holds no checkpoint; name a new folder"
                )
            held.enter_context(lock(file, patience=0))
        except TimeoutError as error:
            raise OptionError(
                f"--checkpoint {folder}: another run is at work in this folder; wait until it has ended, or name "
                "another folder"
            ) from error
        except OSError as error:
            raise OptionError(
                f"--checkpoint {folder}: the folder cannot be made, read or written ({error.strerror})"
            ) from error
        yield
