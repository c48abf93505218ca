"""The features probe: attention to nouns, verbs, subjects, negation and special tokens, in one model or two."""
