"""The observer: every item is seen once, in every layer, and a batch that fails leaves no trace."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import pytest
import torch
from tests.helpers.tiny import tiny
from tests.helpers.treebanks import content
from torch import Tensor

from headscope.errors import OptionError
from headscope.passes.options import LONGEST_WITHOUT_LIMIT
from headscope.passes.progress import RunProgress
from headscope.probes.observe import Observer, Tally
from headscope.text.words import WordText
from headscope.types import LayerAttention, TokenBatch


@dataclass(frozen=True)
class Item:
    name: str
    content: WordText


ITEMS = [
    Item(str(number), content(text))
    for number, text in enumerate(
        ["the cat sat", "it", "a dog saw the red mat", "the house was blue and red", "cats", "on it", ""]
    )
]


class Diary(Tally[Item]):
    """Writes down what it is shown."""

    def __init__(self) -> None:
        self.seen: dict[str, list[int]] = {}  # the layers each item was seen in
        self.words: dict[str, int] = {}

    def empty(self) -> "Diary":
        return Diary()

    def begin(self, items: Sequence[Item], present: Tensor, tokens: TokenBatch) -> None:
        assert not self.seen  # a part is begun once
        assert present.shape[0] == tokens.ids.shape[0] == len(items)
        self.names = [item.name for item in items]
        self.seen = {name: [] for name in self.names}
        self.words = dict(zip(self.names, present.sum(1).tolist(), strict=True))

    def update(self, seen: LayerAttention) -> None:
        assert seen.attention.shape[0] == len(self.names)
        for name in self.names:
            self.seen[name].append(seen.layer)

    def merge(self, other: Self) -> None:
        assert not set(self.seen) & set(other.seen)  # an item is counted once
        self.seen |= other.seen
        self.words |= other.words


@pytest.mark.parametrize("batch_size", [1, 3, "auto"])
def test_every_item_is_seen_once_in_every_layer(batch_size: int) -> None:
    diary = Diary()
    done = Observer(tiny("bert"), batch_size=batch_size).observe(iter(ITEMS), {"encoder": [diary]})
    assert diary.seen == {item.name: [0, 1, 2] for item in ITEMS}
    assert diary.words == {item.name: len(item.content) for item in ITEMS}
    pieces = 3 + 1 + 6 + 6 + 2 + 2
    assert (done.texts, done.tokens, done.texts_cut) == (7, pieces + 2 * 7, 0)


def test_each_stack_has_its_own_tallies() -> None:
    observer = Observer(tiny("t5"))
    assert [grid.stack for grid in observer.grids] == ["encoder", "decoder"]
    diaries = {"encoder": [Diary(), Diary()], "decoder": [Diary()]}
    observer.observe(ITEMS, diaries)  # type: ignore[arg-type]  # keys are stack names
    for diary in diaries["encoder"]:
        assert diary.seen == {item.name: [0, 1, 2] for item in ITEMS}
    assert diaries["decoder"][0].seen == {item.name: [0, 1] for item in ITEMS}
    assert diaries["decoder"][0].words == {item.name: len(item.content) for item in ITEMS}


def test_nobody_need_watch_a_stack() -> None:
    diary = Diary()
    Observer(tiny("t5")).observe(ITEMS, {"decoder": [diary]})
    assert len(diary.seen) == len(ITEMS)


def test_no_items_at_all() -> None:
    diary = Diary()
    assert Observer(tiny("bert")).observe([], {"encoder": [diary]}).texts == 0
    assert diary.seen == {}


def test_texts_that_were_cut_are_counted() -> None:
    diary = Diary()
    done = Observer(tiny("bert"), max_length=5).observe(ITEMS, {"encoder": [diary]})
    assert done.texts_cut == 2
    assert diary.words == {"0": 3, "1": 1, "2": 3, "3": 3, "4": 1, "5": 2, "6": 0}


def test_items_without_any_token() -> None:
    diary = Diary()
    done = Observer(tiny("gpt2"), batch_size=1).observe(
        [Item("x", content("")), *ITEMS[:2]], {"decoder": [diary]}
    )
    assert diary.words == {"x": 0, "0": 3, "1": 1}
    assert done.texts == 3


def test_a_batch_too_large_for_memory_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It fails in its last layer, when the tallies have counted most of it."""
    plain = Diary.update

    def failing(self: Diary, seen: LayerAttention) -> None:
        plain(self, seen)
        if seen.layer == 2 and len(self.names) > 2:
            raise torch.OutOfMemoryError("out of memory")

    monkeypatch.setattr(Diary, "update", failing)
    diary = Diary()
    done = Observer(tiny("bert"), batch_size=7).observe(ITEMS, {"encoder": [diary]})
    assert diary.seen == {item.name: [0, 1, 2] for item in ITEMS}
    assert done.texts == 7


