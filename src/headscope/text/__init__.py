"""Text: reading it, cutting it into segments, turning it into batches of tokens."""

from headscope.text.corpus import Corpus, as_corpus, read_pairs, read_text
from headscope.text.treebank import read_treebank

__all__ = ["Corpus", "as_corpus", "read_pairs", "read_text", "read_treebank"]
