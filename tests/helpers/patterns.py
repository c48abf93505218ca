"""What named patterns and templates point at, from a query at a key of a made text: slow and obvious."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from tests.helpers.attention import Text

Points = Callable[[Text, int, int], bool]
"""Whether it points from this query at this key."""


def _is_word(text: Text, place: int) -> bool:
    return text.word[place] >= 0


def _same_word(text: Text, query: int, key: int) -> bool:
    equal = text.word_type[query] == text.word_type[key] >= 0
    return equal and text.word[query] != text.word[key]


def _is_pair(text: Text) -> bool:
    return 1 in text.segment


def _own_sentence(text: Text, query: int, key: int) -> bool:
    return text.segment[query] == text.segment[key] >= 0


def _other_sentence(text: Text, query: int, key: int) -> bool:
    return {text.segment[query], text.segment[key]} == {0, 1}


def _induction(text: Text, query: int, key: int) -> bool:
    return 1 <= key < query and text.ids[key - 1] == text.ids[query]


PATTERNS: dict[str, Points] = {
    "next_word": lambda t, q, k: (
        _is_word(t, q) and _is_word(t, k) and t.segment[q] == t.segment[k] and t.word[k] == t.word[q] + 1
    ),
    "previous_word": lambda t, q, k: (
        _is_word(t, q) and _is_word(t, k) and t.segment[q] == t.segment[k] and t.word[k] == t.word[q] - 1
    ),
    "same_word": _same_word,
    "same_word_other_sentence": lambda t, q, k: _same_word(t, q, k) and t.segment[q] != t.segment[k],
    "induction": _induction,
    "duplicate_token": lambda t, q, k: k < q and t.ids[k] == t.ids[q],
    "delimiters": lambda t, q, k: t.token_class[k] == "sep",
    "own_sentence": lambda t, q, k: _is_pair(t) and _own_sentence(t, q, k),
    "other_sentence": lambda t, q, k: _is_pair(t) and _other_sentence(t, q, k),
    "first_token": lambda t, q, k: q > 0 and k == 0,
}
PAIR_PATTERNS = tuple(PATTERNS)[:6]
"""Those whose keys differ from query to query."""


def _offset(by: int) -> Points:
    return lambda t, q, k: k - q == by


TEMPLATES: dict[str, Points] = {
    "even": lambda t, q, k: True,
    "self": _offset(0),
    **{f"offset_{by}": _offset(by) for by in (-3, -2, -1, 1, 2, 3)},
    "first_token": lambda t, q, k: k == 0,
    "delimiters": lambda t, q, k: t.token_class[k] == "sep",
    "punctuation": lambda t, q, k: t.token_class[k] in {"period", "comma"},
    "same_word": _same_word,
    "same_word_other_sentence": lambda t, q, k: _same_word(t, q, k) and _other_sentence(t, q, k),
    "induction": _induction,
    "own_sentence": _own_sentence,
    "other_sentence": _other_sentence,
}
SYNTAX_TEMPLATES: dict[str, Points] = {
    "syntactic_head": lambda t, q, k: t.word[k] == t.governor[q] >= 0,  # type: ignore[index]
    "dependents": lambda t, q, k: t.governor[k] == t.word[q] and t.governor[k] >= 0,  # type: ignore[index]
}


def template_rows(text: Text, points: Points, *, causal: bool) -> NDArray[np.float64]:
    """(query, key) uniform over the keys that a template points at; over all visible keys where it points at none."""
    rows = np.zeros((len(text), len(text)))
    for query in range(len(text)):
        visible = range(query + 1 if causal else len(text))
        keys = [key for key in visible if points(text, query, key)]
        rows[query, keys or list(visible)] = 1 / len(keys or visible)
    return rows


def shifted(text: Text) -> Text:
    """The text with every token but the first and the last moved to the left by a third of them."""
    inner = list(range(1, len(text) - 1))
    by = -(-len(inner) // 3)
    order = [0, *inner[by:], *inner[:by], *range(max(1, len(text) - 1), len(text))]
    columns = (text.ids, text.role, text.segment, text.word, text.word_type)
    ids, role, segment, word, word_type = ([column[place] for place in order] for column in columns)
    return replace(text, ids=ids, role=role, segment=segment, word=word, word_type=word_type)
