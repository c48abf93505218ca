"""Readers of file formats: plain text, JSON lines, pairs, CoNLL-U, coreference, FrameNet, SQuAD, labels, vectors."""
