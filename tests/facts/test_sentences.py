"""The sentence on a head's card: a case that shows its first claim, else the one where it is most typical."""

import numpy as np
from tests.helpers.atlases import example, per_head, provenance

from headscope.atlas import Atlas, Typical
from headscope.facts.sentences import Look, Sentence, best_sentence, strongest_looks
from headscope.types import HeadId

HEAD = HeadId(1, 2)
TYPICAL = Typical(HEAD, ("[CLS]", "the", "cat", "sat"), None, (0, 0, 1, 2), (1.0, 0.9, 0.8, 0.7), 0.95)


def atlas(*, kept: list[Typical]) -> Atlas:
    arrays = per_head("entropy", np.ones((2, 3)))
    built = Atlas.build({"encoder": arrays}, provenance=provenance(), typical={"encoder": kept})
    cases = [example(guess=1), example(label="amod"), example(), example(weights=(0.1,))]
    return built.with_probe(
        "dependency", {"encoder": {}}, facts={}, table={"encoder": []}, examples={"encoder": cases}
    )


def test_a_right_case_of_the_first_claim_comes_first() -> None:
    claims = [("dependency", "det"), ("dependency", "amod")]
    assert best_sentence(atlas(kept=[TYPICAL]), "encoder", HEAD, claims) == Sentence.of_example(example())


def test_without_one_the_most_typical_sentence_that_is_whole() -> None:
    broken = Typical(HEAD, ("a", "b"), None, (0, 7), (1.0, 1.0), 0.99)
    known = atlas(kept=[broken, TYPICAL])
    assert best_sentence(known, "encoder", HEAD, [("dependency", "nsubj")]) == Sentence.of_typical(TYPICAL)
    assert best_sentence(known, "encoder", HeadId(0, 0), []) is None


def test_an_example_is_looks_of_the_word_that_asks() -> None:
    sentence = Sentence.of_example(example())
    assert sentence.looks[:2] == (Look(0, 2, 0.7), Look(0, 0, 0.1))
    assert sentence.roles == {0: "query", 2: "found"}
    assert sentence.said == "“The” gives “cat” 70% of its attention."


def test_where_the_asking_word_is_looked_at_arrows_turn_round() -> None:
    sentence = Sentence.of_example(example(direction="head_to_dependent", guess=1))
    assert sentence.looks[0] == Look(1, 0, 0.06)
    assert sentence.roles == {0: "looked at", 1: "guess", 2: "right"}


def test_the_first_token_of_a_decoder_which_sees_itself_alone_comes_last() -> None:
    words = ("<s>", "The", "cat", "sat")
    typical = Typical(HEAD, words, None, (0, 0, 1, 2), (1.0, 0.9, 0.8, 0.7), 0.9)
    assert strongest_looks(typical) == [1, 2, 3, 0]


def test_a_typical_sentence_leads_with_a_look_at_another_word() -> None:
    sentence = Sentence.of_typical(TYPICAL)
    assert sentence.looks[0] == Look(1, 0, 0.9)
    assert sentence.looks[-1] == Look(0, 0, 1.0)


def test_what_is_looked_at_in_another_text_stands_after_a_bar() -> None:
    cross = Typical(HEAD, ("le", "chat"), ("the", "cat"), (0, 1), (0.6, 0.9), 0.9)
    sentence = Sentence.of_typical(cross)
    assert sentence.words == ("le", "chat", "‖", "the", "cat")
    assert sentence.looks == (Look(1, 4, 0.9), Look(0, 3, 0.6))
