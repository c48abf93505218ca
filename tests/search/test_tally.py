"""Attention along arrows: against a slow reference, and the same however texts are dealt into batches."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from tests.helpers.attention import Text, batches, random_texts
from tests.helpers.treebanks import by_words

from headscope.probes.words import words_present
from headscope.search.tally import ArrowTally, candidates, distance_class
from headscope.text.annotated.arrows import Arrow
from headscope.text.words import WordText
from headscope.types import OTHER, HeadGrid

GRID = HeadGrid("encoder", layers=2, heads=3, causal=False)
CAUSAL = HeadGrid("decoder", layers=2, heads=3, causal=True)
DRAWS = 100


@dataclass(frozen=True)
class Item:
    """A text with arrows and the maps it is shown with."""

    text: Text
    arrows: tuple[Arrow, ...]
    number: int

    @property
    def content(self) -> WordText:
        return WordText.of([f"w{number}" for number in range(max(self.text.word) + 1)])

    @property
    def signature(self) -> str:
        return f"{self.number} {self.arrows}"

    @property
    def where(self) -> str:
        return f"file:{self.number}"


def random_items(grid: HeadGrid, texts: int, *, seed: int = 0) -> list[Item]:
    rng = np.random.default_rng(seed)
    items = []
    for number, text in enumerate(random_texts(grid, rng.integers(9, 20, texts).tolist(), seed=seed)):
        words = max(text.word) + 1
        drawn = {tuple(rng.integers(words, size=2).tolist()) for _ in range(int(rng.integers(1, 5)))}
        items.append(Item(text, tuple(Arrow(*arrow) for arrow in sorted(drawn)), number))
    return items


def counted(grid: HeadGrid, groups: Sequence[Sequence[Item]], *, extra: int = 0) -> ArrowTally:
    tally = ArrowTally(grid, draws=DRAWS, seed=0)
    for items in groups:
        part = tally.empty()
        for number, batch in enumerate(batches(grid, [item.text for item in items], extra=extra)):
            if number == 0:
                part.begin(items, words_present(batch.queries), batch.queries)  # type: ignore[arg-type]
            part.update(batch)
        tally.merge(part)
    return tally


def test_distance_classes() -> None:
    assert [distance_class(distance) for distance in (0, 1, 2, 3, 4, 5, 8, 9)] == [0, 1, 1, 2, 2, 3, 3, 4]
    assert [distance_class(-distance) for distance in (1, 4, 5)] == [-1, -2, -3]


def test_candidates_stand_on_the_same_side_and_as_far() -> None:
    words = range(12)
    assert candidates(Arrow(5, 4), {4}, words) == [4, 3]
    assert candidates(Arrow(5, 8), {8}, words) == [8, 9]
    assert candidates(Arrow(5, 8), {8, 9}, words) == [8, *(word for word in words if word not in (5, 8, 9))]
    assert candidates(Arrow(1, 0), {0}, range(4)) == [0, 2, 3]  # none else on that side
    assert candidates(Arrow(1, 1), {1}, range(3)) == [1, 0, 2]  # itself
    assert candidates(Arrow(1, 0), {0}, range(2)) == [0]


@pytest.mark.parametrize("grid", [GRID, CAUSAL], ids=["encoder", "decoder"])
def test_scores_are_those_of_a_slow_look(grid: HeadGrid) -> None:
    items = random_items(grid, 6)
    tally = counted(grid, [items])
    expected = []
    for item in items:
        words = max(item.text.word) + 1
        places = [[at for at, own in enumerate(item.text.word) if own == word] for word in range(words)]
        maps = by_words([layer[None] for layer in item.text.maps], places, faithful=False)
        numbers = []
        for arrow in item.arrows:
            if grid.causal and arrow.target > arrow.source:
                continue
            same = {other.target for other in item.arrows if other.source == arrow.source}
            sees = range(arrow.source + 1) if grid.causal else range(words)
            target, *others = candidates(arrow, same, sees)
            if others:
                row = maps[:, :, arrow.source]
                numbers.append([row[..., target], row[..., target] - row[..., others].mean(-1)])
        if numbers:
            expected.append(np.mean(numbers, 0))
    assert len(expected) > 2
    np.testing.assert_allclose(torch.stack(tally.texts).numpy(), np.stack(expected), atol=1e-6)


def test_the_same_in_any_batches() -> None:
    items = random_items(GRID, 7)
    whole = counted(GRID, [items])
    parts = counted(GRID, [items[:1], items[1:5], items[5:]], extra=3)
    parts.merge(parts.empty())
    torch.testing.assert_close(torch.stack(whole.texts), torch.stack(parts.texts))
    torch.testing.assert_close(whole.drawn, parts.drawn)
    assert (whole.arrows, whole.lost.count) == (parts.arrows, parts.lost.count)


def test_draws_are_scores_of_other_targets() -> None:
    item = random_items(GRID, 1, seed=3)[0]
    words = max(item.text.word) + 1
    arrow = Arrow(words - 1, words - 2)
    tally = counted(GRID, [[Item(item.text, (arrow,), 0)]])
    either = [
        counted(GRID, [[Item(item.text, (Arrow(arrow.source, target),), 0)]]).texts[0][1]
        for target in candidates(arrow, {arrow.target}, range(words))
    ]
    assert len(either) == 2
    same = [(tally.drawn - score[..., None]).abs() < 1e-9 for score in either]  # (layer, head, draw)
    assert (same[0] | same[1]).all()
    assert 20 < same[0][0, 0].sum() < 80  # one as likely as the other
    assert (same[0] == same[0][:1, :1]).all()  # all heads are given the same targets


def test_the_worked_example_of_the_docs() -> None:
    """*She read the book*, with the attention that the page gives *book*."""
    weights = torch.full((1, 1, 4, 4), 0.25)
    weights[0, 0, 3] = torch.tensor([0.1, 0.6, 0.2, 0.1])
    words = Text([0, 1, 2, 3], [OTHER] * 4, [0] * 4, [0, 1, 2, 3], [0, 1, 2, 3], weights)
    grid = HeadGrid("encoder", layers=1, heads=1, causal=False)
    tally = counted(grid, [[Item(words, (Arrow(3, 1),), 0)]])
    attention, score = tally.texts[0].flatten().tolist()
    assert (attention, score) == (pytest.approx(0.6), pytest.approx(0.4))
    assert {round(value, 6) for value in tally.drawn.flatten().tolist()} == {0.4, -0.4}


def test_what_cannot_be_scored_is_told() -> None:
    item = random_items(CAUSAL, 1)[0]
    ahead = counted(CAUSAL, [[Item(item.text, (Arrow(0, 2),), 0)]])
    assert (ahead.ahead, ahead.arrows, len(ahead.texts)) == (1, 0, 0)
    alone = counted(CAUSAL, [[Item(item.text, (Arrow(1, 0),), 0)]])
    assert alone.lost.places == ["file:0: no other word to compare the target with"]
