"""Annotated corpora: treebanks, coreference and semantic roles, whatever file they come from."""
