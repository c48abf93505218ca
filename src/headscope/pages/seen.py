"""One text or pair through a model: its tokens, and every head's attention on it."""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from pydantic import ConfigDict

from headscope.errors import CaptureError, ModelError, OptionError, TextError
from headscope.facts.vocabulary import own_name
from headscope.models import Model
from headscope.pages.quantise import Quantised, Starts, quantise, quantise_signed
from headscope.pages.shapes.views import AlsoStored, Reading, Seen, StackShape, StoredMaps, Tokens
from headscope.pages.tokens import tokens_of, word_starts
from headscope.passes.options import longest_text
from headscope.tasks.writing import written
from headscope.text.batching import TextBatch
from headscope.text.encode import EncodedInput, TextEncoder
from headscope.text.items import TextPair
from headscope.trace import Capture, Carrier, surveyed
from headscope.trace.architecture import Place
from headscope.trace.watch import Watch
from headscope.types import Array, HeadGrid, HeadId, LayerAttention, MapWeigh, StackName

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
    """(head, query, key) by maps/{stack}/{layer}, exact: what `weigh` says."""

    @property
    def id(self) -> str:
        """The same for the same model's name, text, tokens and weighing."""
        pieces = (self.source.pieces, self.target and self.target.pieces)
        said = repr((self.model, self.text_a, self.text_b, *pieces, self.weigh))
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
        layers = (np.nan_to_num(self.layer(shape.name, layer)) for layer in range(shape.layers))
        scores = np.stack([(weights * counts).max(-1).sum(-1) for weights in layers])  # (layer, head)
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

    def quantised(self, *, budget: int | None = None, fine: bool = False) -> Quantised:
        """The maps as they are stored: see `quantise`; signed shares always in the same way, whatever they take."""
        if self.weigh == "signed":
            return quantise_signed(self.maps, words=self.words)
        return quantise(self.maps, words=self.words, budget=budget, fine=fine)

    def also(self, quantised: Quantised) -> AlsoStored:
        """What a view is told of this weighing beside another of the same text."""
        return AlsoStored(weigh=self.weigh, **_told(quantised))

    def seen(self, quantised: Quantised, *, has_neurons: bool, neuron_heads: list[str] | None = None) -> Seen:
        """What a view is told, its maps stored as `quantised`."""
        heads = {stack.name: self.sharpest(stack.name) for stack in self.stacks}
        return Seen(
            **{name: getattr(self, name) for name in Reading.model_fields},
            **_told(quantised),
            id=self.id,
            has_neurons=has_neurons,
            neuron_heads=neuron_heads,
            sharpest={name: (head.layer, head.head) for name, head in heads.items()},
        )


def _told(quantised: Quantised) -> dict[str, Any]:
    """How maps are stored, as a view is told."""
    return {name: getattr(quantised, name) for name in StoredMaps.model_fields}


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
    wrote: bool = False
    """Whether the second text is what the model itself writes."""

    @property
    def weights(self) -> int:
        """How many weights all heads have on it."""
        grids = self.watch.capture.stacks.grids
        return sum(grid.layers * grid.heads * _area(self.encoded, grid.stack) for grid in grids)

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


def check_weigh(weigh: str | None) -> None:
    """Raise OptionError for what is no weighing; None is the usual one."""
    if weigh is not None and weigh not in get_args(MapWeigh):
        raise OptionError(f"weigh must be one of {', '.join(get_args(MapWeigh))}, not {weigh!r}")


def prepare(
    model: Model, text_a: str, text_b: str | None = None, *, max_length: int | None = None
) -> Prepared:
    """Encode a text or pair; raises TextError for one without words and OptionError for an impossible length."""
    check_text(text_a, text_b)
    watch = Watch(surveyed(model))
    encoder = watch.encoder(longest_text(model, max_length, USUAL_LENGTH))
    second = text_b if text_b is not None and text_b.strip() else None
    wrote = second is None and encoder.layout == "source-target"
    if wrote:
        second = _written(model, text_a, encoder.max_length)
    pair = TextPair(text_a, second)
    encoded = encoder.encode(pair)
    if not len(encoded.source) or (encoded.target is not None and not len(encoded.target)):
        raise TextError(f"{model.name} makes no tokens of {text_a[:40]!r}; give another text")
    prepared = Prepared(watch, encoder, encoded, pair, wrote)
    if prepared.weights > MOST_WEIGHTS:
        raise OptionError(
            f"{len(encoded)} tokens in {model.name} make {prepared.weights:,} weights, and a view holds "
            f"{MOST_WEIGHTS:,}; give a shorter text or a smaller --max-length (max_length=)"
        )
    return prepared


