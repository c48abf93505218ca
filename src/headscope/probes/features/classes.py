"""The classes of words whose attention is looked at: nouns, verbs, pronouns, subjects, objects, negation."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from headscope.text.annotated.treebank import ParsedSentence, base_relation, features_of
from headscope.text.words import WordText

WORD_FEATURES = ("noun", "verb", "pronoun", "subject", "object", "negation")
"""The classes that an annotation tells; a word may have several, or none."""

FEATURES = (*WORD_FEATURES, "cls", "sep")
"""All classes; the last two are known from the tokenizer."""

# Names are nouns, and auxiliaries verbs: without them "it is red" would be a sentence without a verb.
_PARTS_OF_SPEECH = {"NOUN": "noun", "PROPN": "noun", "VERB": "verb", "AUX": "verb", "PRON": "pronoun"}

# Universal Dependencies first, then the older names that spaCy's English pipelines give.
_RELATIONS = {
    "nsubj": "subject",
    "csubj": "subject",
    "obj": "object",
    "iobj": "object",
    "nsubjpass": "subject",
    "csubjpass": "subject",
    "dobj": "object",
    "dative": "object",
    "neg": "negation",
}

_NEGATIVE = {("Polarity", "Neg"), ("PronType", "Neg")}

# For annotations that leave negation out of FEATS.
_NEGATIONS = frozenset(
    ("not", "n't", "n’t", "never", "no", "none", "nobody", "nothing", "nowhere", "neither", "nor")
)
_NEVER_NEGATIONS = ("NOUN", "PROPN", "VERB")  # German Not is need, and "no" can be a misspelt know


@dataclass(frozen=True)
class FeatureText:
    """A sentence with the classes of its words."""

    sentence: ParsedSentence
    number: int
    """Its place among all that were read."""

    @property
    def content(self) -> WordText:
        """The words the model is shown."""
        return self.sentence.content

    @property
    def document(self) -> int:
        """The number of its document."""
        return self.sentence.document

    @property
    def signature(self) -> str:
        """What the hash of the data is made of."""
        return f"{self.content.text}\0{self.targets!r}\n"

    @cached_property
    def targets(self) -> tuple[tuple[int, str], ...]:
        """Every word that has a class, with it; a word of several classes once for each."""
        return tuple(_targets(self.sentence))


def _targets(sentence: ParsedSentence) -> Iterator[tuple[int, str]]:
    for word, (form, upos, features, relation) in enumerate(
        zip(sentence.forms, sentence.upos, sentence.features, sentence.relations, strict=True)
    ):
        classes = {_PARTS_OF_SPEECH.get(upos), _RELATIONS.get(base_relation(relation))}
        if _negates(form, upos, features):
            classes.add("negation")
        yield from ((word, feature) for feature in WORD_FEATURES if feature in classes)


def _negates(form: str, upos: str, features: str) -> bool:
    if form.lower() in _NEGATIONS and upos not in _NEVER_NEGATIONS:
        return True
    pairs = features_of(features).items()
    return any((name, value) in _NEGATIVE for name, values in pairs for value in values.split(","))
