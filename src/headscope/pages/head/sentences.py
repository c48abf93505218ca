"""A head at work: sentences on which it is most like itself, and cases of probes in which it finds what was asked."""

from collections import Counter
from collections.abc import Sequence

from headscope.atlas import Atlas, Example, Typical
from headscope.facts.card import Claim
from headscope.facts.description import description_of, direction_name
from headscope.facts.sentences import cases_of, cases_showing, is_special, look_in_words, strongest_looks
from headscope.pages.shapes.head import HeadExample, SentenceLinks, TypicalSentence
from headscope.pages.tokens import printable
from headscope.types import HeadId

MOST_AT_WORK = 2
MOST_EXAMPLES = 12
MOST_TYPICAL = 3
SPREAD = 0.25
"""Where no link is stronger, attention is spread."""

_LOOKS, _TAKES = ("look most at", "gives"), ("take most from", "takes from")
_NEAR = {-1: "the word before", 0: "themselves", 1: "the next word"}
_LIKENESS = {0.9: "just", 0.7: "much", 0.4: "something of", -1.0: "little of"}
"""How much of what it usually does a head does, by the least likeness."""


def examples(
    atlas: Atlas, stack: str, head: HeadId, claims: Sequence[Claim] = ()
) -> tuple[list[HeadExample], list[HeadExample]]:
    """The right cases that show what the claims of a head's card say; and all others, the surest first."""
    cases = cases_of(atlas, stack, head)
    shown = cases_showing(cases, [(claim.probe, claim.label) for claim in claims])[:MOST_AT_WORK]
    others = [case for case in cases if case not in shown][:MOST_EXAMPLES]
    return [_example(atlas, one) for one in shown], [_example(atlas, one) for one in others]


def _example(atlas: Atlas, example: Example) -> HeadExample:
    label = description_of(atlas, example.probe).row_name(example.label)
    asked = f"{label}, {direction_name(example.direction)}"
    return HeadExample(
        text=" ".join(example.words),
        words=list(example.words),
        marks=[example.asking, *example.right],
        weights=list(example.weights),
        guess=example.guess,
        is_right=example.is_right,
        is_looked_at=example.is_inward,
        note=f"{asked}: {look_in_words(example)} ({example.name}).",
    )


def typical_sentences(atlas: Atlas, stack: str, head: HeadId) -> list[TypicalSentence]:
    """The sentences where a head is most typical, the most typical first."""
    whole = [sentence for sentence in atlas.typical(head, stack=stack) if sentence.is_whole]
    return [_typical(sentence) for sentence in whole[:MOST_TYPICAL]]


def _typical(sentence: Typical) -> TypicalSentence:
    words, keys, moved = sentence.words, sentence.keys, sentence.by_moved
    return TypicalSentence(
        words=[printable(word) for word in words],
        keys=None if keys is None else [printable(word) for word in keys],
        likeness=sentence.likeness,
        special=sorted({word for word in (*words, *(keys or ())) if is_special(word)}),
        **dict(_links(sentence, _LOOKS)),
        moved=None if moved is None else _links(moved, _TAKES),
    )


def _links(sentence: Typical, verbs: tuple[str, str]) -> SentenceLinks:
    """Where the words look; with other `verbs`, what they take from there."""
    degree = next(words for least, words in _LIKENESS.items() if sentence.likeness >= least or least < 0)
    usual = f"{degree} what it usually does (likeness {sentence.likeness:.2f})"
    return SentenceLinks(
        looks_at=list(sentence.looks_at),
        weights=list(sentence.weights),
        strongest=strongest_looks(sentence),
        said="; ".join(part for part in (_habit(sentence, verbs), usual) if part),
    )


def _habit(sentence: Typical, verbs: tuple[str, str]) -> str:
    """What most of the words do alike, in words; "" where they do not."""
    most = max(sentence.weights, default=1.0)
    if most < SPREAD:
        return f"spread out: no word {verbs[1]} another more than {most:.2f}"
    counts: Counter[str] = Counter()
    for word, (place, target) in enumerate(zip(sentence.looks_at, sentence.targets, strict=True)):
        if sentence.keys is None and place - word in _NEAR:
            counts[_NEAR[place - word]] += 1
        if is_special(target):  # one that is also near is counted twice: what more words share is told
            counts[target] += 1
    [(name, count)] = counts.most_common(1) or [("", 0)]
    words = len(sentence.words)
    return f"{count} of {words} words {verbs[0]} {name}" if words and 2 * count >= words else ""
