"""Text: reading it, cutting it into segments, turning it into batches of tokens."""

from headscope.text.coreference import read_coreference
from headscope.text.corpus import Corpus, as_corpus, read_pairs, read_text
from headscope.text.roles import read_roles
from headscope.text.treebank import read_treebank

__all__ = [
    "Corpus",
    "as_corpus",
    "read_coreference",
    "read_pairs",
    "read_roles",
    "read_text",
    "read_treebank",
]
