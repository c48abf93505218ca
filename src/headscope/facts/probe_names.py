"""What the rows and results of probes are called: relations, roles, mentions, rules, parsers, classes of words."""

from collections.abc import Callable, Mapping

from headscope.facts.slices import Choice, HeadValues

Labels = Mapping[str, tuple[Choice, ...]]

_CHARTS = {
    "dependency": "Best head for each relation",
    "coreference": "Best head for each kind of mention",
    "relations": "Best head for each role",
    "parser": "Parsers made of attention, and what needs none",
}

_INWARD = {"head_to_dependent", "antecedent_to_mention", "argument_to_predicate"}

_FEATURES = {
    "noun": "nouns",
    "verb": "verbs",
    "pronoun": "pronouns",
    "subject": "subjects",
    "object": "objects",
    "negation": "negation words",
}

_MENTIONS = {
    "pronoun": "pronouns",
    "proper_noun": "names",
    "common_noun": "common nouns",
    "all": "all mentions",
}

_PARSERS = {
    "attention": "attention",
    "attention_words": "attention and words",
    "right_branching": "right-branching",
    "best_offset": "best fixed offset",
    "distances_words": "distances and words",
    "random_attention": "random model: attention",
    "random_attention_words": "random model: attention and words",
}

OFFSET = "best fixed offset"
NEAREST = "nearest mention"
SAME_WORD = "nearest with the same head word"
RULES = "rules"
"""The baselines of the pointing probes: what needs no attention."""

_SLICES = {
    "dependency_accuracy": "Finding the head of {}",
    "dependency_overall": "Finding the head of any word",
    "coreference_accuracy": "Finding the antecedent of {}",
    "coreference_overall": "Finding the antecedent of any mention",
    "relation_attention": "Attention: {}",
    "relation_control": "Attention of other pairs as far apart: {}",
    "relation_difference": "Attention less that of other pairs: {}",
    "relation_overall_attention": "Attention: all roles",
    "relation_overall_control": "Attention of other pairs as far apart: all roles",
    "relation_overall_difference": "Attention less that of other pairs: all roles",
    "parser_weight": "Learned weight of every head",
    "feature_attention": "Attention to {}",
    "feature_control": "Attention to as many tokens at random as there are {}",
    "feature_excess": "Attention to {}, less that to as many tokens at random",
    "feature_preference": "Preference for {}",
    "feature_preference_change": "Change of preference for {}",
    "feature_change": "Change of attention to {}",
    "pattern_share": "Maps that are {}",
}
"""Titles by the name of the array; the braces are for the labels of all dimensions but the direction."""


def chart_title(probe: str) -> str:
    """A title for the chart of a probe's table."""
    return _CHARTS.get(probe, probe.replace("_", " ").capitalize())


def looks_back(direction: str) -> bool:
    """True for the direction in which the word that asks is looked at, and does not look itself."""
    return direction in _INWARD


def direction_name(direction: Choice) -> str:
    """Which way a head looks, in words."""
    return str(direction).replace("_to_", " to ").replace("_", " ")


def feature_name(feature: Choice) -> str:
    """A class of words, in the plural; what special tokens are called depends on the model."""
    return _FEATURES.get(str(feature), str(feature).replace("_", " "))


def mention_name(mention_class: Choice) -> str:
    """A kind of mention, in the plural."""
    return _MENTIONS.get(str(mention_class), str(mention_class).replace("_", " "))


def rule_in_sentence(name: str) -> str:
    """A baseline with its article."""
    return "a cascade of rules" if name == RULES else f"the {name}"


def row_name(probe: str, label: str) -> str:
    """What a row of a probe's table is about."""
    if probe == "coreference":
        return mention_name(label)
    return _PARSERS.get(label, label.replace("_", " ")) if probe == "parser" else label


