"""A head's card on the terminal and as JSON: its sentences, and the one that shows it best with its strongest arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope.cli.page import Page
    from headscope.facts.card import Card
    from headscope.facts.sentences import Sentence

WIDEST = 100
"""Columns that a sentence takes at most, however wide the terminal is."""
INDENT = "  "
_GAP = "…"


def card_facts(card: Card) -> dict[str, Any]:
    """What a script wants to know of a card."""
    from headscope.facts.sentences import LEAST_DRAWN  # loads scipy, which --help does without

    sentence = card.sentence
    return {
        "model": card.model,
        "head": str(card.head),
        "stack": card.stack,
        "kind": card.kind,
        "sentences": card.sentences,
        "finds": [claim.text for claim in card.finds],
        "looks": [claim.text for claim in card.looks],
        "is_not": card.is_not,
        "explained": card.explained,
        "used": card.used,
        "without": card.without,
        "picture": None
        if sentence is None
        else {
            "words": list(sentence.words),
            "arrows": [
                {"from": look.asks, "to": look.target, "weight": look.weight}
                for look in sentence.looks
                if look.weight >= LEAST_DRAWN
            ],
            "said": sentence.said,
        },
    }


def print_card(page: Page, card: Card) -> None:
    """The card, its picture last."""
    page.say(card.title, bold=True)
    for text in card.sentences:
        page.wrapped(INDENT, text)
    if card.sentence is not None and card.sentence.looks:
        room = min(page.console.width, WIDEST) - len(INDENT)
        page.say("", *(INDENT + line for line in arrow_lines(card.sentence, room)))


def _width(text: str) -> int:
    from rich.cells import cell_len  # loads Rich, which --help does without

    return cell_len(text)


def arrow_lines(sentence: Sentence, room: int) -> list[str]:
    """The words in one line of at most `room` columns where they fit, and below it an arrow: the strongest look."""
    look = sentence.looks[0]
    first, last = sorted((look.asks, look.target))
    shown = set(range(len(sentence.words)))
    if _width(_line(sentence, shown)) > room:
        shown = {first, last}
        for word in sorted(
            range(len(sentence.words)), key=lambda word: min(abs(word - first), abs(word - last))
        ):
            if _width(_line(sentence, shown | {word})) > room:
                break
            shown.add(word)
    left, right = (_middle(sentence, shown, word) for word in (first, last))
    weight = f"{look.weight:.0%}"
    if first == last:
        return [_line(sentence, shown), " " * left + f"▲ {weight} to itself"]
    ends = "▲┘" if look.target == first else "└▲"
    inner = right - left - 1
    label = f" {weight} ".center(inner, "─") if inner >= len(weight) + 2 else "─" * inner
    beside = "" if inner >= len(weight) + 2 else f" {weight}"
    return [_line(sentence, shown), " " * left + ends[0] + label + ends[1] + beside]


def _pieces(sentence: Sentence, shown: set[int]) -> list[tuple[int, str]]:
    """The words that are shown and, with the number -1, what stands for a run of others."""
    pieces: list[tuple[int, str]] = []
    for place, word in enumerate(sentence.words):
        if place in shown:
            pieces.append((place, " ".join(word.split()) or "␣"))
        elif not pieces or pieces[-1][0] >= 0:
            pieces.append((-1, _GAP))
    return pieces


def _line(sentence: Sentence, shown: set[int]) -> str:
    return " ".join(text for _, text in _pieces(sentence, shown))


def _middle(sentence: Sentence, shown: set[int], wanted: int) -> int:
    """The column below the middle of a word."""
    column = 0
    for place, text in _pieces(sentence, shown):
        if place == wanted:
            return column + (_width(text) - 1) // 2
        column += _width(text) + 1
    return column
