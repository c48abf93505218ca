"""The one pass: every text is counted once, whatever the batches, the shards and the memory."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import Any

import pytest
import torch

from headscope.accumulator import Sums
from headscope.passes import run_pass as one_pass
from headscope.passes.merging import MergeTree
from headscope.passes.progress import Tell
from headscope.passes.run_pass import HERE, TEXTS_A_SHARD, Chunks, run_pass, running_on, shard_size, shards

TEXTS = [f"the cat saw {number} dogs, and the red mat was on it." for number in range(11)]


@dataclass
class Seen(Sums):
    texts: list[int] = field(default_factory=list)
    total: int = 0


def in_threes(texts: Iterable[int]) -> Iterator[list[int]]:
    stream = iter(texts)
    while batch := list(islice(stream, 3)):
        yield batch


def count(part: Seen, batch: list[int]) -> None:
    assert not part.texts  # each batch is counted in an empty state
    part.texts += batch
    part.total += sum(batch)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 10, 99])
def test_every_text_is_counted_once_and_in_order(size: int) -> None:
    batches: list[list[int]] = []

    def noted(part: Seen, batch: list[int]) -> None:
        batches.append(batch)
        count(part, batch)

    state = Seen()
    found = run_pass(range(10), state, noted, batches=in_threes, least=size)
    assert found is state
    assert found.texts == list(range(10))
    assert found.total == 45
    assert all(batch[0] // size == batch[-1] // size for batch in batches)  # none crosses shards


def test_a_stream_is_read_one_shard_at_a_time() -> None:
    read = 0

    def stream() -> Iterator[int]:
        nonlocal read
        for number in range(30):
            read += 1
            yield number

    ahead: list[int] = []

    def expected(done: int) -> None:
        ahead.append(read - done)

    run_pass(stream(), Seen(), count, batches=in_threes, expected=expected, least=6)
    assert max(ahead) == 3


def test_how_far_it_is_is_told_after_each_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str | None, int, float | None]] = []

    @contextmanager
    def bar(title: str | None) -> Iterator[Tell]:
        yield lambda progress: told.append((title, progress.texts, progress.expected))

    monkeypatch.setattr(one_pass, "progress_bar", bar)
    run_pass(range(7), Seen(), count, batches=in_threes, title="x", expected=lambda done: 9, least=4)
    assert told == [("x", 3, 9), ("x", 4, 9), ("x", 7, 9)]


def test_tokens_are_counted_by_whoever_knows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    @contextmanager
    def bar(title: str | None) -> Iterator[Tell]:
        yield lambda progress: read.append(progress.tokens)

    monkeypatch.setattr(one_pass, "progress_bar", bar)
    run_pass(range(7), Seen(), count, batches=in_threes, title="x", tokens=sum)
    assert read == [3, 15, 21]


def test_nothing_to_count() -> None:
    assert run_pass([], Seen(), count, batches=in_threes).texts == []


def test_too_large_a_batch_is_halved_and_its_first_try_leaves_no_trace() -> None:
    def scarce(part: Seen, batch: list[int]) -> None:
        count(part, batch)
        if len(batch) > 1:
            raise torch.OutOfMemoryError("out of memory")

    found = run_pass(range(10), Seen(), scarce, batches=in_threes, least=4)
    assert (found.texts, found.total) == (list(range(10)), 45)


def test_a_failure_leaves_the_state_as_it_was() -> None:
    def failing(part: Seen, batch: list[int]) -> None:
        count(part, batch)
        if 7 in batch:
            raise ValueError("no")

    state = Seen()
    with pytest.raises(ValueError, match="no"):
        run_pass(range(10), state, failing, batches=in_threes, least=4)
    assert state.texts == []


# Shards


def ids(texts: Iterable[str], size: int = 2) -> list[str]:
    return [shard.id for shard in shards(texts, size)]


def test_a_shard_is_known_by_its_place_and_its_texts() -> None:
    first = ids("abcde")
    assert first == ids(iter("abcde"))
    assert [name.split("-")[0] for name in first] == ["00000000", "00000001", "00000002"]
    assert ids("abXde")[0] == first[0]
    assert ids("abXde")[1] != first[1]
    assert ids("abXde")[2] == first[2]
    assert len(set(ids("aaaaaa"))) == 3  # the same texts at another place are another shard
    assert ids(["ab", "c"]) != ids(["a", "bc"])
    assert ids(["half an emoji \ud83d"])


def test_shards_are_read_one_at_a_time() -> None:
    stream = iter(range(10))
    first = next(shards(stream, 3))
    assert list(first.texts) == [0, 1, 2]
    assert next(stream) == 3


# Merging


@dataclass
class Exact(Sums):
    """Numbers whose sum depends on the order of the terms, and their names in that order."""

    total: float = 0.0
    names: str = ""

    def merge(self, other: "Exact", /) -> None:
        self.total += other.total
        self.names = f"({self.names}{other.names})"


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 11, 64, 100])
def test_states_merge_to_the_same_bits_in_any_order(count: int) -> None:
    results = set()
    for seed in range(5):
        places = list(range(count))
        Random(seed).shuffle(places)
        tree: MergeTree[Exact] = MergeTree()
        for place in places:
            tree.add(place, Exact(Random(place).uniform(-1, 1) * 10.0 ** (place % 9), f"{place} "))
        root = tree.root()
        assert root is not None
        results.add((root.total.hex(), root.names))
    assert len(results) == 1


def test_states_in_order_are_never_many() -> None:
    tree: MergeTree[Exact] = MergeTree()
    for place in range(1000):
        tree.add(place, Exact())
        assert len(tree) <= 10


def test_a_place_counts_once_and_none_is_missing() -> None:
    tree: MergeTree[Exact] = MergeTree()
    tree.add(0, Exact())
    tree.add(1, Exact())
    for place in (0, 1):
        with pytest.raises(ValueError, match=f"place {place} was merged before"):
            tree.add(place, Exact())
    tree.add(3, Exact())
    tree.add(4, Exact())
    with pytest.raises(ValueError, match="one is missing"):
        tree.root()
    assert MergeTree[Exact]().root() is None


def test_a_shard_is_whole_windows() -> None:
    assert shard_size(in_threes) == TEXTS_A_SHARD
    assert shard_size(Chunks(128)) == TEXTS_A_SHARD
    assert shard_size(Chunks(100)) == 600
    assert shard_size(Chunks(4096)) == 4096


def test_a_pass_inside_a_shard_is_a_part_of_it() -> None:
    engines = []

    class Noting:
        def run(self, parts: Any, job: Any, accept: Any, told: Any, *, keep: bool) -> None:
            engines.append(self)
            HERE.run(parts, job, accept, told, keep=keep)

    def counts_inside(part: Seen, batch: list[int]) -> None:
        part.merge(run_pass(batch, Seen(), count, batches=in_threes))

    with running_on(Noting()):
        assert run_pass(range(10), Seen(), counts_inside, batches=in_threes).total == 45
    assert len(engines) == 1


# A model
