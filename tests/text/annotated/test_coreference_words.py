"""Head words and classes of mentions, by hand."""

import pytest

from headscope.text.annotated.coreference_words import (
    PRONOUNS,
    Form,
    begins_sentence,
    head_by_tags,
    head_by_tree,
    head_by_words,
    names_in,
    tagged_class,
    untagged_class,
)


def test_head_by_tree():
    heads = [2, 2, -1, 5, 5, 2]  # 0 1 -> 2 (root) <- 5 <- 3 4
    assert head_by_tree(heads, [0, 1]) == 0
    assert head_by_tree(heads, [0, 1, 2]) == 2
    assert head_by_tree(heads, [3, 4, 5]) == 5
    assert head_by_tree(heads, [3, 4]) == 3
    assert head_by_tree(heads, [0, 2]) == 2


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("the/DT old/JJ man/NN", "man"),
        ("the/DT man/NN in/IN the/DT moon/NN", "man"),
        ("all/DT of/IN them/PRP", "all"),
        ("about/IN 20/CD people/NNS in/IN town/NN", "people"),
        ("a/DT big/JJ ,/, red/JJ car/NN", "car"),
        ("Mary/NNP ,/, his/PRP$ wife/NN", "Mary"),
        ("John/NNP and/CC Mary/NNP", "John"),
        ("young/JJ and/CC old/JJ men/NNS", "men"),
        ("the/DT town/NN 's/POS mayor/NN", "mayor"),
        ("the/DT mayor/NN 's/POS", "mayor"),
        ("the/DT dog/NN barking/VBG all/DT night/NN", "dog"),
        ("the/DT barking/VBG dog/NN", "dog"),
        ("the/DT one/CD who/WP ran/VBD", "one"),
        ("the/DT poor/JJ", "poor"),
        ("that/DT", "that"),
        ("his/PRP$", "his"),
    ],
)
def test_head_by_tags(text, head):
    forms, tags = zip(*(word.split("/") for word in text.split()), strict=True)
    assert forms[head_by_tags(tags)] == head


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("the old man", "man"),
        ("the man in the moon", "man"),
        ("that man that I saw", "man"),
        ("the house we bought", "house"),
        ("one of the men", "one"),
        ("down the river , where it flows", "river"),
        ("a thin , elderly man", "man"),
        ("Mary , his wife", "Mary"),
        ("John and Mary", "John"),
        ("a tall and handsome man", "man"),
        ("the girl , and the boy", "girl"),
        ("a small , and dirty , town", "town"),
        ("out of the house", "house"),
        ("the girl ,", "girl"),
        ("the town ( and its church )", "town"),
        ("the mayor 's", "mayor"),
        ("his", "his"),
        ("“ Mary ”", "Mary"),
        ("...", "..."),
    ],
)
def test_head_by_words(text, head):
    forms = text.split()
    assert forms[head_by_words(forms)] == head


@pytest.mark.parametrize(
    ("upos", "xpos", "kind"),
    [
        ("PRON", "PRP$", "pronoun"),
        ("PRON", "DT", "pronoun"),
        ("PROPN", "NNP", "proper_noun"),
        ("NOUN", "NN", "common_noun"),
        ("DET", "DT", "common_noun"),
        ("VERB", "VBD", "common_noun"),
        ("NOUN", "NNP", "common_noun"),  # the universal tag counts
        ("_", "PRP", "pronoun"),
        ("_", "WP", "pronoun"),
        ("_", "NNPS", "proper_noun"),
        ("_", "NNS", "common_noun"),
    ],
)
def test_tagged_class(upos, xpos, kind):
    assert tagged_class(upos, xpos) == kind


def test_untagged_class():
    sentence = ["She", "and", "the", "Queen", "saw", "a", "king", ";", "Heaven", "knows", "."]
    kinds = {form: untagged_class(sentence, place, frozenset()) for place, form in enumerate(sentence)}
    assert kinds["She"] == "pronoun"
    assert kinds["Queen"] == kinds["Heaven"] == "proper_noun"
    assert kinds["king"] == "common_noun"
    assert untagged_class(["Alice", "ran"], 0, frozenset()) == "common_noun"
    assert untagged_class(["Alice", "ran"], 0, frozenset({"Alice"})) == "proper_noun"


def test_where_sentences_begin():
    sentence = ["“", "Now", ",", "”", "said", "he", ",", "“", "Run", "!", "”"]
    assert [begins_sentence(sentence, place) for place in (1, 4, 8)] == [True, False, True]
    assert names_in([["The", "Queen", "ran"], ["Men", "ran"]]) == {"Queen"}


def test_pronouns():
    assert PRONOUNS["his"] == Form("3", "Sing", "Masc")
    assert PRONOUNS["them"] == Form("3", "Plur", None)
    assert PRONOUNS["myself"] == Form("1", "Sing", None)
    assert all(word == word.lower() for word in PRONOUNS)
