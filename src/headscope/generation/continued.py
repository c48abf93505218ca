"""The tokens that a model wrote as a text: what each says, and which words they make up."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from headscope.text.encode import EncodedText, TextEncoder, special_ids
from headscope.text.words import Span

_BROKEN = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True)
class Continued:
    """A text that was begun and written on."""

    encoded: EncodedText
    text: str
    spans: tuple[Span, ...]
    """The characters that each token stands for; none for special tokens, and for parts of a character."""
    output: str
    """What was added to the text."""


def continued(encoder: TextEncoder, begun: EncodedText, text: str, written: Sequence[int]) -> Continued:
    """The tokens of `text` that a model was given (`begun`), with those that it has `written` after them."""
    tokenizer = encoder.tokenizer
    own = iter(encoder.pieces(text, marked=False))
    spans = [next(own, (0, 0)) if segment >= 0 else (0, 0) for segment in begun.segment]
    marks = special_ids(tokenizer) - {tokenizer.unk_token_id, tokenizer.mask_token_id}
    ends = list(_ends(tokenizer, begun.ids, written))
    output = _decoded(tokenizer, [*begun.ids, *written])[ends[0] :]
    spans += [(len(text) + start - ends[0], len(text) + end - ends[0]) for start, end in pairwise(ends)]
    ids = [*begun.ids, *written]
    owners = [*begun.segment, *(-1 if token in marks else 0 for token in written)]
    whole = text + output
    return Continued(encoder.describe(ids, spans, owners, whole), whole, tuple(spans), output)


def _ends(tokenizer: Any, begun: Sequence[int], written: Sequence[int]) -> Iterator[int]:
    """How long the text is before the first token that was written, and after each of them."""
    longest = 0
    for count in range(len(written) + 1):
        # A character of several tokens is there with the last of them.
        longest = max(longest, len(_decoded(tokenizer, [*begun, *written[:count]]).rstrip(_BROKEN)))
        yield longest


def _decoded(tokenizer: Any, ids: Sequence[int]) -> str:
    return str(tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))
