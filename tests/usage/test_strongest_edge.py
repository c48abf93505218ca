"""Where nobody says which words a relation is between, it is the strongest edge at the word that differs."""

import numpy as np

from headscope.text.words import WordText
from headscope.usage.edges import relation_edge
from headscope.usage.examples import Case

CASE = Case(WordText("ab cd ef", ((0, 2), (3, 5), (6, 8))), None, None, frozenset(), 0, "here", changed=1)


def edge_in(weights: list[list[float]]) -> tuple[int, int] | None:
    return relation_edge(CASE, np.array(weights), inward=False, causal=False)


def test_the_largest_weight_to_or_from_the_word_is_taken_and_its_own_is_not() -> None:
    assert edge_in([[0.9, 0.2, 0], [0.3, 0.9, 0.4], [0.9, 0.1, 0]]) == (1, 2)
    assert edge_in([[0.9, 0.6, 0], [0.3, 0.9, 0.4], [0.9, 0.1, 0]]) == (0, 1)


def test_a_word_that_no_attention_touches_has_no_edge() -> None:
    assert edge_in([[0.5, 0, 0.5], [0, 1, 0], [0.5, 0, 0.5]]) is None
