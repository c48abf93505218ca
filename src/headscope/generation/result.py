"""What a model wrote, token by token, and where its heads looked as it did."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from headscope.errors import OptionError
from headscope.models import Model
from headscope.text.encode import EncodedInput, TextEncoder
from headscope.text.words import Span
from headscope.trace.architecture import Place
from headscope.types import Array, HeadGrid


@dataclass(frozen=True)
class Generated:
    """A prompt and what the model wrote after it; with the attention of every token as it was made, if watched."""

    model: Model = field(repr=False)
    prompt: str
    output: str
    """What was written, without special tokens."""
    encoded: EncodedInput = field(repr=False)
    """Prompt and output as tokens: one text, or for models that read and write the prompt as source, the output as
    target."""
    encoder: TextEncoder = field(repr=False)
    """What made tokens of the prompt."""
    spans: tuple[Span, ...] = field(repr=False)
    """The characters of each token of the text that was written on, special tokens included."""
    text: str = field(repr=False)
    """The text that was written on: prompt and output, or the output alone for models that read and write."""
    first: int
    """Where in it the first token is that was generated."""
    grids: tuple[HeadGrid, ...] = field(repr=False)
    maps: Mapping[Place, Array] = field(default_factory=dict, repr=False)
    """(head, query, key) of each layer; empty where nobody watched."""
    ended: bool = False
    """Whether the model ended its text before the limit."""

    @property
    def ids(self) -> list[int]:
        """All tokens of the text that was written on."""
        return (self.encoded.target or self.encoded.source).ids

    @property
    def tokens(self) -> list[str]:
        """The same as the vocabulary names them."""
        return list(self.model.tokenizer.convert_ids_to_tokens(self.ids))

    @property
    def generated(self) -> list[bool]:
        """Of each token, whether the model wrote it."""
        return [place >= self.first for place in range(len(self.ids))]

    def attention(self, stack: str | None = None) -> Array:
        """(layer, head, query, key) all weights of a stack; of the one that writes by default."""
        if not self.maps:
            raise OptionError("nobody watched; generate with watch=True")
        name = stack or "decoder"
        layers = [weights for place, weights in self.maps.items() if place.stack == name]
        if not layers:
            has = ", ".join(grid.stack for grid in self.grids)
            raise OptionError(f"{self.model.name} has no stack {name!r}; it has {has}")
        return np.stack(layers)
