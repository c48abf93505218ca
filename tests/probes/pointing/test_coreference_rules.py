"""Baselines on documents whose answers are known by hand."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.helpers.coreference import columns, conllu, litbank, written

from headscope.probes.pointing.coreference import Window, windows
from headscope.probes.pointing.coreference_rules import RULES, Mentioned, Traits, cascade, head_match, nearest
from headscope.text.annotated.coreference import read_coreference


def window_of(folder: Path, text: str) -> Window:
    (document,) = read_coreference(written(folder, text))
    (window,) = windows(document)
    return window


def mention(head: int, text: str, *, number: str = "", gender: str = "", person: str = "3") -> Mentioned:
    traits = Traits(*(frozenset({value} if value else ()) for value in (number, gender, person)))
    words = text.split()
    return Mentioned("e", "common_noun", head, len(words), text, words[-1], traits)


MAYOR = mention(1, "the old mayor", number="Sing")
QUEEN = mention(3, "the queen", number="Sing", gender="Fem")
MEN = mention(5, "the men", number="Plur", gender="Masc")
OLD_QUEEN = mention(7, "the old queen", number="Sing", gender="Fem")
EARLIER = [MAYOR, QUEEN, MEN, OLD_QUEEN]


@pytest.mark.parametrize(
    ("asking", "answers"),
    [
        (mention(9, "the queen", number="Sing", gender="Fem"), (7, 7, 3)),  # the whole string comes first
        (mention(9, "a queen", number="Sing", gender="Fem"), (7, 7, 7)),
        (mention(9, "they", number="Plur"), (7, None, 5)),
        (mention(9, "he", number="Sing", gender="Masc"), (7, None, 1)),  # the mayor may be a man
        (mention(9, "it", number="Sing", gender="Neut"), (7, None, 1)),
        (mention(9, "you", person="2"), (7, None, 7)),  # nothing agrees: the nearest
    ],
)
def test_answers(asking, answers):
    assert (nearest(asking, EARLIER), head_match(asking, EARLIER), cascade(asking, EARLIER)) == answers


def test_nothing_before():
    assert [rule(MAYOR, []) for rule in RULES.values()] == [None, None, None]


def traits(window: Window) -> dict[str, tuple[set[str], set[str], set[str]]]:
    return {
        one.text: (set(one.traits.number), set(one.traits.gender), set(one.traits.person))
        for one in window.mentions
    }


def with_entity(words: Sequence[str]) -> Sequence[Sequence[str]]:
    """The words in two sentences, so that every entity is mentioned twice."""
    return [words, words]


def test_traits_from_features(tmp_path):
    text = conllu(with_entity(["El/PRON/0/(e1-x-1-)", "casa/NOUN/1/(e2-x-1-)", "gente/NOUN/1/(e3-x-1-)"]))
    text = text.replace("el\tPRON\t_\t_", "el\tPRON\t_\tGender=Masc|Number=Sing|Person=3|PronType=Prs")
    text = text.replace("casa\tNOUN\t_\t_", "casa\tNOUN\t_\tGender=Fem|Number=Plur,Sing")
    assert traits(window_of(tmp_path, text)) == {
        "el": ({"Sing"}, {"Masc"}, {"3"}),
        "casa": ({"Sing", "Plur"}, {"Fem"}, {"3"}),
        "gente": ({"Sing"}, set(), {"3"}),
    }


def test_traits_from_tags(tmp_path):
    sentence = [
        "dogs/NNS/(1)",
        "sheep/NN/(2)",
        "I/PRP/(3)",
        "Mrs./NNP/(4",
        "Dean/NNP/4)",
        "John/NNP/(5",
        "and/CC",
        "Mary/NNP/5)",
        "them/PRP/(6)",
    ]
    assert traits(window_of(tmp_path, columns(*with_entity(sentence)))) == {
        "dogs": ({"Plur"}, set(), {"3"}),
        "sheep": ({"Sing"}, set(), {"3"}),
        "i": ({"Sing"}, set(), {"1"}),
        "mrs. dean": ({"Sing"}, {"Fem"}, {"3"}),
        "john and mary": ({"Plur"}, set(), {"3"}),
        "them": ({"Plur"}, set(), {"3"}),
    }


def test_traits_from_words_alone(tmp_path):
    sentence = ["so", "houses/(1)", "women/(2)", "the/(3", "boy/3)", "James/(4)", "glass/(5)", "you/(6)"]
    assert traits(window_of(tmp_path, litbank(*with_entity(sentence)))) == {
        "houses": ({"Plur"}, set(), {"3"}),
        "women": ({"Plur"}, {"Fem"}, {"3"}),
        "the boy": ({"Sing"}, {"Masc"}, {"3"}),
        "james": (set(), set(), {"3"}),
        "glass": ({"Sing"}, set(), {"3"}),
        "you": (set(), set(), {"2"}),
    }


def test_what_may_be_of_either_gender_agrees_with_both() -> None:
    either = Traits(frozenset({"Sing"}), frozenset({"Masc", "Fem"}), frozenset())
    man, woman, thing = (
        Traits(frozenset({"Sing"}), frozenset({gender}), frozenset({"3"}))
        for gender in ("Masc", "Fem", "Neut")
    )
    assert either.agrees(man)
    assert woman.agrees(either)
    assert not either.agrees(thing)
