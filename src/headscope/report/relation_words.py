"""Syntactic relations and semantic roles in words."""

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
