"""Heads at work on the page: pictures of the examples that an atlas keeps, and a list of the rest."""

from collections.abc import Sequence

from headscope import figures
from headscope.atlas import Example
from headscope.facts.description import Description, direction_name
from headscope.facts.findings.know import object_of
from headscope.facts.sentences import look_in_words
from headscope.facts.subject import Subject
from headscope.facts.wording import count
from headscope.figures.style.theme import short
from headscope.figures.texts.arcs import arcs_size
from headscope.report.pictures import Picture, picture
from headscope.report.section import Part, Table

MOST_PICTURES = 8
WIDE = 4.8  # inches; a picture that needs more gets a row of its own
LONGEST_NAME = 40
WORDS_BEFORE, WORDS_AFTER = 8, 8

_HOW_TO_READ = (
    "Each picture is the text of the scored part in which the best head is right and most confident, so it shows the "
    "head at its best, not on average. The thicker a line, the more attention; arrows run from the word that looks to "
    "the word it looks at. The numbers below the words are attention in per cent; what goes to special tokens is not "
    "shown."
)


def at_work(subject: Subject, described: Description, labels: Sequence[str]) -> list[Part]:
    """The examples of a probe: pictures for the first few of `labels`, and a folded list of the others."""
    examples = subject.atlas.examples(described.name, stack=subject.stack)
    by_label = {example.label: example for example in examples if example.is_whole}
    shown = [by_label[label] for label in labels if label in by_label][:MOST_PICTURES]
    shown = shown or list(by_label.values())[:MOST_PICTURES]
    others = [example for example in by_label.values() if example not in shown]
    parts = []
    if shown:
        parts.append(
            Part("Heads at work", _HOW_TO_READ, [example_picture(described, example) for example in shown])
        )
    if others:
        title = f"{count(len(others), 'more example')}"
        parts.append(Part(title, tables=[_table(described, others)], is_folded=True))
    return parts


def example_picture(described: Description, example: Example, *, is_clear: bool = False) -> Picture:
    """A sentence as arcs from the word that asks to those its head looks at.

    Only where the head `is_clear` of what needs no attention, the title says what it does.
    """
    size = arcs_size(example)
    does = object_of(described, example.label, with_label=False) if is_clear else None
    name = f"{described.row_name(example.label)}: head {example.head}, {direction_name(example.direction)}"
    text = example.name if len(example.name) <= LONGEST_NAME else f"…{example.name[-LONGEST_NAME:]}"
    return picture(
        lambda ax: figures.head_at_work(example, ax=ax),
        size=size,
        title=name if does is None else f"Head {example.head} {does}",
        caption=f"{look_in_words(example, short)}. Text: {text}.",
        is_wide=size[0] > WIDE,
        is_text=True,
    )


def _table(described: Description, examples: Sequence[Example]) -> Table:
    rows = tuple(
        (
            described.row_name(example.label),
            f"{example.head}, {direction_name(example.direction)}",
            example.words[example.asking],
            example.words[example.guess] + ("" if example.is_right else " (wrong)"),
            f"{example.confidence:.0%}",
            _excerpt(example),
        )
        for example in examples
    )
    return Table(
        "The text that shows each other head best", ("", "Head", "Query", "Chosen", "Attention", "Text"), rows
    )


def _excerpt(example: Example) -> str:
    """The words around what matters, so that a long window stays a line or two."""
    first = max(0, min(example.asking, example.guess) - WORDS_BEFORE)
    last = min(len(example.words), max(example.asking, example.guess) + WORDS_AFTER + 1)
    words = " ".join(example.words[first:last])
    return f"{'… ' if first else ''}{words}{' …' if last < len(example.words) else ''}"
