"""Which sentences of a corpus are kept: as many as asked for, the same in any order, readable ones first."""

import random

import pytest

from headscope.passes.sentence_sample import ENOUGH, SentenceSample, is_readable
from headscope.text.items import Item, Sentence, TextPair

READABLE = [f"The cat number {number} sat on the mat." for number in range(300)]
SHORT = [f"Chapter {number}" for number in range(60)]
LONG = [" ".join(["word"] * 26 + [str(number)]) for number in range(60)]


def chosen(texts: list[str], size: int) -> list[str]:
    sample = SentenceSample(size)
    for _ in sample.tapped(Sentence(text, 0) for text in texts):
        pass
    return [text.first for text in sample.chosen()]


def test_the_choice_depends_on_the_sentences_alone() -> None:
    texts = READABLE + SHORT + LONG
    first = chosen(texts, 50)
    assert len(set(first)) == 50
    assert set(first) <= set(READABLE)
    for seed in range(5):
        random.Random(seed).shuffle(texts)
        assert chosen(texts * 2, 50) == first  # repeated ones count once
    numbers = [READABLE.index(text) for text in first]
    assert min(numbers) < 30  # from the whole corpus: by chance none of a tenth is 0.5 % likely
    assert max(numbers) >= 270


def test_a_larger_sample_holds_the_smaller_one() -> None:
    small, large = chosen(READABLE, 20), chosen(READABLE, 100)
    assert large[:20] == small
    assert set(chosen(READABLE, 1000)) == set(READABLE)


def test_others_fill_up_only_where_readable_ones_are_few() -> None:
    few = chosen(READABLE[:5] + SHORT + LONG, 256)
    assert len(few) == ENOUGH
    assert set(few[:5]) == set(READABLE[:5])
    assert set(few[5:]) <= {*SHORT, *LONG}
    for count in (ENOUGH, ENOUGH + 4):
        assert set(chosen(READABLE[:count] + SHORT, 256)) == set(READABLE[:count])
    assert len(chosen(SHORT, 256)) == ENOUGH
    assert len(chosen(SHORT, 3)) == 3
    assert set(chosen(READABLE[:2] + SHORT, 3)) > set(READABLE[:2])


def test_none_are_kept_when_none_are_wanted() -> None:
    assert chosen(READABLE, 0) == []


@pytest.mark.parametrize(
    ("first", "second", "readable"),
    [
        ("one two three four", None, False),
        ("one two three four five", None, True),
        (" ".join("a" * 25), None, True),
        (" ".join("a" * 26), None, False),
        (" ".join("a" * 25), " ".join("b" * 25), True),
        (" ".join("a" * 25), "short", False),
        ("", None, False),
    ],
)
def test_what_is_readable(first: str, second: str | None, *, readable: bool) -> None:
    assert is_readable(TextPair(first, second)) is readable


def test_pairs_are_told_apart_by_both_texts() -> None:
    sample = SentenceSample(10)
    pairs = [TextPair(READABLE[0], READABLE[1]), TextPair(READABLE[0]), TextPair(READABLE[0], READABLE[2])]
    for pair in pairs * 2:
        sample.offer(pair)
    assert len(sample.chosen()) == 3
    assert set(sample.chosen()) == set(pairs)


def test_a_sentence_is_offered_when_the_next_is_asked_for() -> None:
    """So that one which was read, but no longer used, stays out."""
    sample = SentenceSample(10)
    items: list[Item] = [Sentence(text, 0) for text in READABLE[:3]]
    tapped = sample.tapped(items)
    assert [next(tapped), next(tapped)] == items[:2]
    assert [one.first for one in sample.chosen()] == READABLE[:1]
    assert list(tapped) == items[2:]
    assert {one.first for one in sample.chosen()} == set(READABLE[:3])


def test_half_a_character_does_no_harm() -> None:
    assert chosen(["one two three four \ud83d"], 5) == ["one two three four \ud83d"]
