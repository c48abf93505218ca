"""Sentences of a head at work: which of those that an atlas keeps show it best, and which looks stand for each."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from headscope.atlas import Atlas, Example, Typical
from headscope.facts.titles import AtlasWords
from headscope.remembered import once
from headscope.types import HeadId

MOST_LOOKS = 5
"""How many looks stand for a typical sentence."""
WORTH_IT = 0.25
"""Weaker than this share of the strongest, a look from word to word does not stand for what the head does."""
LEAST_DRAWN = 0.01
"""Attention below this has no line."""
BETWEEN = "‖"
"""What stands between the words that look and those of another text that are looked at."""

_SPECIAL = re.compile(r"\[(?:[A-Z]+|unused)\d*\]|<[\w|/-]*\w[\w|/-]*>")


@dataclass(frozen=True)
class Look:
    """Attention from one word to another."""

    asks: int
    target: int
    weight: float


@dataclass(frozen=True)
class Sentence:
    """Words in a line and looks between them, the one that stands for the sentence first."""

    words: tuple[str, ...]
    looks: tuple[Look, ...]
    roles: Mapping[int, str] = field(default_factory=dict)
    """What words are in a probe's case: `query` or, where it is the one that others look at, `looked at`; `found`,
    `guess`, `right`."""

    @property
    def said(self) -> str:
        """The look that stands for the sentence, in words; empty where there is none."""
        if not self.looks:
            return ""
        look = self.looks[0]
        target = "itself" if look.asks == look.target else f"“{self.words[look.target]}”"
        return f"“{self.words[look.asks]}” gives {target} {look.weight:.0%} of its attention."

    @classmethod
    def of_example(cls, example: Example) -> "Sentence":
        """A probe's case: looks between the word that asks and every word, the head's choice first."""
        asking, guess = example.asking, example.guess
        others = sorted(range(len(example.words)), key=lambda word: (word != guess, -example.weights[word]))
        looks = [
            Look(*((word, asking) if example.is_inward else (asking, word)), example.weights[word])
            for word in others
        ]
        roles = dict.fromkeys(example.right, "right")
        roles |= {guess: "found" if example.is_right else "guess"}
        roles[asking] = "looked at" if example.is_inward else "query"
        return cls(example.words, tuple(looks), roles)

    @classmethod
    def of_typical(cls, typical: Typical) -> "Sentence":
        """A typical sentence: its strongest looks; what is looked at in another text stands after a bar."""
        words, start = typical.words, 0
        if typical.keys is not None:
            words, start = (*words, BETWEEN, *typical.keys), len(words) + 1
        looks = [
            Look(word, start + typical.looks_at[word], typical.weights[word])
            for word in strongest_looks(typical)
        ]
        return cls(words, tuple(sorted(looks, key=lambda look: look.asks == look.target)))


def look_in_words(example: Example, written: Callable[[str], str] = str) -> str:
    """Who looks at whom in a probe's case, how much, and whether that is right; words as they are `written`."""
    asking, chosen = (written(example.words[word]) for word in (example.asking, example.guess))
    looks, at = (chosen, asking) if example.is_inward else (asking, chosen)
    verdict = "right" if example.is_right else "wrong"
    return f"“{looks}” looks at “{at}” with {example.confidence:.0%} of its attention, which is {verdict}"


def cases_of(atlas: Atlas, stack: str, head: HeadId) -> list[Example]:
    """The cases of all probes that an atlas keeps of a head, those it has right first, the surest first."""
    return _whole_cases(atlas, stack).get(head, [])


@once
def _whole_cases(atlas: Atlas, stack: str) -> dict[HeadId, list[Example]]:
    """The same of every head that has any."""
    cases: dict[HeadId, list[Example]] = {}
    for probe in AtlasWords(atlas).probes:
        for example in atlas.examples(probe, stack=stack):
            if example.is_whole:
                cases.setdefault(example.head, []).append(example)
    for known in cases.values():
        known.sort(key=lambda example: (not example.is_right, -example.confidence))
    return cases


def cases_showing(cases: Sequence[Example], claims: Sequence[tuple[str, str]]) -> list[Example]:
    """The right cases of these probes and labels, in the order of the claims."""
    shown = [case for case in cases if case.is_right and (case.probe, case.label) in claims]
    return sorted(shown, key=lambda case: claims.index((case.probe, case.label)))


def best_sentence(
    atlas: Atlas, stack: str, head: HeadId, claims: Sequence[tuple[str, str]]
) -> Sentence | None:
    """The case that shows the first of the claims, else the sentence where the head is most typical, if any is kept."""
    for case in cases_showing(cases_of(atlas, stack, head), claims):
        return Sentence.of_example(case)
    return next((Sentence.of_typical(one) for one in atlas.typical(head, stack=stack) if one.is_whole), None)


def strongest_looks(sentence: Typical) -> list[int]:
    """The words whose looks are strongest, strongest first.

    Half of the looks at least go from word to word, where such are not much weaker than those to special tokens; the
    same words are not told twice. A special token's look at itself comes last: a decoder's first token has no choice.
    """
    idle = [
        sentence.keys is None and place == word and is_special(sentence.words[word])
        for word, place in enumerate(sentence.looks_at)
    ]
    order = sorted(range(len(sentence.words)), key=lambda word: (idle[word], -sentence.weights[word]))
    pairs: dict[tuple[str, str], int] = {}
    targets = sentence.targets  # put together at each asking
    for word in order:
        pairs.setdefault((sentence.words[word], targets[word]), word)
    limit = WORTH_IT * max(sentence.weights, default=0.0)
    plain = [
        word
        for pair, word in pairs.items()
        if sentence.weights[word] >= limit and not any(map(is_special, pair))
    ]
    first = plain[: (MOST_LOOKS + 1) // 2]
    rest = [word for word in pairs.values() if word not in first][: MOST_LOOKS - len(first)]
    return sorted([*first, *rest], key=order.index)


def is_special(piece: str) -> bool:
    """Whether a token looks like a special one: [CLS], [unused1], <s>, <|endoftext|>."""
    return _SPECIAL.fullmatch(piece) is not None
