"""What a reader yields: sentences that belong to documents, or pairs that are taken as they are."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sentence:
    """One sentence of a running document; neighbours with the same `document` number may share a segment."""

    text: str
    document: int
    pieces: list[tuple[int, int]] | None = field(default=None, compare=False, repr=False)
    """The characters each of its tokens stands for, once a tokenizer was asked."""


@dataclass(frozen=True)
class TextPair:
    """A given input, used as it is: one text, or two texts that the model sees as first and second."""

    first: str
    second: str | None = None
    document: int | None = field(default=None, compare=False)
    """The document it was cut from; None for one that was given as it is."""


Item = Sentence | TextPair
