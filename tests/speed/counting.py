"""Counts what a run costs without a clock: calls of headscope's functions, torch operations, kernel launches.

The counts are exact and repeatable: one thread of torch, fixed texts, and only differences between runs, so that what
a run does once (loading, the architecture check, kernel verification) cancels out.
"""

import gc
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, Literal

import pytest
import torch
from tests.helpers.tiny import tinier
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

import headscope as hs
from headscope.models import Model

Backend = Literal["numba", "triton", "reference"]
BACKENDS: tuple[Backend, ...] = ("numba", "triton", "reference")

TEXTS_A_BATCH = 2
PAIRS = [
    ("The cat sat on the mat, and the dog saw it.", "It was red."),
    ("A dog sat in the house, and a cat saw it.", "It was blue."),
    ("The dog saw the cat, and a mat was in it.", "It was the."),
    ("The red house was the dog, and it sat on.", "A cat saw."),
]
"""Two batches of texts of about the same length."""

INLINED = frozenset(("<listcomp>", "<setcomp>", "<dictcomp>"))
"""Functions up to Python 3.11, but no longer from 3.12 on: not counted."""

Counts = Counter[str]


def is_own(frame: FrameType) -> bool:
    """Whether a frame is of a function of headscope, those that dataclasses generate included."""
    module = str(frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] == "headscope" and frame.f_code.co_name not in INLINED


class CallCounter:
    """A profile function: counts calls into headscope, by thread. Every time a generator goes on counts as a call.

    Calls of C functions are not counted, since torch operations are.
    """

    def __init__(self) -> None:
        self.by_thread: Counter[int] = Counter()  # no two threads add to the same number

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and is_own(frame):
            self.by_thread[threading.get_ident()] += 1

    def counts(self) -> Counts:
        """The calls in the thread that asks, which runs the model, and in those that read."""
        here = self.by_thread[threading.get_ident()]
        return Counter(calls=here, reading_calls=self.by_thread.total() - here)


class OperationCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's, which has no types
    """Counts the operations that torch dispatches in this thread, those of the model itself included."""

    def __init__(self, counts: Counts) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # likewise
        self.counts = counts

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = str(func)
        self.counts["operations"] += 1
        self.counts["softmaxes"] += "softmax" in name or "scaled_dot_product" in name
        return func(*args, **(kwargs or {}))


@contextmanager
def launches_counted(counts: Counts) -> Iterator[None]:
    """Inside, launches of kernels that Triton interprets are counted, and nothing that goes on in them.

    On a GPU that is no Python and no torch.
    """
    try:
        from triton.runtime.interpreter import GridExecutor
    except ImportError:
        yield
        return
    interpret = GridExecutor.__call__

    def launch(executor: Any, *arguments: Any, **options: Any) -> None:
        counts["launches"] += 1
        profile = sys.getprofile()
        sys.setprofile(None)
        try:
            with _disable_current_modes():
                interpret(executor, *arguments, **options)
        finally:
            sys.setprofile(profile)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GridExecutor, "__call__", launch)
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, torch has one thread, so that lanes work in the thread of their caller."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def profiled_by(profile: Callable[[FrameType, str, Any], None]) -> Iterator[None]:
    """Inside, calls in this thread, and in threads that start, are shown to a profile function; nothing is collected.

    What collecting garbage calls would be counted by chance.
    """
    before, before_of_threads = sys.getprofile(), threading.getprofile()
    gc.collect()
    gc.disable()
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(before)
        threading.setprofile(before_of_threads)
        gc.enable()


def counted(work: Callable[[], object]) -> Counts:
    """What some work costs."""
    counts: Counts = Counter()
    calls = CallCounter()
    with one_thread(), launches_counted(counts), OperationCounter(counts), profiled_by(calls):
        work()
    return counts + calls.counts()


def run(model: Model, batches: int, *, kernels: bool = True) -> hs.Atlas:
    """`hs.analyze` with all its defaults, but with so many batches, and no text quoted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hs.analyze(
            model,
            PAIRS[: TEXTS_A_BATCH * batches],
            max_length=48,
            batch_size=TEXTS_A_BATCH,
            sentences=0,
            kernels=kernels,
        )


def per_batch(model: Model, *, kernels: bool = True) -> Counts:
    """What a run of two batches costs more than a run of one."""
    more, less = (counted(partial(run, model, batches, kernels=kernels)) for batches in (2, 1))
    more.subtract(less)
    return more


def softmaxes(model: Model) -> int:
    """How often torch computes a softmax for one batch of the default run: 0 where kernels compute all attention."""
    counts: list[Counts] = []
    for batches in (2, 1):
        counts.append(Counter())
        with one_thread(), OperationCounter(counts[-1]):
            run(model, batches)
    return counts[0]["softmaxes"] - counts[1]["softmaxes"]


@contextmanager
def backend_used(backend: Backend) -> Iterator[None]:
    """Inside, attention is computed by this backend; that of GPUs is interpreted on the CPU."""
    with pytest.MonkeyPatch.context() as patch:
        if backend == "triton":
            from headscope.kernels.triton.stack import TritonStack

            patch.setattr("headscope.kernels.stack_for", lambda device: TritonStack)
        yield


def cost(backend: Backend) -> dict[str, int]:
    """What one layer costs on one batch, and what a batch costs beside its layers."""
    one, two = tinier("bert", 1), tinier("bert", 2)
    kernels = backend != "reference"
    with backend_used(backend):
        for model in (one, two):
            run(model, 2, kernels=kernels)  # compiles, and fills caches
        of_one, of_two = (per_batch(model, kernels=kernels) for model in (one, two))
    names = ["calls", "operations", *(["launches"] if backend == "triton" else [])]
    layer = {f"{name}_per_layer": of_two[name] - of_one[name] for name in names}
    batch = {f"{name}_per_batch": of_one[name] - layer[f"{name}_per_layer"] for name in names}
    return {**layer, **batch, "reading_calls_per_batch": of_two["reading_calls"]}
