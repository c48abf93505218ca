"""Readers of file formats: plain text, JSON lines, pairs, CoNLL-U, coreference, SQuAD, labels."""
