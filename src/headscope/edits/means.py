"""The mean output of every head over texts: what a head gives when it is told nothing of the text at hand."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice

import torch
from torch import Tensor

from headscope.accumulator import Sums
from headscope.edits.changes import editable
from headscope.errors import OptionError, TextError
from headscope.models import Model
from headscope.passes.options import LONGEST_WITHOUT_LIMIT, longest_text
from headscope.passes.run_pass import run_pass
from headscope.text.items import TextPair
from headscope.trace import AttentionCall, Capture, Forward, check_single, following
from headscope.trace.architecture import Place, Stacks
from headscope.trace.observe import evaluating
from headscope.trace.watch import Watch
from headscope.types import StackName

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
    capture = editable(model, "does not show what each head gives")
    check_single(capture)
    network = capture.model.core

    def count(part: _Outputs, batch: _Inputs) -> None:
        # By whether it is the target's: (text, token) True for real tokens. Without a target the network makes one of
        # the source, as long as that.
        source, target = (batch.tensors.get(f"{side}attention_mask") for side in ("", "decoder_"))
        real = {False: source, True: target if "decoder_input_ids" in batch.tensors else source}

        def handle(place: Place, call: AttentionCall, forward: Forward) -> AttentionCall:
            is_target = capture.model.is_encoder_decoder and place.stack != "encoder"
            part.update(place, call.output, real[is_target])
            return call

        with following(capture, capture.stacks.places, handle):
            network(**batch.tensors, **capture.model.no_cache)

    outputs = _Outputs()
    with evaluating(network), torch.inference_mode():
        run_pass(_batches(capture, texts, max_length), outputs, count, batches=iter, least=64)
    if not outputs.sums:
        raise TextError("there are no texts to take the mean over")
    return outputs.result(capture.stacks)


@dataclass
class _Outputs(Sums):
    """What the heads of each layer gave, summed over real tokens."""

    sums: dict[Place, Tensor] = field(default_factory=dict)  # (head, dim) each
    tokens: dict[Place, int] = field(default_factory=dict)

    def update(self, place: Place, output: Tensor, mask: Tensor | None) -> None:
        """Count `output` (text, query, head, dim) of one layer where `mask` (text, query) is true."""
        wide = output.double()
        if mask is not None:
            wide = wide * mask.to(wide)[:, :, None, None]
        self.sums[place] = self.sums.get(place, 0) + wide.sum((0, 1))
        tokens = int(output[:, :, 0, 0].numel() if mask is None else mask.sum())
        self.tokens[place] = self.tokens.get(place, 0) + tokens

    def result(self, stacks: Stacks) -> dict[StackName, Tensor]:
        """(layer, head, dim) the means of each stack."""
        means = {place: total / self.tokens[place] for place, total in self.sums.items()}
        return {
            grid.stack: torch.stack(
                [means[place] for place in stacks.places if place.stack == grid.stack]
            ).to("cpu", torch.float32)
            for grid in stacks.grids
        }


@dataclass(frozen=True)
class _Inputs:
    """A batch of model input."""

    tensors: Batch

    def __len__(self) -> int:
        return len(next(iter(self.tensors.values())))

    def __getitem__(self, part: slice, /) -> "_Inputs":
        return _Inputs({name: tensor[part] for name, tensor in self.tensors.items()})


def _batches(
    capture: Capture, texts: Iterable[str | TextPair | Batch], max_length: int | None
) -> Iterator[_Inputs]:
    """Model inputs: given ones as they are, texts in batches of like length."""
    stream = iter(texts)
    first = list(islice(stream, 1))
    are_batches = bool(first) and isinstance(first[0], Mapping)
    checked = (_of_kind(text, are_batches=are_batches) for text in chain(first, stream))
    if are_batches:
        yield from (_Inputs(inputs) for inputs in checked)  # type: ignore[arg-type]  # all are given, or it raises
        return
    watch = Watch(capture)
    longest = longest_text(capture.model, max_length, LONGEST_WITHOUT_LIMIT)
    encoder = watch.encoder(longest)
    encoded = (
        encoder.encode(TextPair(text) if isinstance(text, str) else text)  # type: ignore[arg-type]  # no given input
        for text in checked
    )
    for batch in watch.batches("auto", longest)(encoded):
        yield _Inputs(watch.batch(batch).inputs)


def _of_kind(text: str | TextPair | Batch, *, are_batches: bool) -> str | TextPair | Batch:
    if isinstance(text, Mapping) != are_batches or not isinstance(text, str | TextPair | Mapping):
        raise OptionError("mean_outputs takes texts (strings or pairs) or batches of model input, not both")
    return text
