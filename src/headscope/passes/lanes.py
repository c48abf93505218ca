"""Batches through a model side by side: as many as there are cores, each in a thread of its own that has one core.

Cores that share the products of one batch wait for each other at the end of each; cores that have a batch each do not.
And what one core makes of a batch does not depend on how many others there are, bit for bit.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from itertools import chain, islice
from queue import SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")
Lane = Callable[[], AbstractContextManager[Callable[[T], R]]]
"""Makes what does the work of one lane, before any lane runs; it is entered in the lane's thread."""


def in_lanes(things: Iterable[T], lane: Lane[T, R]) -> Iterator[tuple[T, R]]:
    """Each thing with what a lane makes of it, in order; as many at once as torch has threads.

    Fewer things than threads share the threads among them. An error is raised in its thing's place and ends all lanes.
    """
    threads = torch.get_num_threads()
    stream = iter(things)
    first = list(islice(stream, threads))
    if len(first) < 2:
        with lane() as work:
            for thing in chain(first, stream):
                yield thing, work(thing)
        return
    lanes = _Lanes(lane, len(first))
    ahead: deque[tuple[T, Future[R]]] = deque()
    with _threads_each(threads // len(first)), lanes:
        for thing in chain(first, stream):
            ahead.append((thing, lanes.give(thing)))
            if len(ahead) > len(first):  # one more than is worked on, so that no lane stands still
                done, future = ahead.popleft()
                yield done, future.result()
        for done, future in ahead:
            yield done, future.result()


class _Lanes(Generic[T, R]):
    """Threads that work until nobody gives them anything any more."""

    def __init__(self, lane: Lane[T, R], count: int) -> None:
        self._given: SimpleQueue[tuple[T, Future[R]] | None] = SimpleQueue()
        self._failures: list[BaseException] = []
        self._wanted = True
        self._threads = [
            Thread(target=copy_context().run, args=(self._run, lane()), name="headscope lane", daemon=True)
            for _ in range(count)
        ]

    def give(self, thing: T) -> "Future[R]":
        """Have a thing worked on."""
        future: Future[R] = Future()
        self._given.put((thing, future))
        return future

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        """Wait for the threads; after an error, for what they are at. What closing a lane raises is raised here."""
        self._wanted = kind is None
        self._given.put(None)
        for thread in self._threads:
            thread.join()
        if kind is None and self._failures:
            raise self._failures[0]

    def _run(self, lane: AbstractContextManager[Callable[[T], R]]) -> None:
        """What goes on in a thread."""
        try:
            with lane as work:
                self._work(work)
        except BaseException as error:
            self._failures.append(error)
            self._work(None)

    def _work(self, work: Callable[[T], R] | None) -> None:
        """Work on what is given until nobody gives more; without `work`, since its lane is broken, fail."""
        while (entry := self._given.get()) is not None:
            thing, future = entry
            if not self._wanted:
                continue
            try:
                if work is None:
                    raise self._failures[0]
                future.set_result(work(thing))
            except BaseException as error:
                future.set_exception(error)
        self._given.put(None)  # for the other threads


@contextmanager
def _threads_each(count: int) -> Iterator[None]:
    """Inside, torch's own work is shared by so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
