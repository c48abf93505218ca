"""Antecedents without a model: the nearest mention, the same head word, and a cascade of rules.

The cascade follows Clark et al. (2019), who follow Lee et al. (2011): full-string match, then head-word match, then
agreement in number, gender and person, then all others; the nearest first in each.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from headscope.data import english
from headscope.text.annotated.coreference import Mention
from headscope.text.annotated.coreference_words import PRONOUNS, MentionClass
from headscope.text.annotated.treebank import UNKNOWN, TaggedSentence, features_of

Trait = frozenset[str]
"""The values something may have; empty when nothing is known."""

_PEOPLE = english("people")
_GENDER: Mapping[str, str] = {
    **dict.fromkeys(_PEOPLE["male"], "Masc"),
    **dict.fromkeys(_PEOPLE["female"], "Fem"),
}
_SINGULAR_ENDINGS = ("ss", "us", "is")


class Traits(NamedTuple):
    """Number, gender and person of a mention, as far as they are known."""

    number: Trait
    gender: Trait
    person: Trait

    def agrees(self, other: "Traits") -> bool:
        """Whether nothing that is known of both speaks against their being the same."""
        return all(not mine or not theirs or mine & theirs for mine, theirs in zip(self, other, strict=True))


@dataclass(frozen=True)
class Mentioned:
    """A mention as the rules see it."""

    entity: str
    kind: MentionClass
    head: int  # index of its head word in the window
    words: int  # how many it has
    text: str  # all its words, in lower case
    head_text: str
    traits: Traits

    @classmethod
    def of(cls, mention: Mention, sentence: TaggedSentence, *, start: int) -> "Mentioned":
        """A mention of a sentence whose first word is number `start` of the window."""
        return cls(
            entity=mention.entity,
            kind=mention.kind,
            head=start + mention.head,
            words=len(mention.words),
            text=" ".join(sentence.forms[word].lower() for word in mention.words),
            head_text=sentence.forms[mention.head].lower(),
            traits=traits_of(mention, sentence),
        )


def traits_of(mention: Mention, sentence: TaggedSentence) -> Traits:
    """What is known of a mention: from the features of its head word, else from tags and English word lists."""
    form = sentence.forms[mention.head].lower()
    features = features_of(sentence.features[mention.head])
    pronoun = PRONOUNS.get(form) if mention.kind == "pronoun" else None

    def known(name: str, otherwise: str | None) -> Trait:
        value = features.get(name) or otherwise
        return frozenset(value.split(",")) if value else frozenset()

    if mention.kind == "pronoun":
        number, gender, person = (pronoun.number, pronoun.gender, pronoun.person) if pronoun else (None,) * 3
    else:
        number, gender, person = _noun_number(mention, sentence), _noun_gender(mention, sentence), "3"
    if _is_joined(mention, sentence):
        return Traits(frozenset({"Plur"}), frozenset(), known("Person", person))
    return Traits(known("Number", number), known("Gender", gender), known("Person", person))


def _is_joined(mention: Mention, sentence: TaggedSentence) -> bool:
    """Whether the mention is of several, such as "John and Mary": an "and" follows its head word."""
    following = mention.head + 1
    return following in mention.words and sentence.forms[following].lower() in ("and", "&")


def _noun_number(mention: Mention, sentence: TaggedSentence) -> str | None:
    form, tag = sentence.forms[mention.head].lower(), sentence.xpos[mention.head]
    if tag != UNKNOWN:
        return "Plur" if tag in ("NNS", "NNPS") else "Sing" if tag in ("NN", "NNP") else None
    if mention.kind == "proper_noun":
        return None  # James, the Alps
    if form in _PEOPLE["irregular_plurals"]:
        return "Plur"
    return "Plur" if form.endswith("s") and not form.endswith(_SINGULAR_ENDINGS) else "Sing"


def _noun_gender(mention: Mention, sentence: TaggedSentence) -> str | None:
    if gender := _GENDER.get(sentence.forms[mention.head].lower()):
        return gender
    before = (sentence.forms[word].lower() for word in mention.words if word < mention.head)
    titles = [word for word in before if word in _PEOPLE["titles"]]
    return _GENDER[titles[-1]] if titles and mention.kind == "proper_noun" else None


def nearest(asking: Mentioned, earlier: Sequence[Mentioned]) -> int | None:
    """The head word of the nearest earlier mention; `earlier` is in the order of head words."""
    return earlier[-1].head if earlier else None


def head_match(asking: Mentioned, earlier: Sequence[Mentioned]) -> int | None:
    """That of the nearest with the same head word; None when there is none, which counts as wrong."""
    return nearest(asking, [mention for mention in earlier if mention.head_text == asking.head_text])


def cascade(asking: Mentioned, earlier: Sequence[Mentioned]) -> int | None:
    """That of the nearest that passes the first sieve which any passes."""
    for sieve in SIEVES:
        if passed := [mention for mention in earlier if sieve(asking, mention)]:
            return nearest(asking, passed)
    return nearest(asking, earlier)


SIEVES: tuple[Callable[[Mentioned, Mentioned], bool], ...] = (
    lambda asking, mention: mention.text == asking.text,
    lambda asking, mention: mention.head_text == asking.head_text,
    lambda asking, mention: mention.traits.agrees(asking.traits),
)

RULES: Mapping[str, Callable[[Mentioned, Sequence[Mentioned]], int | None]] = {
    "nearest": nearest,
    "head_match": head_match,
    "rules": cascade,
}
"""The baselines by name."""
