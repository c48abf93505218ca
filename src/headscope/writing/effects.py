"""Direct effects on text: what every head adds to the scores of tokens, beside what it adds at another position."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from headscope.accumulator import Sums
from headscope.passes.controlled import ControlledMeans
from headscope.text.batching import TextBatch
from headscope.trace import AttentionCall, run_calls
from headscope.trace.architecture import Place
from headscope.trace.hooks import hooked
from headscope.types import CLS, SEP, HeadGrid, TokenBatch
from headscope.writing.readout import Readout, StraightPaths

LOOKED_AT, NEXT, CURRENT = TARGETS = ("looked_at", "next", "current")
"""Whose score: that of the token looked at most, of the token that really follows, and of the token itself."""


@dataclass
class WrittenSums(Sums):
    """What was counted of the texts."""

    effects: ControlledMeans
    written: Tensor  # (layer, head, hidden) sum over tokens of what a head adds to the normed stream
    tokens: int = 0

    @classmethod
    def zeros(cls, grid: HeadGrid, hidden: int) -> Self:
        """Nothing seen yet."""
        written = torch.zeros(*grid.shape, hidden, dtype=torch.float64)
        return cls(ControlledMeans.zeros(grid, TARGETS), written)


@dataclass(frozen=True)
class Tokens:
    """The tokens of a batch of texts, (text, token) each."""

    ids: Tensor
    real: Tensor
    """True but for padding."""
    ordinary: Tensor
    """True but for padding and special tokens, whose scores mean nothing."""

    @classmethod
    def of(cls, batch: TokenBatch) -> Self:
        """Those of a batch as the model is given it."""
        ordinary = batch.is_token & (batch.role != CLS) & (batch.role != SEP)
        return cls(batch.ids, batch.is_token, ordinary)


@dataclass(frozen=True)
class _Seen:
    output: Tensor  # (text, query, head, dim)
    looked_at: Tensor  # (text, head, query) the token on which the largest weight lies
    is_word: Tensor  # (text, head, query) False where that is a special token


@dataclass(frozen=True)
class LayerEffects:
    """What the heads of one layer write."""

    layer: int
    output: Tensor  # (text, query, head, dim)
    scale: Tensor  # (text, query, 1) what the final norm multiplies it by
    matrix: Tensor  # (head, dim, hidden) the output projection
    by_target: dict[str, tuple[Tensor, Tensor, Tensor]]
    """(text, head) effect, that of the control, and whether the text has a case."""


def effects(
    paths: StraightPaths, inputs: dict[str, Tensor], tokens: Tokens, *, targets: Sequence[str] = TARGETS
) -> Iterator[LayerEffects]:
    """One batch through the model, layer by layer; all outputs are held until the final norm has spoken."""
    layers: dict[Place, _Seen] = {}
    ids, real = tokens.ids, tokens.real
    last: list[Tensor] = []  # (text, token, hidden) the stream before the final norm

    def see(place: Place, call: AttentionCall) -> None:
        largest = call.weights.argmax(-1)  # (text, head, query)
        looked, words = (
            each[:, None].expand_as(largest).gather(2, largest) for each in (ids, tokens.ordinary)
        )
        layers[place] = _Seen(call.output.float(), looked, words & real[:, None])

    norm = paths.readout.norm
    with hooked([norm.register_forward_pre_hook(lambda _, given: last.append(given[0]))]):
        run_calls(paths.capture, inputs, see)
    scale = paths.readout.scale(last[-1].float())  # (text, token, 1)
    elsewhere = _elsewhere(real)  # (text, token)
    follows = torch.cat([ids[:, 1:], ids[:, :1]], 1)
    has_next = real & torch.cat([real[:, 1:], torch.zeros_like(real[:, :1])], 1)
    for place, seen in layers.items():
        _, _, heads, width = seen.output.shape
        matrix, _ = paths.projections[place].matrix(heads, width)  # (head, dim, hidden)
        output = seen.output * scale[..., None]  # what the norm will make of it
        other = output.gather(1, elsewhere[..., None, None].expand_as(output))
        by_target = {}
        for target, scored, applies in (
            (NEXT, follows, has_next[..., None]),
            (CURRENT, ids, tokens.ordinary[..., None]),
            (LOOKED_AT, seen.looked_at, seen.is_word.mT),
        ):
            if target in targets:
                cases = applies.sum(1)  # (text, head or 1)
                value, control = (
                    (_effect(each, matrix, scored, paths.readout) * applies).sum(1) / cases.clamp_min(1)
                    for each in (output, other)
                )  # (text, head)
                by_target[target] = (value, control, cases > 0)
        yield LayerEffects(place.layer, seen.output, scale, matrix, by_target)


def count(part: WrittenSums, paths: StraightPaths, batch: TextBatch) -> None:
    """Count one batch of texts."""
    tokens = Tokens.of(batch.source)
    part.tokens += int(tokens.real.sum())
    for layer in effects(paths, batch.inputs, tokens):
        output = (layer.output * layer.scale[..., None]).double()
        kept = torch.einsum("tqhd,tq->hd", output, tokens.real.double())
        part.written[layer.layer] += torch.einsum("hd,hde->he", kept, layer.matrix.double()).cpu()
        for target, (value, control, applies) in layer.by_target.items():
            part.effects.add(target, layer.layer, value, control, applies=applies)


def _elsewhere(real: Tensor) -> Tensor:
    """(text, token) another position of the same text: half a text further on, from the end on to its beginning."""
    length = real.sum(1, keepdim=True).clamp_min(1)
    places = torch.arange(real.shape[1], device=real.device)
    return ((places + length.div(2, rounding_mode="floor").clamp_min(1)) % length).where(real, places)


def _effect(output: Tensor, matrix: Tensor, tokens: Tensor, readout: Readout) -> Tensor:
    """(text, query, head) what outputs (text, query, head, dim) add to the scores of tokens (text, [head,] query)."""
    directions = readout.directions
    if tokens.dim() == 2:
        asked = torch.einsum("tqe,hde->tqhd", directions[tokens], matrix)
        return (asked * output).sum(-1)
    columns = [
        ((directions[tokens[:, head]] @ matrix[head].T) * output[:, :, head]).sum(-1)
        for head in range(len(matrix))
    ]  # head by head, as each looks at tokens of its own
    return torch.stack(columns, -1)