def probe_slice_title(
    measure: str, labels: Labels, *, feature: Callable[[Choice], str] = feature_name
) -> str | None:
    """A title for one number per head that a probe found; None for what no probe of ours finds."""
    form = _SLICES.get(measure.removesuffix("_against"))
    if form is None:
        return None
    namers: dict[str, Callable[[Choice], str]] = {"feature": feature, "mention_class": mention_name}
    names = [
        namers.get(dim, str)(label) for dim, found in labels.items() if dim != "direction" for label in found
    ]
    ways = [direction_name(label) for label in labels.get("direction", ())]
    second = ["second model"] if measure.endswith("_against") else []
    return ", ".join([form.format(" and ".join(names)), *ways, *second])


def probe_value_name(picked: HeadValues) -> str | None:
    """What the numbers of a probe are; None for shares of attention and for what is not a probe's."""
    measure = picked.measure.removesuffix("_stderr").removesuffix("_against")
    if measure.endswith(("_accuracy", "_overall")):
        return "share of right guesses"
    named = {
        "pattern_share": "share of texts",
        "head_type_certainty": "certainty",
        "head_type_changed": "fits of ten that changed it",
    }
    if measure in named:
        return named[measure]
    if measure.startswith("feature_preference"):
        return "share of attention over share of tokens" + (", change" if measure.endswith("_change") else "")
    return {
        "parser_weight": "weight",
        "relation_difference": "difference of attention",
        "relation_overall_difference": "difference of attention",
        "feature_excess": "difference of attention",
        "feature_change": "difference of attention",
    }.get(measure)


_HEADS = {
    "acl": "the noun of a clause",
    "acl:relcl": "the noun of a relative clause",
    "advcl": "the verb of an adverbial clause",
    "advmod": "what an adverb modifies",
    "amod": "the noun of an adjective",
    "appos": "the noun of an apposition",
    "aux": "the verb of an auxiliary",
    "aux:pass": "the verb of a passive auxiliary",
    "case": "the noun of a preposition",
    "cc": "what a conjunction such as “and” belongs to",
    "ccomp": "the verb of a clause that is its object",
    "compound": "the noun of a compound",
    "compound:prt": "the verb of a particle",
    "conj": "the first part of a coordination",
    "cop": "the predicate of a copula",
    "csubj": "the verb of a clause that is its subject",
    "det": "the noun of a determiner",
    "discourse": "what an interjection belongs to",
    "expl": "the verb of an expletive",
    "fixed": "the first word of a fixed phrase",
    "flat": "the first word of a name",
    "iobj": "the verb of an indirect object",
    "mark": "the verb of a clause marker such as “that”",
    "nmod": "the noun of a nominal modifier",
    "nmod:poss": "the noun of a possessor",
    "nsubj": "the verb of a subject",
    "nsubj:pass": "the verb of a passive subject",
    "nummod": "the noun of a number",
    "obj": "the verb of an object",
    "obl": "the verb of an oblique nominal",
    "parataxis": "what a side remark belongs to",
    "vocative": "what an address belongs to",
    "xcomp": "the verb of an open complement",
}

_ROLES = {
    "all": "all",
    "ARG0": "ARG0 (mostly who does it)",
    "ARG1": "ARG1 (mostly what it is done to)",
    "ARGM-TMP": "ARGM-TMP (when)",
    "ARGM-LOC": "ARGM-LOC (where)",
    "ARGM-MNR": "ARGM-MNR (how)",
    "ARGM-NEG": "ARGM-NEG (negation)",
    "ARGM-MOD": "ARGM-MOD (modal)",
    "ARGM-CAU": "ARGM-CAU (why)",
}


def found_word(relation: str) -> str:
    """What is found for a word of this relation, with the relation's own name."""
    words = _HEADS.get(relation) or _HEADS.get(relation.partition(":")[0])
    return f"{words} ({relation})" if words else f"the head of a word that is {relation}"


def role_words(role: str) -> str:
    """A role, with what it stands for where PropBank's name does not say so."""
    return _ROLES.get(role, role)
