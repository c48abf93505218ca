"""The one way that texts go through a model: shards in, each counted apart, and states that can be merged out.

The texts are cut into shards by their number alone. A shard is counted in a state of its own, and states are merged in
a fixed binary tree by the shards' places: who counted a shard, when, and how often, changes no bit of the result.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import islice
from typing import Any, Generic, Protocol, Self, TypeVar

import torch

from headscope.accumulator import Accumulator, Following
from headscope.models import Model
from headscope.passes.lanes import in_lanes
from headscope.passes.merging import MergeTree
from headscope.passes.progress import PassProgress, progress_bar

TEXTS_A_SHARD = 512
"""The fewest texts of a shard that is not the last: what a run that is killed loses at most, on a CPU some seconds."""


class Batch(Protocol):
    """Some texts that go through the model together, and can be cut in two."""

    def __len__(self) -> int:
        """How many texts it holds."""

    def __getitem__(self, part: slice, /) -> Self:
        """Some of them."""


T = TypeVar("T")
B = TypeVar("B", bound=Batch)
S = TypeVar("S", bound=Accumulator)
Count = Callable[[S, B], None]
"""Shows a batch to the model and counts it in a state."""
Lanes = Callable[[], AbstractContextManager[Count[S, B]]]


@dataclass(frozen=True)
class Shard(Generic[T]):
    """A part of the texts. No batch holds texts of two shards, so what is counted in one depends on it alone."""

    place: int
    texts: list[T]

    @cached_property
    def id(self) -> str:
        """The same for the same texts at the same place: the place, and a hash of what the texts say."""
        said = sha256()
        for text in self.texts:
            content = getattr(text, "signature", None) or repr(text)
            said.update(content.encode("utf-8", "surrogatepass") + b"\n")
        return f"{self.place:08d}-{said.hexdigest()[:16]}"


@dataclass(frozen=True)
class Chunks:
    """Groups texts into lists of `window`, in order."""

    window: int

    def __call__(self, texts: Iterable[T]) -> Iterator[list[T]]:
        """The lists, as they are asked for."""
        stream = iter(texts)
        while chunk := list(islice(stream, self.window)):
            yield chunk


def in_chunks(size: int) -> Chunks:
    """What groups texts into lists of `size`, in order."""
    return Chunks(size)


def shards(texts: Iterable[T], size: int) -> Iterator[Shard[T]]:
    """`size` texts a shard, in order."""
    for place, part in enumerate(Chunks(size)(texts)):
        yield Shard(place, part)


def shard_size(batches: Callable[..., Any], least: int | None = None) -> int:
    """How many texts make a shard: whole windows of what is grouped together, so that shards change no batch."""
    window: int = getattr(batches, "window", 1)
    return window * -(-(least or TEXTS_A_SHARD) // window)


@dataclass(frozen=True)
class Job(Generic[T, B, S]):
    """What is done with each shard of a pass. It holds the model, and may travel to another process."""

    nothing: S
    """A state that has counted nothing."""
    count: Count[S, B]
    batches: Callable[[Iterable[T]], Iterable[B]]
    lanes: Lanes[S, B] | None = None
    """Opens ways to count that may be used side by side, each in a thread of its own."""

    def run(self, shard: Shard[T], told: Callable[[B], None] = lambda batch: None) -> S:
        """The state of a shard; `told` of each batch that is done."""
        counted = self.nothing.empty()
        # What runs inside is a part of this shard.
        with (
            running_on(HERE),
            _closed(self.batches(shard.texts)) as stream,
            _closed(self._parts(stream, counted)) as parts,
        ):
            for batch, states in parts:
                for state in states:
                    counted.merge(state)
                told(batch)
        return counted

    def _parts(self, batches: Iterable[B], counted: S) -> Iterator[tuple[B, list[S]]]:
        """Each batch with what was counted of it, in one state or more; they will be merged with what is `counted`."""
        if self.lanes is None:
            for batch in batches:
                yield batch, self._counted(batch, self.count, counted)
            return
        lanes = self.lanes
        yield from in_lanes(batches, lambda: self._lane(lanes(), counted))

    @contextmanager
    def _lane(
        self, opened: AbstractContextManager[Count[S, B]], counted: S
    ) -> Iterator[Callable[[B], list[S]]]:
        with opened as count:
            yield lambda batch: self._counted(batch, count, counted)

    def _counted(self, batch: B, count: Count[S, B], counted: S) -> list[S]:
        """What is counted of a batch: apart, so that one that fails half-way leaves no trace."""
        states: list[S] = []

        def add(some: B) -> None:
            state = self.nothing.empty()
            _know(state, counted)
            count(state, some)
            states.append(state)

        in_halves(batch, add)
        return states


def _know(state: object, counted: Any) -> None:
    if isinstance(state, Following):
        state.after(counted)


Accept = Callable[[Shard[T], S], None]
"""Takes what was counted of a shard."""
Told = Callable[[B], None]
"""Called with a batch when it is counted."""


class Engine(Protocol):
    """Who counts the shards of passes."""

    def model(self, model: Model) -> None:
        """Note that the run uses this model."""

    def run(
        self, parts: Iterable[Shard[T]], job: Job[T, B, S], accept: Accept[T, S], told: Told[B], *, keep: bool
    ) -> None:
        """Have every shard counted, and `accept(shard, state)` each once, in any order.

        `told(batch)` is called for batches that are counted in this process. `keep` says whether what was counted may
        be kept for another run.
        """


class Here:
    """This process counts the shards, one after the other."""

    def model(self, model: Model) -> None:
        """It is here already."""

    def run(
        self, parts: Iterable[Shard[T]], job: Job[T, B, S], accept: Accept[T, S], told: Told[B], *, keep: bool
    ) -> None:
        """Count every shard as it is read."""
        for shard in parts:
            accept(shard, job.run(shard, told))


HERE = Here()
_ENGINE: ContextVar[Engine] = ContextVar("engine", default=HERE)


@contextmanager
def running_on(engine: Engine) -> Iterator[None]:
    """Inside, passes are run by this engine."""
    before = _ENGINE.set(engine)
    try:
        yield
    finally:
        _ENGINE.reset(before)


def current_engine() -> Engine:
    """Who runs passes now."""
    return _ENGINE.get()


def run_pass(
    texts: Iterable[T],
    state: S,
    count: Count[S, B],
    *,
    batches: Callable[[Iterable[T]], Iterable[B]],
    lanes: Lanes[S, B] | None = None,
    fetch: Callable[[Iterator[Shard[T]]], Iterable[Shard[T]]] = lambda parts: parts,
    title: str | None = None,
    expected: Callable[[int], float | None] = lambda done: None,
    tokens: Callable[[B], int] = lambda batch: 0,
    units: Callable[[T], int] = lambda text: 1,
    least: int | None = None,
    keep: bool = True,
) -> S:
    """Fill the state: `count(part, batch)` shows a batch to the model and counts it in an empty state.

    `lanes` opens ways to do the same that may be used side by side (see `in_lanes`).
    `batches` groups the texts of a shard, which has at least so many, unless it is the last; by default TEXTS_A_SHARD.
    `keep`: see `Engine`. `fetch` may read shards ahead. A bar of that `title` shows how many texts are done (an entry
    of `texts` stands for `units` of them), out of as many as are `expected(done)`, and how many `tokens(batch)` a
    second; None shows none. Gives the state back.
    """
    tree: MergeTree[S] = MergeTree()
    job = Job(state.empty(), count, batches, lanes)
    with progress_bar(title) as tell:
        progress = PassProgress(tell, expected)

        def accept(shard: Shard[T], part: S) -> None:
            tree.add(shard.place, part)
            progress.shard(sum(map(units, shard.texts)))

        def told(batch: B) -> None:
            progress.batch(len(batch), tokens(batch))

        with progress.ticking(), _closed(fetch(shards(texts, shard_size(batches, least)))) as parts:
            current_engine().run(parts, job, accept, told, keep=keep)
    if (merged := tree.root()) is not None:
        state.merge(merged)
    return state


@contextmanager
def _closed(things: Iterable[T]) -> Iterator[Iterable[T]]:
    """The things, which are told when nobody wants more: a thread that makes them ends, and files are closed."""
    try:
        yield things
    finally:
        if isinstance(things, Generator):
            things.close()


def in_halves(batch: B, add: Callable[[B], None]) -> None:
    """`add(batch)`; where memory runs short, in two halves. `add` must leave no trace when it fails."""
    try:
        add(batch)
        return
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if len(batch) == 1 or not is_out_of_memory(error):
            raise
    # Outside the except clause, whose traceback would keep the failed batch's maps alive.
    torch.cuda.empty_cache()
    half = len(batch) // 2
    in_halves(batch[:half], add)
    in_halves(batch[half:], add)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether it says that memory ran out; torch's allocator for the CPU raises a bare RuntimeError."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "allocate memory" in str(error)
