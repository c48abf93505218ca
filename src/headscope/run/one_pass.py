"""The one way that texts go through a model: shards in, each counted apart, and a state that can be merged out."""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Generic, Protocol, Self, TypeVar

import torch

from headscope.accumulator import Accumulator
from headscope.run.progress import RunProgress, progress_bar


class Batch(Protocol):
    """Some texts that go through the model together, and can be cut in two."""

    def __len__(self) -> int:
        """How many texts it holds."""

    def __getitem__(self, part: slice, /) -> Self:
        """Some of them."""


T = TypeVar("T")
B = TypeVar("B", bound=Batch)
S = TypeVar("S", bound=Accumulator)


@dataclass(frozen=True)
class Shard(Generic[T]):
    """A part of the texts. No batch holds texts of two shards, so what is counted in one depends on it alone."""

    id: str
    """The same for the same texts at the same place."""
    texts: Iterable[T]


def whole(texts: Iterable[T]) -> list[Shard[T]]:
    """All texts as one shard, read as they come."""
    return [Shard("all", texts)]


def in_chunks(size: int) -> Callable[[Iterable[T]], Iterator[list[T]]]:
    """What groups texts into lists of `size`, in order."""

    def chunks(texts: Iterable[T]) -> Iterator[list[T]]:
        stream = iter(texts)
        while chunk := list(islice(stream, size)):
            yield chunk

    return chunks


def shards(texts: Iterable[T], size: int, content: Callable[[T], str]) -> Iterator[Shard[T]]:
    """`size` texts a shard, in order; the id is the shard's place and a hash of its texts' `content`."""
    for place, part in enumerate(in_chunks(size)(texts)):
        said = sha256()
        for text in part:
            said.update(content(text).encode("utf-8", "surrogatepass") + b"\n")
        yield Shard(f"{place:08d}-{said.hexdigest()[:16]}", part)


def run_pass(
    parts: Iterable[Shard[T]],
    state: S,
    count: Callable[[S, B], None],
    *,
    batches: Callable[[Iterable[T]], Iterable[B]],
    title: str | None = None,
    expected: Callable[[int], float | None] = lambda done: None,
    tokens: Callable[[B], int] = lambda batch: 0,
) -> S:
    """Fill the state: `count(part, batch)` shows a batch to the model and counts it in an empty state.

    `batches` groups the texts of a shard. A bar of that `title` shows how many texts are done, out of as many as are
    `expected(done)`, and how many `tokens(batch)` a second; None shows none. Gives the state back.
    """
    done = read = 0
    with progress_bar(title) as tell:
        for shard in parts:
            counted = state.empty()
            with _closed(batches(shard.texts)) as stream:
                for batch in stream:
                    in_halves(batch, lambda some: _count(some, counted, count))  # noqa: B023  (called at once)
                    done, read = done + len(batch), read + tokens(batch)
                    tell(RunProgress(done, expected(done), read))
            state.merge(counted)
    return state


@contextmanager
def _closed(batches: Iterable[B]) -> Iterator[Iterable[B]]:
    """The batches, which are told when nobody wants more: a thread that makes them ends, and files are closed."""
    try:
        yield batches
    finally:
        if isinstance(batches, Generator):
            batches.close()


def in_halves(batch: B, add: Callable[[B], None]) -> None:
    """`add(batch)`; on an accelerator short of memory, in two halves. `add` must leave no trace when it fails."""
    try:
        add(batch)
        return
    except torch.OutOfMemoryError:
        if len(batch) == 1:
            raise
    # Outside the except clause, whose traceback would keep the failed batch's maps alive.
    torch.cuda.empty_cache()
    half = len(batch) // 2
    in_halves(batch[:half], add)
    in_halves(batch[half:], add)


def _count(batch: B, state: S, count: Callable[[S, B], None]) -> None:
    """A batch is counted apart and merged when it is whole, so that one that fails half-way leaves no trace."""
    part = state.empty()
    count(part, batch)
    state.merge(part)
