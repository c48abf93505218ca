"""The one pass: every text is counted once, whatever the batches, the shards and the memory."""

import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from random import Random

import numpy as np
import pytest
import torch
from tests.helpers.tiny import tiny

from headscope.accumulator import Sums
from headscope.capture import survey
from headscope.capture.projection import Carrier
from headscope.measures import MEASURES
from headscope.run import one_pass
from headscope.run.measured import Measures
from headscope.run.one_pass import Shard, run_pass, shards, whole
from headscope.run.progress import Tell
from headscope.run.reader import Reader, ReadText
from headscope.run.watch import Watch
from headscope.text.corpus import as_corpus

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
    found = run_pass(shards(range(10), size, str), state, noted, batches=in_threes)
    assert found is state
    assert found.texts == list(range(10))
    assert found.total == 45
    assert all(batch[0] // size == batch[-1] // size for batch in batches)  # none crosses shards


def test_one_stream_is_read_as_it_goes() -> None:
    read = 0

    def stream() -> Iterator[int]:
        nonlocal read
        for number in range(30):
            read += 1
            yield number

    ahead: list[int] = []

    def expected(done: int) -> None:
        ahead.append(read - done)

    run_pass(whole(stream()), Seen(), count, batches=in_threes, expected=expected)
    assert max(ahead) == 0


def test_how_far_it_is_is_told_after_each_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str | None, int, float | None]] = []

    @contextmanager
    def bar(title: str | None) -> Iterator[Tell]:
        yield lambda progress: told.append((title, progress.texts, progress.expected))

    monkeypatch.setattr(one_pass, "progress_bar", bar)
    run_pass(shards(range(7), 4, str), Seen(), count, batches=in_threes, title="x", expected=lambda done: 9)
    assert told == [("x", 3, 9), ("x", 4, 9), ("x", 7, 9)]


def test_tokens_are_counted_by_whoever_knows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    @contextmanager
    def bar(title: str | None) -> Iterator[Tell]:
        yield lambda progress: read.append(progress.tokens)

    monkeypatch.setattr(one_pass, "progress_bar", bar)
    run_pass(whole(range(7)), Seen(), count, batches=in_threes, title="x", tokens=sum)
    assert read == [3, 15, 21]


def test_nothing_to_count() -> None:
    assert run_pass(whole([]), Seen(), count, batches=in_threes).texts == []


def test_too_large_a_batch_is_halved_and_its_first_try_leaves_no_trace() -> None:
    def scarce(part: Seen, batch: list[int]) -> None:
        count(part, batch)
        if len(batch) > 1:
            raise torch.OutOfMemoryError("out of memory")

    found = run_pass(shards(range(10), 4, str), Seen(), scarce, batches=in_threes)
    assert (found.texts, found.total) == (list(range(10)), 45)


def test_a_failure_in_a_shard_leaves_the_shards_before_it_whole() -> None:
    def failing(part: Seen, batch: list[int]) -> None:
        count(part, batch)
        if 7 in batch:
            raise ValueError("no")

    state = Seen()
    with pytest.raises(ValueError, match="no"):
        run_pass(shards(range(10), 4, str), state, failing, batches=in_threes)
    assert state.texts == [0, 1, 2, 3]


# Shards


def ids(texts: Iterable[str], size: int = 2) -> list[str]:
    return [shard.id for shard in shards(texts, size, str)]


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
    first = next(shards(stream, 3, str))
    assert list(first.texts) == [0, 1, 2]
    assert next(stream) == 3


# A model


def measured(parts: Iterable[Shard[ReadText]], watch: Watch) -> dict[str, np.ndarray]:
    kinds = [MEASURES.get(name) for name in MEASURES.names()]

    def shown(part: Measures, texts: list[ReadText]) -> None:
        part.update(watch, watch.batch([text.encoded for text in texts]))

    states = Measures.of(watch.capture, kinds, weigh="both")
    states = run_pass(parts, states, shown, batches=watch.batches("auto", 24))
    states = pickle.loads(pickle.dumps(states))  # it may travel
    return {
        f"{stack}/{name}": array.values
        for stack, arrays in states.result().items()
        for name, array in arrays.items()
    }


@pytest.mark.parametrize("architecture", ["bert", "t5"])
def test_what_is_measured_depends_on_no_shard_and_no_order(architecture: str) -> None:
    capture = survey(tiny(architecture))
    watch = Watch(capture, holds_all=True, carrier=Carrier(capture))
    reader = Reader(as_corpus(TEXTS), watch.encoder(24))
    expected = measured(reader.shards(), watch)
    assert len(expected) > 10
    for size in (1, 4):
        parts = list(reader.shards(size))
        assert len(parts) == -(-reader.read // size)
        Random(size).shuffle(parts)
        for name, values in measured(parts, watch).items():
            # Folds are kept with half the digits.
            np.testing.assert_allclose(values, expected[name], rtol=1e-4, atol=1e-6, err_msg=name)
