"""Heads that point: every guess against a look at every candidate, one by one."""

from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pytest
import torch
from tests.helpers.pointing import BASELINES, LABELS, Asked, answers, is_right, random_items, show
from tests.helpers.treebanks import cluster_error

from headscope.probes.halves import SCORE, SELECT
from headscope.probes.pointing.cases import ALL, Case, PointingBatch
from headscope.probes.pointing.tally import READABLE, PointingTally
from headscope.probes.words import words_present
from headscope.text.words import WordText
from headscope.types import HeadGrid, LayerAttention, TokenBatch

GRID = HeadGrid("encoder", 2, 3, causal=False)
LENGTHS = [9, 14, 30, 4, 2, 1, 22, 11, 17, 6, 8, 26]


def tally(grid: HeadGrid = GRID, *, faithful: bool = False) -> PointingTally:
    return PointingTally(grid, baselines=BASELINES, faithful=faithful)


def shown(items: list[Asked], *, faithful: bool = False, extra: int = 0) -> PointingTally:
    whole = tally(faithful=faithful)
    show(GRID, items, whole, extra=extra)
    return whole


def assert_same(one: PointingTally, other: PointingTally) -> None:
    for half in (SELECT, SCORE):
        for mine, theirs in (
            (one.scores[half], other.scores[half]),
            (one.baseline[half], other.baseline[half]),
        ):
            assert set(mine.labels) == set(theirs.labels)
            for label in mine.labels:
                assert mine.count(label) == theirs.count(label)
                np.testing.assert_array_equal(mine.mean(label), theirs.mean(label))
                np.testing.assert_array_equal(mine.stderr(label), theirs.stderr(label))
    for label in LABELS:
        for cell in np.ndindex(2, GRID.layers, GRID.heads):
            assert one.exemplars.spot(label, *cell) == other.exemplars.spot(label, *cell)
    assert one.lost.count == other.lost.count


# Every number, against loops


