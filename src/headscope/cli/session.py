"""One run of a command: load, check, run, write, print. Every command goes through here."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import headscope as hs
from headscope.cli.console import envelope, only_own_notes, print_json, status
from headscope.cli.failures import InterruptedByUserError
from headscope.cli.options import Common
from headscope.errors import OptionError
from headscope.passes.cluster import cluster

if TYPE_CHECKING:
    from headscope.cli.page import Page
    from headscope.passes.run_pass import Engine
    from headscope.probes.result import ProbeResult
    from headscope.tasks import Task

ATLAS, REPORT, PICTURE, MARKDOWN = "an atlas", "a page", "a picture", "a page that headscope wrote"
_STARTS = {
    ATLAS: (b"\x89HDF\r\n\x1a\n",),
    REPORT: (b"<!doctype html",),
    MARKDOWN: (b"# published figures and ours",),
    PICTURE: (b"<?xml", b"<svg", b"%PDF", b"\x89PNG"),
}

NOT_COUNTED = ("output", "full", "quiet", "json", "debug", "checkpoint", "ray", "workers")
"""The options that change no number."""
HASHED_BYTES = 1 << 24
"""How much of a file is looked at, at its beginning and at its end, to tell it from another of its name."""

R = TypeVar("R")


@dataclass(frozen=True)
class Session:
    """What a command asks of its surroundings while it runs."""

    common: Common
    output: Path | None
    existing: "hs.Atlas | None"
    """The atlas that is at -o already and will be added to."""
    notes: list[str]
    """What the user should know about the result; headscope's warnings are added as they come."""
    engine: "Engine | None" = None
    """Who counts the parts of the run, with --checkpoint or --ray."""

    def load(self, name: str, *, own: bool = True) -> "hs.Model":
        """The model; unless the result is of another one (`own`), an error where the atlas at -o is not of it."""
        model = self.common.load(name)
        if own and self.existing is not None:
            self.existing.check_model(model.name, model.weights_hash)
        if self.engine is not None:
            self.engine.model(model)
        # Loads torch, which --help does without.
        from headscope.trace.watch import start_note

        if note := start_note(model):
            self.notes.append(note)
        if model.unseen:
            self.notes.append(model.unseen)
        return model

    def load_task(
        self, model: str, task: str, data: Iterable[Path], *, max_length: int | None, stride: int | None
    ) -> tuple["hs.Model", "Task"]:
        """The model with the head that a task needs, and the task on these files."""
        if stride is not None and task != "qa":
            raise OptionError(f"--stride is for --task qa; {task} has no windows")
        # Loads torch and transformers, which --help does without.
        from headscope.tasks import TASKS

        loaded = self.load(model)
        headed = hs.with_head(loaded, TASKS.get(task).head, allow_pickle=self.common.allow_pickle)
        options = {"max_length": max_length, "stride": stride}
        chosen = {name: value for name, value in options.items() if value is not None}
        return headed, hs.task_for(task, list(data), headed, **chosen)

    def status(self, text: str) -> AbstractContextManager[None]:
        """A line on the terminal while something without a bar goes on."""
        return status(text, shown=self.common.shown)

    def keep(self, result: "ProbeResult") -> None:
        """Write the result to -o, into the atlas that is there; and its notes for the user."""
        if self.output is not None:
            # Loads numpy, which --help does without.
            from headscope.atlas import update

            update(self.output, result.to_atlas)
        self.notes.extend(result.source.notes)

    def tell(
        self,
        result: R,
        facts: Callable[[R], Mapping[str, Any]],
        show: Callable[["Page", R], None],
        *,
        then: str | None = "report",
        ending: Iterable[str] = (),
    ) -> None:
        """The result, as one JSON object of its facts or as text, which ends with what to type next.

        `then` is the command that reads what was written, and `ending` what else comes last.
        """
        if self.common.json:
            print_json(envelope(self.common.command, facts(result), output=self.output, notes=self.notes))
        elif self.common.shown:
            # Loads Rich, which --help does without.
            from headscope.cli.page import Page

            page = Page(full=self.common.full)
            show(page, result)
            page.finish(self.notes, [*ending, *self._kept(then)])

    def _kept(self, then: str | None) -> Iterator[str]:
        """Where the result is and what reads it, or how to keep it."""
        if then is None:
            return
        if self.output is not None:
            done = "written to" if self.existing is None else "added to"
            command, *rest = then.split()
            words = " ".join([command, str(self.output), *rest])
            yield f"{done} {self.output}; next: headscope {words}"
        elif "output" in self.common.context.params:
            yield "Nothing was kept: add -o atlas.nc to keep the result in an atlas."


