"""The functions of headscope that are on the stack between the command `analyze` and what it calls deep inside.

One thread of torch, so that batches are counted in the thread of the command and no thread cuts the stack.
"""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import CO_NESTED
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

from tests.helpers.tiny import saved, tinier
from tests.speed.counting import PAIRS, is_own, one_thread, profiled_by

from headscope.cli import main
from headscope.measures import MEASURES


@dataclass(frozen=True)
class Step:
    """A function on the stack."""

    module: str
    function: str
    line: int
    is_nested: bool
    """Whether it is a closure, a lambda, a wrapper or another function that is made inside a function."""

    @classmethod
    def of(cls, frame: FrameType) -> "Step":
        """What a frame runs."""
        code = frame.f_code
        nested = bool(code.co_flags & CO_NESTED)
        return cls(frame.f_globals["__name__"], code.co_qualname, code.co_firstlineno, nested)


@dataclass(frozen=True)
class CallPath:
    """What is on the stack, the command's entry first."""

    steps: tuple[Step, ...]

    @property
    def modules(self) -> list[str]:
        """The modules on the way, in the order in which they are entered."""
        return list(dict.fromkeys(step.module for step in self.steps))

    def numbers(self) -> dict[str, int]:
        """What is recorded of it."""
        nested = sum(step.is_nested for step in self.steps)
        return {"frames": len(self.steps), "nested": nested, "modules": len(self.modules)}

    def __str__(self) -> str:
        width = len(str(len(self.steps)))
        lines = [
            f"{number:{width}} {step.module.removeprefix('headscope.')}:{step.line} {step.function}"
            + ("   (nested)" if step.is_nested else "")
            for number, step in enumerate(self.steps, 1)
        ]
        own = ", ".join(module.removeprefix("headscope.") for module in self.modules)
        counts = self.numbers()
        lines.append(
            f"{counts['frames']} functions of headscope, {counts['nested']} of them nested, "
            f"in {counts['modules']} modules: {own}"
        )
        return "\n".join(lines)


class Recorder:
    """A profile function that keeps the longest paths from `entry` to any `Measure.update`, and to the kernel.

    The kernel is where headscope itself multiplies queries and keys (`torch.bmm`).
    """

    def __init__(self, entry: CodeType) -> None:
        self.entry = entry
        self.updates = {MEASURES.get(name).update.__code__ for name in MEASURES.names()}
        self.to_update = CallPath(())
        self.to_kernel = CallPath(())

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code in self.updates:
            self.to_update = max(self.to_update, self._path(frame), key=_length)
        elif event == "c_call" and getattr(argument, "__name__", "") == "bmm" and is_own(frame):
            self.to_kernel = max(self.to_kernel, self._path(frame), key=_length)

    def _path(self, frame: FrameType | None) -> CallPath:
        """The stack from the entry to this frame; empty where it does not begin there."""
        steps: list[Step] = []
        while frame is not None:
            if is_own(frame):
                steps.append(Step.of(frame))
            if frame.f_code is self.entry:
                return CallPath(tuple(reversed(steps)))
            frame = frame.f_back
        return CallPath(())


def _length(path: CallPath) -> int:
    return len(path.steps)


def recorded(run: Callable[[], object], words: Sequence[str]) -> Recorder:
    """The paths of a command."""
    recorder = Recorder(run.__code__)
    environment, arguments = patch.dict(os.environ), patch.object(sys, "argv", ["headscope", *words])
    with environment, arguments, one_thread(), profiled_by(recorder):
        try:
            run()
        except SystemExit as done:
            if done.code:
                raise
    return recorder


@cache
def of_analyze(*options: str) -> Recorder:
    """The paths of `headscope analyze`, with its defaults and some options."""
    with TemporaryDirectory() as folder:
        model = saved(tinier("bert"), Path(folder) / "model")
        corpus = Path(folder) / "corpus.txt"
        corpus.write_text("\n\n".join(first for first, _ in PAIRS), encoding="utf-8")
        words = ["analyze", str(model), "--text", str(corpus), "-o", str(Path(folder) / "out.nc"), "--quiet"]
        return recorded(main.run, [*words, "--max-length", "48", "--sentences", "0", *options])
