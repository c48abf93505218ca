"""What a reader yields: sentences that belong to documents, or pairs that are taken as they are."""

from dataclasses import dataclass, field

Tokens = tuple[list[int], list[tuple[int, int]], list[int]]
"""Of each token its id, the characters it stands for, and the number of its text; -1 for what is added."""


@dataclass(frozen=True)
class Sentence:
    """One sentence of a running document; neighbours with the same `document` number may share a segment."""

    text: str
    document: int
    tokens: Tokens | None = field(default=None, compare=False, repr=False)
    """What the tokenizer makes of it alone, once it was asked."""


@dataclass(frozen=True)
class TextPair:
    """A given input, used as it is: one text, or two texts that the model sees as first and second."""

    first: str
    second: str | None = None
    document: int | None = field(default=None, compare=False)
    """The document it was cut from; None for one that was given as it is."""
    tokens: Tokens | None = field(default=None, compare=False, repr=False)
    """What the tokenizer makes of it; known where it is one sentence, which fits the model."""


Item = Sentence | TextPair