@contextmanager
def session(
    common: Common,
    output: Path | None = None,
    *,
    inputs: Iterable[Path] = (),
    kind: str = ATLAS,
    replaces: bool = False,
    checks: bool = True,
) -> Iterator[Session]:
    """Check -o before anything slow begins; inside, headscope's warnings become notes, and others' are hidden.

    Unless it `replaces` what is there, a command adds to an atlas that is at -o. `checks` is off where nobody gave -o.
    """
    if output is not None and checks:
        check_output(output, option="-o", kind=kind, inputs=inputs)
    with only_own_notes(debug=common.debug) as notes, _engine(common) as engine:
        existing = existing_atlas(output) if kind == ATLAS and not replaces else None
        yield Session(common, output, existing, notes, engine)


@contextmanager
def _engine(common: Common) -> "Iterator[Engine | None]":
    """Inside, parts of the run are kept, or counted by others, where that was asked for."""
    if common.workers is not None and common.ray is None:
        raise OptionError(f"--workers {common.workers} is for --ray, which says where they run; add --ray")
    if common.checkpoint is None and common.ray is None:
        yield None
        return
    with ExitStack() as stack:
        engine: Engine | None = None
        if common.ray is not None:
            engine = stack.enter_context(cluster(common.ray, workers=common.workers or 1))
        if common.checkpoint is None:
            yield engine
            return
        # Loads torch, which --help does without, and a cluster need not wait for.
        from headscope.passes.checkpoint import checkpoint

        given = {name: value for name, value in common.context.params.items() if name not in NOT_COUNTED}
        told = _told_apart({"command": common.command, **given})
        kept = stack.enter_context(checkpoint(common.checkpoint, **told))
        try:
            yield kept
        except KeyboardInterrupt as interrupt:
            raise InterruptedByUserError(
                f"interrupted; {kept.kept} finished shards are in {common.checkpoint}: the same command goes on from "
                "there"
            ) from interrupt


def _told_apart(given: Mapping[str, Any]) -> dict[str, object]:
    """The options as a checkpoint tells runs apart; files by what is in them, too."""
    return {
        name: [_content(word) for word in value] if isinstance(value, list | tuple) else _content(value)
        for name, value in given.items()
        if value is not None
    }


def _content(word: object) -> object:
    """The option's value; of a file its name, and a hash of its size, beginning and end."""
    if not isinstance(word, Path) or not word.is_file():
        return word if isinstance(word, bool | int | float) else str(word)
    size = word.stat().st_size
    said = sha256(str(size).encode())
    with word.open("rb") as file:
        said.update(file.read(HASHED_BYTES))
        file.seek(max(0, size - HASHED_BYTES))
        said.update(file.read())
    return f"{word} ({said.hexdigest()[:12]})"


def existing_atlas(path: Path | None) -> "hs.Atlas | None":
    """The atlas that is at -o already; None where there is none, or an empty file."""
    if path is None or not path.is_file() or not path.stat().st_size:
        return None
    return hs.open(path)


def check_output(path: Path, *, option: str, kind: str, inputs: Iterable[Path]) -> None:
    """Refuse a place that cannot be written, before anything slow begins.

    Folders are not made: a mistyped path would be hidden by it.
    """
    if path.is_dir():
        raise OptionError(f"{option} {path} is a folder; give the name of a file in it")
    if not path.parent.is_dir():
        raise OptionError(
            f"{option} {path}: there is no folder {path.parent}; make it with: mkdir -p {path.parent}"
        )
    for given in inputs:
        if path.exists() and given.exists() and path.samefile(given):
            raise OptionError(
                f"{option} {path} is one of the inputs and would be overwritten; choose another name"
            )
    if path.is_file() and not _may_replace(path, kind):
        raise OptionError(
            f"{option} {path} already exists and is not {kind}; choose another name, or remove it first"
        )
    # Loads numpy and h5py, which is too slow to do before the checks above.
    from headscope.atlas import check_writable

    check_writable(path)


def _may_replace(path: Path, kind: str) -> bool:
    """Whether what is there is empty, or of the kind that would replace it."""
    with path.open("rb") as file:
        start = file.read(max(map(len, _STARTS[kind]))).lower()
    return not start or any(start.startswith(known.lower()) for known in _STARTS[kind])
