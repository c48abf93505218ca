"""What sentences say of a head in words: what most words do alike, and which links stand for it."""

import numpy as np
import pytest

from headscope.atlas import Atlas, Typical
from headscope.pages.head.sentences import typical_sentences
from headscope.pages.shapes.head import TypicalSentence
from headscope.types import HeadId, LabelledArray

ONES = (1.0,) * 9


def told(
    words: tuple[str, ...],
    looks_at: tuple[int, ...],
    weights: tuple[float, ...] = ONES,
    keys: tuple[str, ...] | None = None,
    likeness: float = 0.97,
) -> TypicalSentence:
    sentence = Typical(HeadId(0, 0), words, keys, looks_at, weights[: len(words)], likeness)
    entropy = LabelledArray(np.ones((1, 1)), ("layer", "head"), {"layer": [0], "head": [0]}, "entropy")
    atlas = Atlas.build(
        {"encoder": {"entropy": entropy}}, provenance={"model": "m"}, typical={"encoder": [sentence]}
    )
    [shown] = typical_sentences(atlas, "encoder", HeadId(0, 0))
    return shown


def habit(*sentence: object) -> str:
    return told(*sentence).said.rpartition("just what")[0].rstrip("; ")  # type: ignore[arg-type]


def test_habits_in_words() -> None:
    assert habit(("[CLS]", "a", "b", "c"), (0, 0, 1, 2)) == "3 of 4 words look most at the word before"
    assert habit(("a", "b", "[SEP]"), (2, 2, 2)) == "3 of 3 words look most at [SEP]"
    assert habit(("a", "b", "c", "d"), (2, 3, 0, 0)) == ""
    assert habit(("a", "b", "c", "d", "e"), (3, 0, 1, 0, 1)) == "", "two of five are not most"
    assert habit(("a", "b"), (0, 1), ONES, ("x", "y")) == "", "places in another text are no neighbours"
    assert habit(("a", "b"), (0, 1), (0.1, 0.2)) == "spread out: no word gives another more than 0.20"


@pytest.mark.parametrize(
    ("likeness", "words"), [(0.97, "just"), (0.75, "much"), (0.5, "something"), (-1, "little")]
)
def test_how_much_like_itself(likeness: float, words: str) -> None:
    said = told(("a", "b", "c", "d"), (2, 3, 0, 0), likeness=likeness).said
    assert said.startswith(words)
    assert said.endswith(f"(likeness {likeness:.2f})")


def test_the_strongest_links_are_not_all_to_special_tokens_where_there_are_others_of_weight() -> None:
    words = ("[CLS]", "a", "b", "c", "d", "e", "[SEP]")
    sentence = told(words, (6, 6, 6, 6, 1, 2, 6), (0.99, 0.98, 0.97, 0.96, 0.5, 0.1, 0.95))
    assert sentence.strongest == [0, 1, 2, 3, 4], "e to b is too weak to stand for the head"
    assert sentence.special == ["[CLS]", "[SEP]"]
    twice = told(("the", "x", "the", "x"), (1, 1, 3, 3), (0.9, 0.8, 0.7, 0.6))
    assert twice.strongest == [0, 1], "the same words once"
