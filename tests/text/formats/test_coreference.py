"""Brackets become mentions; broken ones are told, once, and the others stay. Written as CoNLL-U's Entity=."""

from pathlib import Path

import pytest
from tests.helpers.coreference import conllu, written

import headscope as hs

Sentence = list[str]
"""What stands at each of its words: brackets, or nothing."""

A, B, GOOD = "(a-x-1-", "(b-x-1-", "(good-x-1-)"


def read(folder: Path, *sentences: Sentence) -> tuple[list[tuple[str, tuple[int, ...]]], list[str]]:
    """Entity and words of each mention, and what was told of those left out: `sentence.word: why`."""
    words = [[f"w/NOUN/{int(place > 0)}/{mark}" for place, mark in enumerate(marks)] for marks in sentences]
    corpus = hs.read_coreference(written(folder, conllu(words).replace("@", "/")))
    (document,) = corpus
    starts = {document.sentences[number].lines[0]: number for number in range(len(sentences))}
    told = []
    for place in corpus.skipped.places:
        line, _, why = place.partition("made.conllu:")[2].partition(": ")
        first = max(start for start in starts if start <= int(line))
        told.append(f"{starts[first]}.{int(line) - first}: {why}")
    return [(mention.entity, mention.words) for mention in document.mentions], told


@pytest.mark.parametrize(
    ("sentences", "mentions"),
    [
        # The same entity inside itself: the inner one closes first.
        ([[f"{A}{B[:-1]})", "", A, "a)", "a)"]], [("a", (0, 1, 2, 3, 4)), ("b", (0,)), ("a", (2, 3))]),
        ([[A, f"a){B}", "b)"]], [("a", (0, 1)), ("b", (1, 2))]),
        ([["(a[1@2]-x-1-", "a[1@2])", "(a-x-1-)", "", "(a[2@2]-x-1-)"]], [("a", (0, 1, 4)), ("a", (2,))]),
        ([[GOOD], [A, "a)"]], [("good", (0,)), ("a", (0, 1))]),
    ],
    ids=["nested", "crossing", "parts", "two sentences"],
)
def test_brackets_become_mentions(
    tmp_path: Path, sentences: list[Sentence], mentions: list[tuple[str, tuple[int, ...]]]
) -> None:
    found, told = read(tmp_path, *sentences)
    assert sorted(found) == sorted(mentions)
    assert told == []


@pytest.mark.parametrize(
    ("sentences", "told"),
    [
        ([[A, GOOD]], ["0.0: opens a mention of entity 'a'"]),
        ([["a)", GOOD]], ["0.0: closes a mention of entity 'a'"]),
        # Across sentences it is told once; the second closing bracket has no opening one anywhere.
        ([[GOOD, A], ["a)", "a)"]], ["0.1: opens a mention of entity 'a'", "1.1: closes a mention of entity 'a'"]),
        ([["(a[1@2]-x-1-)", GOOD]], ["0.0: part 1 of 2 of a mention of entity 'a'"]),
        ([["a", GOOD]], ["0.0: 'a'"]),
        ([["()", GOOD]], ["0.0: '()'"]),
        ([[f"{GOOD}(a", ""]], ["0.0: opens a mention of entity 'a'"]),
        ([["a)b)", GOOD]], ["0.0: closes a mention of entity 'a'", "0.0: closes a mention of entity 'b'"]),
        ([[")(", GOOD]], ["0.0: ')('"]),
    ],
    ids=["not closed", "not opened", "across sentences", "a part", "a name", "empty", "in a row", "twice", "turned"],
)  # fmt: skip
def test_a_broken_bracket_costs_only_itself(
    tmp_path: Path, sentences: list[Sentence], told: list[str]
) -> None:
    found, skipped = read(tmp_path, *sentences)
    assert [entity for entity, _ in found] == ["good"]
    assert len(skipped) == len(told)
    for place, begins in zip(skipped, told, strict=True):
        assert place.startswith(begins)
