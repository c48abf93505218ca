"""The mean output of every head over texts: what a head gives when it is told nothing of the text at hand."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice

import torch
from torch import Tensor

from headscope.capture import AttentionCall, Capture, Forward, following, surveyed
from headscope.capture.inputs import model_inputs
from headscope.capture.observe import evaluating
from headscope.errors import InterventionError, OptionError, TextError
from headscope.models import Model
from headscope.models.stacks import Place
from headscope.text.batching import bucketed
from headscope.text.encode import Layout, TextEncoder
from headscope.text.items import TextPair
from headscope.types import StackName

_LONGEST = 512
_BATCH_TOKENS = 4096

Batch = Mapping[str, Tensor]


def mean_outputs(
    model: Model | Capture,
    texts: Iterable[str | TextPair | Batch],
    *,
    max_length: int | None = None,
) -> dict[StackName, Tensor]:
    """(layer, head, dim) for each stack: the mean, over real tokens, of what each head gives before it is projected.

    `texts` are strings, pairs, or batches of model input (with attention_mask where there is padding); they are read
    once and not kept. Strings and pairs are cut to `max_length` tokens.
    """
    capture = model if isinstance(model, Capture) else surveyed(model)
    if not capture.hooked:
        raise InterventionError(
            f"{capture.model.name} ({capture.model.architecture}) does not show what each head gives"
        )
    sums: dict[Place, Tensor] = {}  # (head, dim) each
    counts: dict[Place, int] = {}
    real: dict[bool, Tensor | None] = {}  # (text, token) by whether it is the target

    def handle(place: Place, call: AttentionCall, forward: Forward) -> AttentionCall:
        is_target = capture.model.is_encoder_decoder and place.stack != "encoder"
        mask = real[is_target]
        output = call.output.double()  # (text, query, head, dim)
        if mask is not None:
            output = output * mask.to(output)[:, :, None, None]
        sums[place] = sums.get(place, 0) + output.sum((0, 1))
        counts[place] = counts.get(place, 0) + int(
            call.output[:, :, 0, 0].numel() if mask is None else mask.sum()
        )
        return call

    network = capture.model.core
    options = {"use_cache": False} if "use_cache" in capture.model.accepts else {}
    with following(capture, capture.stacks.places, handle), evaluating(network), torch.inference_mode():
        for inputs in _batches(capture, texts, max_length):
            real |= {False: inputs.get("attention_mask"), True: inputs.get("decoder_attention_mask")}
            network(**inputs, **options)
    if not sums:
        raise TextError("there are no texts to take the mean over")
    return {
        grid.stack: torch.stack(
            [sums[place] / counts[place] for place in capture.stacks.places if place.stack == grid.stack]
        ).to("cpu", torch.float32)
        for grid in capture.stacks.grids
    }


def _batches(
    capture: Capture, texts: Iterable[str | TextPair | Batch], max_length: int | None
) -> Iterator[Batch]:
    """Model inputs: given ones as they are, texts in batches of like length."""
    stream = iter(texts)
    first = list(islice(stream, 1))
    given = bool(first) and isinstance(first[0], Mapping)
    checked = (_of_kind(text, given=given) for text in chain(first, stream))
    if given:
        yield from checked  # type: ignore[misc]  # all are given inputs, or it raises
        return
    model = capture.model
    longest = max_length or min(model.max_length or _LONGEST, _LONGEST)
    start: int | None = getattr(model.config, "decoder_start_token_id", None)
    padding: int | None = getattr(model.config, "pad_token_id", None)
    encoder = TextEncoder(model.tokenizer, _layout(capture), longest, padding if start is None else start)
    encoded = (
        encoder.encode(TextPair(text) if isinstance(text, str) else text)  # type: ignore[arg-type]  # no given input
        for text in checked
    )
    for batch in bucketed(
        encoded, texts_at=lambda length: _BATCH_TOKENS // length if capture.pads else 1, longest=longest
    ):
        yield model_inputs(model, batch).inputs


def _of_kind(text: str | TextPair | Batch, *, given: bool) -> str | TextPair | Batch:
    if isinstance(text, Mapping) != given or not isinstance(text, str | TextPair | Mapping):
        raise OptionError("mean_outputs takes texts (strings or pairs) or batches of model input, not both")
    return text


def _layout(capture: Capture) -> Layout:
    if capture.model.is_encoder_decoder:
        return "source-target"
    return "joined" if capture.stacks.grids[0].causal else "pair"
