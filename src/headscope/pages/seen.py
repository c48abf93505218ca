"""One text or pair through a model: its tokens, and every head's attention on it."""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import ConfigDict

from headscope.capture import surveyed
from headscope.errors import OptionError, TextError
from headscope.models import Model
from headscope.models.stacks import Place
from headscope.pages.quantise import Quantised, Starts
from headscope.pages.shapes import Reading, Seen, StackShape, Tokens
from headscope.pages.tokens import tokens_of, word_starts
from headscope.run.options import longest_text
from headscope.run.watch import Watch
from headscope.text.batching import TextBatch
from headscope.text.encode import EncodedInput, TextEncoder
from headscope.text.items import TextPair
from headscope.types import AttentionBatch, HeadGrid, HeadId, StackName

Array = np.ndarray[Any, Any]
Between = Callable[[], None]
"""Called at every layer; may raise, which ends the run."""

USUAL_LENGTH = 512
"""The most tokens of a text unless told otherwise; fewer where the model takes fewer."""

MOST_WEIGHTS = 1 << 28
"""How many weights are held at a time: 1 GiB of them."""

Side = Literal["source", "target"]


class Observed(Reading):
    """What a model, or anything that gives attention, made of a text."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    maps: dict[str, Array]
    """(head, query, key) by maps/{stack}/{layer}, exact."""

    @property
    def id(self) -> str:
        """The same for the same model's name, text and tokens."""
        said = repr(
            (self.model, self.text_a, self.text_b, self.source.pieces, self.target and self.target.pieces)
        )
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def weights(self) -> int:
        """How many weights the maps hold."""
        return sum(map(np.size, self.maps.values()))

    def stack(self, name: str | None) -> StackShape:
        """The stack of that name; the first one for None."""
        for stack in self.stacks:
            if name in (None, stack.name):
                return stack
        raise OptionError(
            f"{self.model} has no stack {name!r}; it has {', '.join(shape.name for shape in self.stacks)}"
        )

    def layer(self, stack: str, layer: int) -> Array:
        """(head, query, key) the exact weights of one layer."""
        return self.maps[map_key(stack, layer)]

    def tokens(self, side: Side) -> Tokens:
        """The tokens that ask or are looked at, as a stack's `queries` or `keys` names them."""
        if side == "source":
            return self.source
        assert self.target is not None
        return self.target

    def sharpest(self, name: str | None = None) -> HeadId:
        """The head of a stack that looks most at single words: the largest mean, over queries, of the largest weight.

        Special tokens, the first one and the query itself do not count: most heads rest there when they have nothing
        to do.
        """
        shape = self.stack(name)
        queries, keys = (~np.array(self.tokens(side).special) for side in (shape.queries, shape.keys))
        keys[0] = False
        counts = np.outer(queries, keys)  # (query, key)
        if shape.queries == shape.keys:
            np.fill_diagonal(counts, False)
        scores = np.stack(  # (layer, head)
            [(self.layer(shape.name, layer) * counts).max(-1).sum(-1) for layer in range(shape.layers)]
        )
        layer, head = np.unravel_index(int(scores.argmax()), scores.shape)
        return HeadId(int(layer), int(head))

    @property
    def words(self) -> dict[str, Starts]:
        """For each map, where the words begin that look and that are looked at."""
        return {
            map_key(stack.name, layer): (
                word_starts(self.tokens(stack.queries)),
                word_starts(self.tokens(stack.keys)),
            )
            for stack in self.stacks
            for layer in range(stack.layers)
        }

    def seen(self, quantised: Quantised, *, has_neurons: bool, neuron_heads: list[str] | None = None) -> Seen:
        """What a view is told, its maps stored as `quantised`."""
        heads = {stack.name: self.sharpest(stack.name) for stack in self.stacks}
        return Seen(
            **{name: getattr(self, name) for name in Reading.model_fields},
            id=self.id,
            levels=quantised.code.table,
            max_error=quantised.max_error,
            word_error=quantised.word_error,
            fine=quantised.fine,
            has_neurons=has_neurons,
            neuron_heads=neuron_heads,
            sharpest={name: (head.layer, head.head) for name, head in heads.items()},
        )


def map_key(stack: str, layer: int) -> str:
    """The key of a layer's chunk."""
    return f"maps/{stack}/{layer}"


@dataclass(frozen=True)
class Prepared:
    """A text ready for a model."""

    watch: Watch
    encoder: TextEncoder
    encoded: EncodedInput
    text: TextPair

    @property
    def batch(self) -> TextBatch:
        """The text as the model is given it."""
        return self.watch.batch([self.encoded])


def check_text(text_a: str, text_b: str | None = None) -> None:
    """Raise TextError for a text without words, or with something that is no character."""
    if not text_a.strip() and not (text_b or "").strip():
        raise TextError("the text is empty; give some words to look at")
    for text in (text_a, text_b or ""):
        if half := re.search("[\ud800-\udfff]", text):
            raise TextError(f"the text has something that is no character at place {half.start()}")


