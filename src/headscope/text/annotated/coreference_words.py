"""What a mention's words tell: its head word, and whether that is a pronoun, a name or a common noun.

The word lists are English. They are used only where a file gives no tree (heads) and no tags (classes).
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from headscope.data import english

MentionClass = Literal["pronoun", "proper_noun", "common_noun"]


class Form(NamedTuple):
    """What a pronoun says of whom it stands for, as FEATS does; None for what it leaves open."""

    person: str | None
    number: str | None
    gender: str | None


PRONOUNS: Mapping[str, Form] = {
    word: Form(*(None if value == "_" else value for value in form.split("-")))
    for form, words in english("pronouns").items()
    for word in words
}
"""English pronouns, in lower case."""

_NOUN_TAGS = ("NN", "NNS", "NNP", "NNPS", "PRP", "PRP$", "CD", "EX")
_MODIFIER_TAGS = ("DT", "JJ", "JJR", "JJS")
_AFTER_MODIFIERS = ("IN", "TO", "WDT", "WP", "WP$", "WRB")
_AFTER_NOUNS = (
    ",", ":", ".", "-LRB-", "(", "CC", "MD", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ", *_AFTER_MODIFIERS,
)  # fmt: skip

_WORDS = english("mentions")
_FIRST_WORDS = _WORDS["determiners"] | _WORDS["prepositions"] | _WORDS["relatives"] | PRONOUNS.keys()
"""Words that a phrase begins with."""


def head_by_tree(heads: Sequence[int], words: Sequence[int]) -> int:
    """The first word of a mention whose syntactic head lies outside it."""
    inside = set(words)
    return next((word for word in words if heads[word] not in inside), words[-1])


def head_by_tags(tags: Sequence[str]) -> int:
    """The place of the head in a mention without a tree, by its Penn tags.

    The last noun, pronoun or number before what can only follow a head: a preposition, relative or comma, a verb, a
    conjunction. Without any noun there: the last word before it.
    """
    end = len(tags)
    seen_noun = seen_modifier = False
    for place, tag in enumerate(tags):
        if place and ((seen_noun and tag in _AFTER_NOUNS) or (seen_modifier and tag in _AFTER_MODIFIERS)):
            end = place
            break
        seen_noun = seen_noun or tag in _NOUN_TAGS
        seen_modifier = seen_modifier or tag in _MODIFIER_TAGS
    nouns = [place for place in range(end) if tags[place] in _NOUN_TAGS]
    return nouns[-1] if nouns else end - 1


def head_by_words(forms: Sequence[str]) -> int:
    """The place of the head in a mention of which only the words are known.

    The last word before the first preposition, relative pronoun, subject pronoun or mark, or before a comma or
    conjunction that begins another phrase ("Mary, his wife", but not "a thin, elderly man").
    """
    lower = [form.lower() for form in forms]
    end = len(forms)
    for place in range(1, len(forms)):
        if _ends_phrase(forms, lower, place):
            end = place
            break
    letters = [
        place
        for place in range(end)
        if any(character.isalnum() for character in forms[place]) and lower[place] not in _WORDS["clitics"]
    ]
    return letters[-1] if letters else end - 1


def _ends_phrase(forms: Sequence[str], lower: Sequence[str], place: int) -> bool:
    word = lower[place]
    if word in _WORDS["prepositions"] or word in _WORDS["relatives"]:
        return any(earlier not in _WORDS["prepositions"] for earlier in lower[:place])
    if word in _WORDS["breaks"] or word in _WORDS["subjects"]:
        # The dot of Mr. stands in the word itself; "I" and "He" in a name (King He) are rare.
        return True
    if word not in _WORDS["joints"]:
        return False
    following = lower[place + 1 : place + 2]
    return not following or following[0] in _FIRST_WORDS or forms[place + 1][:1].isupper()


def tagged_class(upos: str, xpos: str) -> MentionClass:
    """The class of a head word by its tags, the universal one first.

    What is neither pronoun nor name is a common noun: numbers, adjectives, determiners and verbs too.
    """
    if upos == "PRON" or (upos == "_" and xpos.startswith(("PRP", "WP"))):
        return "pronoun"
    if upos == "PROPN" or (upos == "_" and xpos.startswith("NNP")):
        return "proper_noun"
    return "common_noun"


def untagged_class(forms: Sequence[str], head: int, names: frozenset[str]) -> MentionClass:
    """The class of a head word in a sentence without tags.

    Pronouns by a list; a name is capitalised where a sentence does not begin, here or (`names`) elsewhere.
    """
    form = forms[head]
    if form.lower() in PRONOUNS:
        return "pronoun"
    if form[:1].isupper() and (form in names or not begins_sentence(forms, head)):
        return "proper_noun"
    return "common_noun"


def names_in(sentences: Sequence[Sequence[str]]) -> frozenset[str]:
    """The words that are capitalised somewhere in a document where no sentence begins."""
    return frozenset(
        form
        for forms in sentences
        for place, form in enumerate(forms)
        if form[:1].isupper() and not begins_sentence(forms, place)
    )


def begins_sentence(forms: Sequence[str], place: int) -> bool:
    """Whether a word is the first of its sentence, or of what is quoted there."""
    if place and forms[place - 1] in _WORDS["opening_quotes"]:
        return True
    return not any(character.isalnum() for form in forms[:place] for character in form)
