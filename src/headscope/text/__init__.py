"""Text: reading it, cutting it into segments, turning it into batches of tokens."""

from headscope.text.annotated.arrows import read_arrows
from headscope.text.annotated.coreference import read_coreference
from headscope.text.annotated.minimal_pairs import read_minimal_pairs
from headscope.text.annotated.roles import read_roles
from headscope.text.annotated.treebank import read_treebank
from headscope.text.corpus import Corpus, as_corpus, read_pairs, read_text
from headscope.text.dataset import read_dataset

__all__ = [
    "Corpus",
    "as_corpus",
    "read_arrows",
    "read_coreference",
    "read_dataset",
    "read_minimal_pairs",
    "read_pairs",
    "read_roles",
    "read_text",
    "read_treebank",
]
