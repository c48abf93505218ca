"""What the model is scored on: a relation in a sentence, and for minimal pairs the sentence with one word changed."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from headscope.text.annotated.minimal_pairs import MinimalPair
from headscope.text.annotated.treebank import ParsedSentence, base_relation, features_of
from headscope.text.words import WordText

Score = Literal["word", "agreement", "pairs"]
"""What is scored: a word of the treebank, pairs made of the treebank's verbs, or pairs of a file."""

FEWEST_BETWEEN = 2
"""How many words a subject is from its verb, at least, in pairs made of the treebank."""
_NUMBERS = {"Sing": "Plur", "Plur": "Sing"}


@dataclass(frozen=True)
class Case:
    """A relation in a sentence, and for a pair the same sentence with one word changed."""

    content: WordText
    dependent: int | None
    governor: int | None
    """None for both where only the head can tell where the edge is."""
    same: frozenset[tuple[int, int]]
    """All (dependent, governor) of the relation in the sentence, which no control may be."""
    sentence: int
    where: str
    other: WordText | None = None
    changed: int | None = None

    @property
    def document(self) -> int:
        """Its sentence: cases of one are one unit."""
        return self.sentence

    @property
    def signature(self) -> str:
        """All of it that matters, in writing."""
        other = "" if self.other is None else self.other.text
        return f"{self.content.text}\0{self.dependent}\0{self.governor}\0{other}\n"


def relation_cases(sentences: Iterable[ParsedSentence], relation: str) -> Iterator[Case]:
    """A case for every word of a relation; `relation` may be a base relation, which has its subtypes."""
    for number, sentence in enumerate(sentences):
        edges = _edges(sentence, relation)
        for dependent, governor in edges:
            where = sentence.where(dependent)
            yield Case(sentence.content, dependent, governor, frozenset(edges), number, where)


def agreement_cases(
    sentences: Iterable[ParsedSentence], relation: str, *, corpus: Iterable[ParsedSentence]
) -> Iterator[Case]:
    """Pairs in which a verb has the number of its subject or the other one, through the forms of the whole corpus."""
    forms = _verb_forms(corpus)
    for number, sentence in enumerate(sentences):
        edges = _edges(sentence, relation)
        for subject, verb in edges:
            swapped = forms.get(_swapped(sentence, verb), "")
            if abs(subject - verb) < FEWEST_BETWEEN or not swapped:
                continue
            words = list(sentence.forms)
            words[verb] = swapped if words[verb].islower() else swapped.capitalize()
            spaces = [after[0] > before[1] for before, after in pairwise(sentence.content.spans)]
            other = WordText.of(words, space_after=[*spaces, False])
            where = sentence.where(verb)
            yield Case(sentence.content, subject, verb, frozenset(edges), number, where, other, verb)


def pair_cases(pairs: Iterable[MinimalPair]) -> Iterator[Case]:
    """A case for every minimal pair of a file."""
    for number, pair in enumerate(pairs):
        dependent, governor = pair.edge or (None, None)
        same = frozenset() if pair.edge is None else frozenset([pair.edge])
        yield Case(pair.good, dependent, governor, same, number, pair.where, pair.bad, pair.changed)


def _edges(sentence: ParsedSentence, relation: str) -> list[tuple[int, int]]:
    return [
        (word, head)
        for word, (head, name) in enumerate(zip(sentence.heads, sentence.relations, strict=True))
        if head >= 0 and relation in (name, base_relation(name))
    ]


def _paradigm(sentence: ParsedSentence, word: int) -> tuple[str, str] | None:
    """The lemma and the number of a present verb in the third person or of one without; None for all else."""
    if not sentence.lemmas:
        return None
    features = features_of(sentence.features[word])
    number = features.get("Number", "")
    is_present = features.get("VerbForm") == "Fin" and features.get("Tense") == "Pres"
    is_verb = sentence.upos[word] in ("VERB", "AUX") and features.get("Person", "3") == "3"
    return (sentence.lemmas[word], number) if is_verb and is_present and number in _NUMBERS else None


def _verb_forms(sentences: Iterable[ParsedSentence]) -> dict[tuple[str, str] | None, str]:
    """By lemma and number the most frequent form of every verb."""
    counts: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for sentence in sentences:
        for word, form in enumerate(sentence.forms):
            if (key := _paradigm(sentence, word)) is not None:
                counts[key][form.lower()] += 1
    return {key: max(forms, key=lambda form: (forms[form], form)) for key, forms in counts.items()}


def _swapped(sentence: ParsedSentence, word: int) -> tuple[str, str] | None:
    key = _paradigm(sentence, word)
    return None if key is None else (key[0], _NUMBERS[key[1]])