@pytest.mark.parametrize("faithful", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_accuracy_by_half_and_label(seed: int, faithful: bool) -> None:
    items = random_items(GRID, LENGTHS, seed=seed)
    found = shown(items, faithful=faithful, extra=2)
    for half in (SELECT, SCORE):
        for label in (*LABELS, ALL):
            cases = [
                (item, case)
                for item in items
                for case in item.cases
                if item.half == half and label in (ALL, case.label)
            ]
            assert found.scores[half].count(label) == found.baseline[half].count(label) == len(cases)
            if not cases:
                continue
            right = np.stack(
                [is_right(*answers(item, case, faithful=faithful), case) for item, case in cases]
            ).astype(float)
            texts = np.array([item.number for item, _ in cases])
            np.testing.assert_allclose(found.scores[half].mean(label), right.mean(0))
            baselines = np.array([case.baselines for _, case in cases], dtype=float)
            np.testing.assert_allclose(found.baseline[half].mean(label), baselines.mean(0))
            if len(set(texts)) > 1:
                np.testing.assert_allclose(found.scores[half].stderr(label), cluster_error(right, texts))
                np.testing.assert_allclose(
                    found.baseline[half].stderr(label), cluster_error(baselines, texts)
                )


def test_the_two_reductions_differ() -> None:
    """Or the test above would not tell them apart."""
    items = random_items(GRID, LENGTHS, seed=0)
    plain, faithful = shown(items), shown(items, faithful=True)
    assert (plain.scores[SCORE].mean(ALL) != faithful.scores[SCORE].mean(ALL)).any()


def test_the_case_that_shows_a_head_best() -> None:
    items = random_items(GRID, LENGTHS, seed=5)
    found = shown(items)
    assert {len(item.content) in READABLE for item in items if item.half == SCORE} == {True, False}
    known = [
        (item, case, *answers(item, case)) for item in items for case in item.cases if item.half == SCORE
    ]
    for label in LABELS:
        for cell in np.ndindex(2, GRID.layers, GRID.heads):
            ranked = [
                (len(item.content) in READABLE, confidence[cell], item.number, case.asking)
                for item, case, guess, confidence in known
                if case.label == label and is_right(guess, confidence, case)[cell]
            ]
            spot = found.exemplars.spot(label, *cell)
            assert (spot and (spot.text, spot.word)) == (max(ranked)[2:] if ranked else None)


# Parts, batches, padding


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_parts_merge_in_any_order(order: tuple[int, ...]) -> None:
    items = random_items(GRID, LENGTHS, seed=2)
    parts = [shown(items[:3]), tally(), shown(items[3:])]
    merged = parts[0].empty()
    for number in order:
        merged.merge(parts[number])
    assert_same(merged, shown(items))


@pytest.mark.parametrize("size", [1, 5])
def test_batches_and_padding_change_nothing(size: int) -> None:
    items = random_items(GRID, LENGTHS, seed=3)
    whole = tally()
    for start in range(0, len(items), size):
        show(GRID, items[start : start + size], whole, extra=start % 4)
    assert_same(whole, shown(items))


def test_texts_without_cases() -> None:
    items = [Asked(item.text, (), SCORE, item.number) for item in random_items(GRID, [5, 8], seed=0)]
    found = shown(items)
    assert found.scores[SCORE].count(ALL) == 0
    assert not found.lost.count


def test_a_tally_without_baselines() -> None:
    items = random_items(GRID, LENGTHS, seed=4)
    bare = [
        Asked(
            one.text,
            tuple(Case(case.label, case.asking, case.right) for case in one.cases),
            one.half,
            one.number,
        )
        for one in items
    ]
    whole = PointingTally(GRID, baselines=0)
    show(GRID, bare, whole)
    assert whole.scores[SCORE].count(ALL) > 0
    assert whole.baseline[SCORE].mean(ALL).shape == (0,)


def test_the_first_place_of_every_label_is_kept() -> None:
    items = random_items(GRID, LENGTHS, seed=2)
    found = shown(items[:4])
    first = dict(found.first_seen)
    found.merge(shown(items[4:]))
    assert first.items() <= found.first_seen.items()
    assert set(found.first_seen) == {case.label for item in items for case in item.cases}
    places = {
        label: {item.where(case.asking) for item in items for case in item.cases if case.label == label}
        for label in LABELS
    }
    assert all(place in places[label] for label, place in found.first_seen.items())


# What a guess is


@dataclass(frozen=True)
class Hand:
    """A text made by hand, a word a token."""

    words: int
    cases: tuple[Case, ...]
    half: int = SCORE
    number: int = 0
    document: int = 0
    name: str = "by hand"

    @property
    def content(self) -> WordText:
        return WordText.of([f"w{number}" for number in range(self.words)])

    def where(self, word: int) -> str:
        return f"a.conllu:{word + 10}"


def batch(*items: Hand, words: list[list[int]], cut: list[bool] | None = None) -> PointingBatch:
    """The items as the observer would show them, given the word of every token."""
    numbers = torch.tensor(words)
    known = TokenBatch(*[numbers] * 6, is_cut=None if cut is None else torch.tensor(cut))
    return PointingBatch(items, words_present(known), known)


def answer(
    case: Case, rows: list[list[float]], *, words: list[int] | None = None
) -> list[tuple[float, int, bool]]:
    """Confidence, guess and whether it is right, in both directions, of one head."""
    one = batch(Hand(len(rows), (case,)), words=[words or list(range(len(rows)))])
    confidence, guess = one.guesses(torch.tensor(rows)[None, None])
    right = one.is_right(confidence, guess)
    return [(confidence[0, way, 0].item(), int(guess[0, way, 0]), bool(right[0, way, 0])) for way in (0, 1)]


def test_a_guess_is_the_most_attended_other_word() -> None:
    """Word 0 looks most at itself, which is no answer, and then at 2; word 1 looks most at 0."""
    rows = [[0.5, 0.125, 0.375], [0.75, 0.25, 0.0], [0.25, 0.25, 0.5]]
    assert answer(Case("x", 0, (2,)), rows) == [(0.375, 2, True), (0.75, 1, False)]
    assert answer(Case("x", 0, (1,)), rows) == [(0.375, 2, False), (0.75, 1, True)]
    assert answer(Case("x", 0, (1, 2)), rows) == [(0.375, 2, True), (0.75, 1, True)]


def test_only_candidates_are_guessed() -> None:
    rows = [[0.5, 0.125, 0.375], [0.75, 0.25, 0.0], [0.25, 0.25, 0.5]]
    assert answer(Case("x", 0, (1,), candidates=(1,)), rows) == [(0.125, 1, True), (0.75, 1, True)]
    assert answer(Case("x", 0, (1,), candidates=(0, 1)), rows)[0] == (0.125, 1, True)  # never the asking word
    assert answer(Case("x", 0, (2,), candidates=(1, 9)), rows)[0] == (0.125, 1, False)


def test_a_word_that_sees_nothing_is_never_right_by_luck() -> None:
    """The first word of a decoder sees itself alone, and nobody sees the last."""
    rows = [[1.0, 0.0], [0.5, 0.5]]
    assert [right for _, _, right in answer(Case("x", 0, (1,)), rows)] == [False, True]
    assert [right for _, _, right in answer(Case("x", 1, (0,)), rows)] == [True, False]
    assert answer(Case("x", 0, (1,)), rows)[0][0] == 0


def test_words_without_a_token_are_no_candidates() -> None:
    """Word 1 has no token: its attention is 0 by rights, and even rubbish there must not be chosen."""
    rows = [[0.2, 0.9, 0.3], [0.9, 0.9, 0.9], [0.1, 0.9, 0.4]]
    found = answer(Case("x", 0, (2,)), rows, words=[0, 2])
    assert [(guess, right) for _, guess, right in found] == [(2, True), (2, True)]


def test_texts_of_a_batch_keep_to_their_own_words() -> None:
    items = (Hand(2, (Case("x", 1, (0,)),)), Hand(3, (Case("x", 0, (2,)),)))
    both = batch(*items, words=[[0, 1, -1], [0, 1, 2]])
    maps = torch.tensor(
        [
            [[[0.1, 0.2, 0.9], [0.3, 0.2, 0.9], [0.9, 0.9, 0.9]]],  # the third word is of the other text only
            [[[0.1, 0.2, 0.7], [0.3, 0.2, 0.5], [0.5, 0.1, 0.4]]],
        ]
    )
    confidence, guess = both.guesses(maps)
    assert guess[:, :, 0].tolist() == [[0, 0], [2, 2]]
    assert confidence[:, :, 0].tolist() == [
        [pytest.approx(0.3), pytest.approx(0.2)],
        [pytest.approx(0.7), 0.5],
    ]
    assert both.is_right(confidence, guess).all()


# Cases that are lost


@pytest.mark.parametrize("lacking", [0, 1, 2])
def test_a_word_without_a_token_loses_its_cases(lacking: int) -> None:
    """Wherever it stands: at the beginning, inside, at the end."""
    cases = tuple(Case("x", word, ((word + 1) % 3,)) for word in range(3))
    words = [word for word in range(3) if word != lacking]
    one = batch(Hand(3, cases), words=[words], cut=[False])
    assert [case.asking for _, case in one.cases] == [(lacking + 1) % 3]
    assert one.lost.count == 2
    message = f"a.conllu:{lacking + 10}: the tokenizer has no token for the word 'w{lacking}' alone"
    assert one.lost.places == [message, message]


def test_one_right_answer_with_a_token_is_enough() -> None:
    one = batch(Hand(4, (Case("x", 0, (1, 3)),)), words=[[0, 2, 3]])
    assert one.cases == [(0, Case("x", 0, (3,)))]
    assert not one.lost.count


def test_words_cut_off_are_told_with_their_text_and_not_as_lost() -> None:
    cases = (
        Case("x", 0, (1,)),
        Case("x", 1, (3,)),
        Case("x", 3, (0,)),
        Case("x", 1, (0, 3)),
        Case("x", 2, (0,)),
    )
    one = batch(Hand(4, cases), words=[[-1, 0, 1, -1]], cut=[True])
    assert [(case.asking, case.right) for _, case in one.cases] == [(0, (1,)), (1, (0,))]
    assert not one.lost.count


def test_a_text_that_lost_all_its_words() -> None:
    one = batch(Hand(2, (Case("x", 0, (1,)),)), words=[[-1, -1]], cut=[True])
    assert (one.cases, one.lost.count) == ([], 0)
    one = batch(Hand(2, (Case("x", 0, (1,)),)), words=[[-1, -1]], cut=[False])
    assert (one.cases, one.lost.count) == ([], 1)
    assert one.guesses(torch.zeros(1, 3, 1, 1))[0].shape == (0, 2, 3)


def test_a_whole_batch_without_words_is_counted_as_nothing() -> None:
    whole = tally()
    numbers = torch.tensor([[-1, -1]])
    known = TokenBatch(*[numbers] * 6)
    whole.begin([Hand(2, (Case("x", 0, (1,)),))], words_present(known), known)
    for layer in range(GRID.layers):
        whole.update(LayerAttention(layer, torch.full((1, 3, 2, 2), 0.5), known, known))
    assert whole.scores[SCORE].count(ALL) == 0
    assert whole.lost.count == 1


def test_lost_cases_of_all_parts_are_told() -> None:
    merged = tally()
    known = TokenBatch(*[torch.tensor([[0, 1]])] * 6)
    for number in (0, 5):
        part = merged.empty()
        part.begin([Hand(number + 3, (Case("x", number + 2, (0,)),))], words_present(known), known)
        merged.merge(part)
    assert merged.lost.count == 2
    assert [place.split(": ")[0] for place in merged.lost.places] == ["a.conllu:12", "a.conllu:17"]
