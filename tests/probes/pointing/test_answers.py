"""A head at work: its surest cases, right and wrong, against a look at all of them."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
import torch
from tests.helpers.pointing import LABELS, Asked, answers, is_right, random_items, show

from headscope.atlas import Example
from headscope.probes.halves import SCORE
from headscope.probes.pointing.answers import AtWork, AtWorkTally, PredictTally, Question
from headscope.probes.pointing.cases import ALL, Case
from headscope.probes.pointing.tally import READABLE
from headscope.types import HeadGrid, HeadId

GRID = HeadGrid("encoder", 2, 3, causal=False)
CAUSAL = HeadGrid("decoder", 2, 3, causal=True)
LENGTHS = [9, 14, 30, 4, 2, 1, 22, 11, 17, 6, 8, 26]
HEAD = HeadId(1, 2)


def question(label: str = ALL, direction: int = 0) -> Question:
    return Question("dependency", label, HEAD, direction, ("there", "back")[direction])


def looked(
    items: list[Asked],
    asked: Question,
    *,
    most: int = 3,
    readable_first: bool = False,
    faithful: bool = False,
) -> AtWork:
    tally = AtWorkTally(asked, most=most, readable_first=readable_first, faithful=faithful)
    show(GRID, items, tally)
    return tally.result()


def slowly(
    items: list[Asked],
    asked: Question,
    *,
    most: int = 3,
    readable_first: bool = False,
    faithful: bool = False,
) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """(text, asking word) of the surest right and wrong cases: all cases, sorted, one a text."""
    kept: dict[bool, list[tuple[str, int]]] = {True: [], False: []}
    ranked = []
    for item in items:
        for case in item.cases:
            if asked.label in (ALL, case.label):
                guess, confidence = answers(item, case, faithful=faithful)
                cell = (asked.direction, HEAD.layer, HEAD.head)
                hard = readable_first and len(item.content) not in READABLE
                right = bool(is_right(guess, confidence, case)[cell])
                if confidence[cell] > 0:
                    ranked.append((hard, -confidence[cell], item.number, case.asking, right))
    for _, _, number, asking, right in sorted(ranked):
        if f"text {number}" not in [name for name, _ in kept[right]]:
            kept[right].append((f"text {number}", asking))
    return kept[True][:most], kept[False][:most]


def places(examples: list[Example]) -> list[tuple[str, int]]:
    return [(one.name, one.asking) for one in examples]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize("label", ["det", ALL])
def test_the_surest_cases(seed: int, direction: int, label: str) -> None:
    items = random_items(GRID, LENGTHS, seed=seed)
    asked = question(label, direction)
    for options in ({}, {"readable_first": True}, {"faithful": True}, {"most": 1}, {"most": 100}):
        found = looked(items, asked, **options)  # type: ignore[arg-type]
        right, wrong = slowly(items, asked, **options)  # type: ignore[arg-type]
        assert places(found.right) == right
        assert places(found.wrong) == wrong


def test_what_an_example_says() -> None:
    items = random_items(GRID, LENGTHS, seed=1)
    for direction in (0, 1):
        found = looked(items, question("det", direction), most=20)
        assert found.right
        assert found.wrong
        for one in (*found.right, *found.wrong):
            item = items[int(one.name.split()[1])]
            case = next(case for case in item.cases if case.asking == one.asking)
            guess, confidence = answers(item, case)
            cell = (direction, HEAD.layer, HEAD.head)
            assert (one.probe, one.label, one.head) == ("dependency", "det", HEAD)
            assert one.direction == ("there", "back")[direction]
            assert one.words == tuple(item.content.words)
            assert (one.right, one.guess) == (case.right, guess[cell])
            assert one.is_right == (one in found.right)
            assert one.confidence == pytest.approx(confidence[cell], abs=1e-6)
            maps = item.maps[False][HEAD.layer, HEAD.head]
            row = maps[case.asking] if direction == 0 else maps[:, case.asking]
            np.testing.assert_allclose(one.weights, row, atol=1e-6)


def test_at_most_one_case_a_text() -> None:
    items = random_items(GRID, LENGTHS, seed=2)
    found = looked(items, question(), most=100)
    for kept in (found.right, found.wrong):
        names = [one.name for one in kept]
        assert len(names) == len(set(names))


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_parts_merge_in_any_order(order: tuple[int, ...]) -> None:
    items = random_items(GRID, LENGTHS, seed=3)
    parts = [AtWorkTally(question(), most=2) for _ in range(3)]
    show(GRID, items[:5], parts[0])
    show(GRID, items[5:], parts[2])
    merged = parts[0].empty()
    for number in order:
        merged.merge(parts[number])
    whole = looked(items, question(), most=2)
    assert (places(merged.result().right), places(merged.result().wrong)) == (
        places(whole.right),
        places(whole.wrong),
    )


def test_batches_and_padding_change_nothing() -> None:
    items = random_items(GRID, LENGTHS, seed=4)
    tally = AtWorkTally(question(direction=1), most=4, readable_first=True)
    for start in (8, 0, 4):
        show(GRID, items[start : start + 4], tally, extra=start % 3)
    found = tally.result()
    assert (places(found.right), places(found.wrong)) == slowly(
        items, question(direction=1), most=4, readable_first=True
    )
    assert all(len(one.weights) == len(one.words) for one in (*found.right, *found.wrong))


def test_an_empty_tally_is_of_the_same_kind() -> None:
    tally = AtWorkTally(question(), most=4, readable_first=True, faithful=True)
    empty = tally.empty()
    assert (empty.question, empty.most, empty.readable_first, empty.faithful) == (question(), 4, True, True)
    assert empty.result() == AtWork([], [])


def test_a_word_that_sees_nothing_has_no_guess_to_show() -> None:
    """The first word of a decoder."""
    text = random_items(CAUSAL, [6], seed=0)[0].text
    words = max(text.word) + 1
    cases = tuple(Case("x", word, ((word + 1) % words,)) for word in range(words))
    tally = AtWorkTally(question(), most=10)
    for number in range(3):
        show(
            CAUSAL,
            [Asked(text, (case,), SCORE, 3 * number + place) for place, case in enumerate(cases)],
            tally,
        )
    found = tally.result()
    assert 0 not in {one.asking for one in (*found.right, *found.wrong)}
    assert {one.asking for one in (*found.right, *found.wrong)} == set(range(1, words))


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_of_equals_the_earlier_one_wins(order: tuple[int, ...]) -> None:
    """Even attention: every word is as sure as the next. What comes first in the file is shown first."""
    text = random_items(GRID, [8], seed=0)[0].text
    even = replace(text, word=list(range(8)), maps=torch.full_like(text.maps, 1 / 8))
    cases = tuple(Case("x", word, (0,)) for word in (5, 3, 7))
    tally = AtWorkTally(question(), most=2)
    for number in order:
        show(GRID, [Asked(even, cases, SCORE, number)], tally)
    assert places(tally.result().right) == [("text 0", 3), ("text 1", 3)]


# Answers, for every word that asks


@pytest.mark.parametrize("label", [*LABELS, ALL])
@pytest.mark.parametrize("faithful", [False, True])
def test_predictions(label: str, faithful: bool) -> None:
    items = random_items(GRID, LENGTHS, seed=5)
    tally = PredictTally(question(label, 1), faithful=faithful)
    for part in (items[6:], items[:2], items[2:6]):  # batches come in any order
        show(GRID, part, tally, extra=1)
    expected = [
        {
            case.asking: int(answers(item, case, faithful=faithful)[0][1, HEAD.layer, HEAD.head])
            for case in item.cases
            if label in (ALL, case.label)
        }
        for item in items
    ]
    assert tally.result() == expected


def test_a_word_that_sees_nothing_has_no_answer() -> None:
    text = random_items(CAUSAL, [7], seed=0)[0].text
    words = max(text.word) + 1
    cases = tuple(Case("x", word, ((word + 1) % words,)) for word in range(words))
    for direction, blind in ((0, 0), (1, words - 1)):
        tally = PredictTally(question(direction=direction))
        show(CAUSAL, [Asked(text, cases, SCORE, 0)], tally)
        assert set(tally.result()[0]) == set(range(words)) - {blind}