def test_a_failure_reaches_the_caller_and_leaves_no_half_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(self: Diary, seen: LayerAttention) -> None:
        if seen.layer == 2 and "1" in self.names:
            raise ValueError("no")

    monkeypatch.setattr(Diary, "update", failing)
    diary = Diary()
    with pytest.raises(ValueError, match="no"):
        Observer(tiny("bert"), batch_size=1).observe(ITEMS, {"encoder": [diary]})
    assert "1" not in diary.seen


def test_memory_does_not_grow_with_the_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Items are asked for a shard at a time, not all at once."""
    monkeypatch.setattr("headscope.passes.run_pass.TEXTS_A_SHARD", 30)
    ahead = counted = 0

    class Counter(Diary):
        def empty(self) -> "Counter":
            return Counter()

        def begin(self, items: Sequence[Item], present: Tensor, tokens: TokenBatch) -> None:
            nonlocal counted
            super().begin(items, present, tokens)
            counted += len(items)

    def stream() -> Iterator[Item]:
        nonlocal ahead
        for number in range(200):
            ahead = max(ahead, number - counted)
            yield Item(f"{number}", ITEMS[1].content)

    diary = Counter()
    Observer(tiny("bert"), batch_size=1).observe(stream(), {"encoder": [diary]})
    assert len(diary.seen) == 200
    assert ahead <= 32  # whole windows of 16


# Options


def test_how_long_a_text_may_be() -> None:
    assert Observer(tiny("bert")).max_length == 64
    assert Observer(tiny("bert"), max_length=20).max_length == 20
    assert Observer(tiny("bert"), max_length=64).max_length == 64
    assert Observer(tiny("t5")).max_length == LONGEST_WITHOUT_LIMIT
    assert Observer(tiny("t5"), max_length=2000).max_length == 2000


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"max_length": 65},
            "max_length 65 is more than the 64 tokens tiny-bert takes; give --max-length 64",
        ),
        ({"max_length": 2}, "give at least"),
        ({"max_length": -1}, "give at least"),
        ({"batch_size": 0}, "batch_size must be auto or at least 1, not 0"),
        ({"batch_size": "many"}, "batch_size must be auto or at least 1, not 'many'"),
    ],
)
def test_bad_options(options: dict[str, int], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        Observer(tiny("bert"), **options)  # type: ignore[arg-type]


def test_how_far_it_is_is_told_by_what_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, int, float | None]] = []

    class Bar:
        def __init__(self, description: str | None) -> None:
            self.description = description

        def __enter__(self) -> "Bar":
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def __call__(self, progress: RunProgress) -> None:
            if self.description is not None:
                told.append((self.description, progress.texts, progress.expected))

    monkeypatch.setattr("headscope.passes.run_pass.progress_bar", Bar)
    observer = Observer(tiny("bert"), batch_size=4, progress=True)
    observer.observe(ITEMS, {"encoder": [Diary()]}, name="a.conllu", share=lambda: 0.5)
    assert told == [("tiny-bert on a.conllu", 4, 14.0), ("tiny-bert on a.conllu", 7, 14.0)]
    told.clear()
    observer.observe(ITEMS, {"encoder": [Diary()]}, share=lambda: None)
    assert told == [("tiny-bert on texts", 4, None), ("tiny-bert on texts", 7, None)]
    told.clear()
    Observer(tiny("bert")).observe(ITEMS, {"encoder": [Diary()]})
    assert told == []