def prepare(
    model: Model, text_a: str, text_b: str | None = None, *, max_length: int | None = None
) -> Prepared:
    """Encode a text or pair; raises TextError for one without words and OptionError for an impossible length."""
    check_text(text_a, text_b)
    watch = Watch(surveyed(model))
    encoder = watch.encoder(longest_text(model, max_length, USUAL_LENGTH))
    pair = TextPair(text_a, text_b if text_b is not None and text_b.strip() else None)
    encoded = encoder.encode(pair)
    if not len(encoded.source) or (encoded.target is not None and not len(encoded.target)):
        raise TextError(f"{model.name} makes no tokens of {text_a[:40]!r}; give another text")
    weights = sum(
        grid.layers * grid.heads * _area(encoded, grid.stack) for grid in watch.capture.stacks.grids
    )
    if weights > MOST_WEIGHTS:
        raise OptionError(
            f"{len(encoded)} tokens in {model.name} make {weights:,} weights, and a view holds {MOST_WEIGHTS:,}; "
            "give a shorter text or a smaller --max-length (max_length=)"
        )
    return Prepared(watch, encoder, encoded, pair)


def observe(
    model: Model,
    text_a: str,
    text_b: str | None = None,
    *,
    max_length: int | None = None,
    between: Between | None = None,
) -> Observed:
    """See what every head of `model` does on a text or pair.

    Models that read one text and write another are shown `text_b` as what they write. Texts of more than
    `max_length` tokens (512, or what the model takes) lose their end, which the note tells.
    """
    prepared = prepare(model, text_a, text_b, max_length=max_length)
    maps: dict[str, Array] = {}

    def see(stack: StackName, attention: AttentionBatch) -> None:
        if between is not None:
            between()
        weights = attention.attention[0].detach().cpu().float().numpy().copy()  # (head, query, key)
        maps[map_key(stack, attention.layer)] = weights

    prepared.watch.run(prepared.batch, see)
    source, target = tokens_in(prepared)
    return Observed(
        model=model.name,
        architecture=model.architecture,
        text_a=prepared.text.first,
        text_b=prepared.text.second,
        source=source,
        target=target,
        stacks=[_shape(model, grid) for grid in prepared.watch.capture.stacks.grids],
        maps=maps,
        rotated=model.is_rotated,
        note=_note(model, prepared),
    )


def place_of(model: Model, stack: str, layer: int, head: int) -> Place:
    """Where a head is; OptionError when the model has none such."""
    grids = surveyed(model).stacks.grids
    for grid in grids:
        if grid.stack == stack:
            if layer not in range(grid.layers) or head not in range(grid.heads):
                raise OptionError(
                    f"{model.name} has no head {layer}.{head} in its {stack}, which has {grid.layers} layers of "
                    f"{grid.heads} heads, counted from 0"
                )
            return Place(grid.stack, layer)
    raise OptionError(
        f"{model.name} has no stack {stack!r}; it has {', '.join(grid.stack for grid in grids)}"
    )


def _shape(model: Model, grid: HeadGrid) -> StackShape:
    of_target = model.is_encoder_decoder and grid.stack != "encoder"
    return StackShape(
        name=grid.stack,
        layers=grid.layers,
        heads=grid.heads,
        queries="target" if of_target else "source",
        keys="target" if of_target and not grid.cross else "source",
        causal=grid.causal,
    )


def tokens_in(prepared: Prepared) -> tuple[Tokens, Tokens | None]:
    """Those that were read and, of a model that writes, those that are written."""
    encoder, encoded, text = prepared.encoder, prepared.encoded, prepared.text
    texts = [text.first] if text.second is None else [text.first, text.second]
    if encoded.target is not None:
        read = tokens_of(encoder, encoded.source, texts[:1])
        return read, tokens_of(encoder, encoded.target, texts[-1:])
    joined = [" ".join(texts)] if encoder.layout == "joined" else texts
    return tokens_of(encoder, encoded.source, joined), None


def _note(model: Model, prepared: Prepared) -> str:
    said = []
    if prepared.encoded.cut:
        said.append(
            f"The text was longer than {prepared.encoder.max_length} tokens and its end was cut (--max-length, "
            "max_length=)."
        )
    if prepared.encoder.layout == "source-target" and prepared.text.second is None:
        said.append("No second text was given, so the model writes the first one.")
    if prepared.encoder.layout == "joined" and prepared.text.second is not None:
        said.append(f"{model.name} takes no pairs: it read both texts as one.")
    return " ".join(said)


def _area(encoded: EncodedInput, stack: StackName) -> int:
    source, target = len(encoded.source), len(encoded.target or encoded.source)
    return {"encoder": source * source, "decoder": target * target, "cross": target * source}[stack]
