import pytest

from headscope.tasks.qa import normalise, squad_scores


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  Cat!", "cat"),
        ("a.n. cat", "cat"),  # punctuation goes first, and what it leaves may be an article
        ("an-apple", "anapple"),
        ("theory of the\tAN", "theory of"),
        ("$5.00", "500"),
        ("Café—bar", "café—bar"),  # only ASCII punctuation
        ("the", ""),
    ],
)
def test_normalise(text: str, expected: str) -> None:
    assert normalise(text) == expected


# F1 by hand: 2 * shared / (words of the one + words of the other).
@pytest.mark.parametrize(
    ("prediction", "golds", "em", "f1"),
    [
        ("Denver Broncos", ["Denver Broncos", "the Broncos"], 1, 1),
        ("The Denver Broncos!", ["denver broncos"], 1, 1),
        ("Santa Clara, California", ["Santa Clara"], 0, 2 * 2 / (3 + 2)),
        ("gold gold", ["gold"], 0, 2 * 1 / (2 + 1)),  # a word counts as often as both have it
        ("gold gold", ["gold red gold"], 0, 2 * 2 / (2 + 3)),
        ("golden anniversary", ["gold-themed", "the 50th golden anniversary"], 0, 2 * 2 / (2 + 3)),
        ("west", ["east"], 0, 0),
        ("", ["east"], 0, 0),
    ],
)
@pytest.mark.parametrize("impossible", [False, True])
def test_scores_are_the_best_over_the_right_answers(
    prediction: str, golds: list[str], em: float, f1: float, impossible: bool
) -> None:
    assert squad_scores(prediction, golds, impossible=impossible) == pytest.approx((em, f1))


def test_exact_match_and_f1_may_come_from_different_answers() -> None:
    assert squad_scores("a b c", ["b", "b c d"]) == pytest.approx((0, 2 * 2 / (2 + 3)))


def test_where_nothing_is_left_the_two_versions_differ() -> None:
    assert squad_scores("the", ["a"]) == (1, 0)
    assert squad_scores("the", ["a"], impossible=True) == (1, 1)
    # An answer of which nothing is left does not make a question impossible as long as there is another one.
    assert squad_scores("", ["the", "cat"], impossible=True) == (0, 0)


def test_questions_without_an_answer() -> None:
    assert squad_scores("", [], impossible=True) == (1, 1)
    assert squad_scores("cat", [], impossible=True) == (0, 0)
    assert squad_scores("", ["cat"], impossible=True) == (0, 0)
