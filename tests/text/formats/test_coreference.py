"""Brackets become spans; broken ones are told, once, and the others stay."""

from headscope.text.formats.coreference import Brackets, MentionSpan


def make() -> tuple[Brackets, list[str]]:
    told: list[str] = []
    return Brackets(told.append), told


def test_nested_and_repeated_mentions():
    brackets, told = make()
    brackets.open("a", 0, "f:1")
    brackets.open("b", 0, "f:1")
    brackets.close("b", 1, "f:1")
    brackets.open("a", 2, "f:3")  # the same entity inside itself: the inner one closes first
    brackets.close("a", 3, "f:3")
    brackets.close("a", 5, "f:5")
    assert brackets.end_sentence() == [
        MentionSpan("a", (0, 1, 2, 3, 4)),
        MentionSpan("b", (0,)),
        MentionSpan("a", (2,)),
    ]
    assert told == []
    assert brackets.end_sentence() == []


def test_crossing_brackets_are_two_mentions():
    brackets, told = make()
    brackets.open("a", 0, "f:1")
    brackets.open("b", 1, "f:2")
    brackets.close("a", 2, "f:2")
    brackets.close("b", 3, "f:3")
    assert brackets.end_sentence() == [MentionSpan("a", (0, 1)), MentionSpan("b", (1, 2))]
    assert told == []


def test_an_unclosed_mention_is_dropped_alone():
    brackets, told = make()
    brackets.open("a", 0, "f:1")
    brackets.open("b", 1, "f:2")
    brackets.close("b", 2, "f:2")
    assert brackets.end_sentence() == [MentionSpan("b", (1,))]
    assert len(told) == 1
    assert told[0].startswith("f:1: opens a mention of entity 'a' that is not closed")


def test_an_unopened_mention_is_dropped_alone():
    brackets, told = make()
    brackets.close("a", 1, "f:1")
    brackets.open("a", 1, "f:2")
    brackets.close("a", 2, "f:2")
    assert brackets.end_sentence() == [MentionSpan("a", (1,))]
    assert len(told) == 1
    assert told[0].startswith("f:1: closes a mention of entity 'a' that was not opened")


def test_a_mention_across_sentences_is_told_once():
    brackets, told = make()
    brackets.open("a", 3, "f:4")
    assert brackets.end_sentence() == []
    brackets.close("a", 1, "f:6")
    brackets.close("a", 2, "f:7")  # this one has no opening anywhere
    assert brackets.end_sentence() == []
    assert [line.split(": ")[0] for line in told] == ["f:4", "f:7"]


def test_parts_of_a_discontinuous_mention_are_joined():
    brackets, told = make()
    brackets.open("a", 0, "f:1", part=(1, 2))
    brackets.close("a", 2, "f:2", part=(1, 2))
    brackets.open("a", 2, "f:3")
    brackets.close("a", 3, "f:3")
    brackets.open("a", 4, "f:5", part=(2, 2))
    brackets.close("a", 5, "f:5", part=(2, 2))
    assert brackets.end_sentence() == [MentionSpan("a", (0, 1, 4)), MentionSpan("a", (2,))]
    assert told == []


def test_a_part_without_the_others_is_told():
    brackets, told = make()
    brackets.open("a", 0, "f:1", part=(1, 2))
    brackets.close("a", 1, "f:1", part=(1, 2))
    assert brackets.end_sentence() == []
    assert told[0].startswith("f:1: part 1 of 2 of a mention of entity 'a'")


def test_a_mention_without_words_is_told():
    brackets, told = make()
    brackets.open("a", 2, "f:3")
    brackets.close("a", 2, "f:3")
    assert brackets.end_sentence() == []
    assert told == ["f:3: a mention of entity 'a' that holds no word"]