def _written(model: Model, text: str, max_length: int) -> str:
    """What the model writes when it reads the text; where it cannot, the error asks for a second text."""
    try:
        return written(model, text, max_length=max_length)
    except ModelError as error:
        raise TextError(
            f"{error}; it reads one text and writes another, so give the second text too: headscope view MODEL TEXT "
            "SECOND (text_b=)"
        ) from error


def observe(
    model: Model,
    text_a: str,
    text_b: str | None = None,
    *,
    weigh: MapWeigh = "looked",
    max_length: int | None = None,
    between: Between | None = None,
) -> Observed:
    """See what every head of `model` does on a text or pair: where it looks, or what it moves.

    Models that read one text and write another are shown `text_b` as what they write; without it, what they do write.
    Texts of more than `max_length` tokens (512, or what the model takes) lose their end, which the note tells.
    `weigh` "signed" gives the shares A <f, y> / |y|^2 of what each head gives, which add up to 1 and may be negative.
    """
    return observe_as([weigh], model, text_a, text_b, max_length=max_length, between=between)[0]


def observe_as(
    weighs: Sequence[MapWeigh],
    model: Model,
    text_a: str,
    text_b: str | None = None,
    *,
    max_length: int | None = None,
    between: Between | None = None,
) -> list[Observed]:
    """The same once for each of `weighs`, in one forward pass; OptionError where the model does not allow one."""
    prepared = prepare(model, text_a, text_b, max_length=max_length)
    capture = prepared.watch.capture
    carrier, note = carrier_of(capture)
    others = [weigh for weigh in weighs if weigh != "looked"]
    if others and carrier is None:
        raise OptionError(f"{note}; give --weigh looked (weigh='looked')")
    maps: dict[MapWeigh, dict[str, Array]] = {weigh: {} for weigh in weighs}

    def see(stack: StackName, attention: LayerAttention) -> None:
        if between is not None:
            between()
        for weigh, kept in maps.items():
            kept[map_key(stack, attention.layer)] = _weighed(attention, weigh)

    Watch(capture, carrier=carrier if others else None).run(prepared.batch, see)
    source, target = tokens_in(prepared)
    return [
        Observed(
            model=own_name(model.name),
            architecture=model.architecture,
            text_a=prepared.text.first,
            text_b=prepared.text.second,
            source=source,
            target=target,
            stacks=[shape_of(model, grid) for grid in capture.stacks.grids],
            maps=kept,
            rotated=model.is_rotated,
            note=_note(model, prepared),
            weigh=weigh,
            weigh_note=note,
        )
        for weigh, kept in maps.items()
    ]


def carrier_of(capture: Capture) -> tuple[Carrier | None, str]:
    """What tells what heads fetch and give, or None and why it cannot be told."""
    try:
        return Carrier(capture), ""
    except CaptureError as error:
        return None, str(error)


def can_weigh(model: Model) -> bool:
    """Whether what its heads move can be told."""
    return carrier_of(surveyed(model))[0] is not None


def _weighed(attention: LayerAttention, weigh: MapWeigh) -> Array:
    """(head, query, key) of the only text of a batch."""
    if weigh == "signed":
        assert attention.carried is not None
        shares = attention.carried.signed_shares(attention.attention)[0]
    else:
        shares = (attention.moved if weigh == "moved" else attention).map_of(0)
    return shares.detach().cpu().float().numpy().copy()


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


def shape_of(model: Model, grid: HeadGrid) -> StackShape:
    """A stack, and which of a model's texts ask and are looked at in it."""
    of_target = model.is_encoder_decoder and grid.stack != "encoder"
    return StackShape(
        name=grid.stack,
        layers=grid.layers,
        heads=grid.heads,
        queries="target" if of_target else "source",
        keys="target" if of_target and not grid.cross else "source",
        causal=grid.causal,
        module_layers=list(grid.module_layers),
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
    said = [grid.numbering for grid in prepared.watch.capture.stacks.grids if grid.numbering]
    if prepared.encoded.cut:
        said.append(
            f"The text was longer than {prepared.encoder.max_length} tokens and its end was cut (--max-length, "
            "max_length=)."
        )
    if model.unseen:
        said.append(f"{model.unseen}.")
    if prepared.wrote:
        said.append("No second text was given, so this is what the model writes (greedy decoding).")
    if prepared.encoder.layout == "joined" and prepared.text.second is not None:
        said.append(f"{model.name} takes no pairs: it read both texts as one.")
    return " ".join(said)


def _area(encoded: EncodedInput, stack: StackName) -> int:
    source, target = len(encoded.source), len(encoded.target or encoded.source)
    return {"encoder": source * source, "decoder": target * target, "cross": target * source}[stack]
