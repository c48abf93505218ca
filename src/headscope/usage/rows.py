"""Cases as a network takes them, with the tokens whose log probabilities make the score.

A masked language model is shown the sentence with the word hidden: the dependent, or the word in which a pair differs.
A model that reads from left to right is scored on what comes after an edge: the rest of the later word and the word
after it, or for a pair all tokens from the word that differs on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from headscope.models import Model
from headscope.text.encode import EncodedInput, EncodedText, Shown, TextEncoder, with_tokens
from headscope.text.skipped import Skipped
from headscope.usage.examples import Case

Term = tuple[int, int, int]
"""(place, token, sign): the log probability of the token at the place, added or taken off."""


@dataclass(frozen=True)
class Row(Shown):
    """One input for the network."""

    case: int
    terms: tuple[Term, ...]

    def pieces(self, word: int) -> tuple[int, ...]:
        """The places of a word's tokens."""
        return _pieces(self.encoded.source, word)


@dataclass(frozen=True)
class Rows:
    """All rows, and the cases that could be used, which rows number."""

    cases: list[Case]
    rows: list[Row]


def encode(
    cases: Sequence[Case], model: Model, encoder: TextEncoder, *, causal: bool, skipped: Skipped
) -> Rows:
    """The cases as rows; those that cannot be scored are told in `skipped`."""
    kept = Rows([], [])
    for case in cases:
        good = encoder.encode_words(case.content).source
        bad = None if case.other is None else encoder.encode_words(case.other).source
        reason = _unusable(case, good, bad, causal=causal)
        if reason:
            skipped.add(f"{case.where}: {reason}")
            continue
        number = len(kept.cases)
        kept.cases.append(case)
        kept.rows.extend(
            _causal(case, number, good, bad) if causal else [_masked(case, number, good, bad, model)]
        )
    return kept


def _pieces(encoded: EncodedText, word: int) -> tuple[int, ...]:
    return tuple(place for place, own in enumerate(encoded.word) if own == word)


def _unusable(case: Case, good: EncodedText, bad: EncodedText | None, *, causal: bool) -> str:
    """Why a case cannot be scored; empty where it can."""
    words = [word for word in (case.dependent, case.governor, case.changed) if word is not None]
    if not all(_pieces(good, word) for word in words):
        return "a word has no token, or the sentence was cut before it"
    if bad is None:
        later = max(case.dependent or 0, case.governor or 0)
        return "no word follows to be predicted" if causal and not _after(good, later) else ""
    assert case.changed is not None
    pieces = len(_pieces(good, case.changed)), len(_pieces(bad, case.changed))
    if pieces[0] != pieces[1] and not causal:
        names = [text.words[case.changed] for text in (case.content, case.other) if text is not None]
        return f"{names[0]!r} and {names[1]!r} are {pieces[0]} and {pieces[1]} tokens; a mask hides as many of both"
    same = sum(own != other for own, other in zip(good.ids, bad.ids, strict=False))
    return "" if same else "both sentences have the same tokens"


def _masked(case: Case, number: int, good: EncodedText, bad: EncodedText | None, model: Model) -> Row:
    hidden = case.dependent if case.changed is None else case.changed
    assert hidden is not None
    places = _pieces(good, hidden)
    terms = [(place, good.ids[place], 1) for place in places]
    if bad is not None:
        terms += [(place, bad.ids[place], -1) for place in places]
    mask = int(model.tokenizer.mask_token_id)
    shown = with_tokens(good, dict.fromkeys(places, mask), model.tokenizer)
    return Row(EncodedInput(shown), number, tuple(terms))


def _after(encoded: EncodedText, word: int) -> list[int]:
    """The places of the tokens that are predicted from a word on: its own later pieces, and the next word."""
    first = _pieces(encoded, word)[0]
    following = next((own for own in encoded.word[first:] if own > word), None)
    return [
        place
        for place, own in enumerate(encoded.word)
        if place > first and own in (word, following) and own >= 0
    ] if following is not None else []  # fmt: skip


def _causal(case: Case, number: int, good: EncodedText, bad: EncodedText | None) -> list[Row]:
    if bad is None:
        later = max(case.dependent or 0, case.governor or 0)
        return [Row(EncodedInput(good), number, _predicted(good, _after(good, later), 1))]
    pairs = zip(good.ids, bad.ids, strict=False)
    first = next(place for place, (own, other) in enumerate(pairs) if own != other)
    return [
        Row(EncodedInput(text), number, _predicted(text, range(max(1, first), len(text)), sign))
        for text, sign in ((good, 1), (bad, -1))
    ]


def _predicted(encoded: EncodedText, places: Sequence[int], sign: int) -> tuple[Term, ...]:
    return tuple((place - 1, encoded.ids[place], sign) for place in places)
