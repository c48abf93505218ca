"""Direct effects on text: what every head adds to the scores of tokens, beside what it adds at another position."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from headscope.accumulator import Sums
from headscope.capture import AttentionCall, Capture, run_calls
from headscope.capture.projection import OutputProjection
from headscope.models.stacks import Place
from headscope.run.controlled import ControlledMeans
from headscope.text.batching import TextBatch
from headscope.types import CLS, SEP, HeadGrid
from headscope.writing.readout import Readout, watching_streams

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
        written = torch.zeros(grid.layers, grid.heads, hidden, dtype=torch.float64)
        return cls(ControlledMeans.zeros(grid, TARGETS), written)


@dataclass(frozen=True)
class _Layer:
    output: Tensor  # (text, query, head, dim)
    looked_at: Tensor  # (text, head, query) the token on which the largest weight lies
    is_word: Tensor  # (text, head, query) False where that is a special token, whose score means nothing


def count(
    part: WrittenSums,
    capture: Capture,
    paths: dict[Place, OutputProjection],
    readout: Readout,
    batch: TextBatch,
) -> None:
    """One batch through the model; all layers' outputs are held until the final norm has spoken."""
    layers: dict[Place, _Layer] = {}
    ids, real, role = batch.source.ids, batch.source.is_token, batch.source.role  # (text, token) each
    ordinary = real & (role != CLS) & (role != SEP)

    def see(place: Place, call: AttentionCall) -> None:
        largest = call.weights.argmax(-1)  # (text, head, query)
        tokens, words = (each[:, None].expand_as(largest).gather(2, largest) for each in (ids, ordinary))
        layers[place] = _Layer(call.output.float(), tokens, words & real[:, None])

    with watching_streams(paths, readout) as streams:
        run_calls(capture, batch.inputs, see)
    scale = readout.scale(streams[None].float())  # (text, token, 1)
    elsewhere = _elsewhere(real)  # (text, token)
    follows = torch.cat([ids[:, 1:], ids[:, :1]], 1)
    has_next = real & torch.cat([real[:, 1:], torch.zeros_like(real[:, :1])], 1)
    part.tokens += int(real.sum())
    for place, layer in layers.items():
        _, _, heads, width = layer.output.shape
        matrix, _ = paths[place].matrix(heads, width)  # (head, dim, hidden)
        output = layer.output * scale[..., None]  # what the norm will make of it
        other = output.gather(1, elsewhere[..., None, None].expand_as(output))
        kept = torch.einsum("tqhd,tq->hd", output.double(), real.double())
        part.written[place.layer] += torch.einsum("hd,hde->he", kept, matrix.double()).cpu()
        for target, tokens, applies in (
            (NEXT, follows, has_next[..., None]),
            (CURRENT, ids, ordinary[..., None]),
            (LOOKED_AT, layer.looked_at, layer.is_word.mT),
        ):
            cases = applies.sum(1)  # (text, head or 1)
            value, control = (
                (_effect(each, matrix, tokens, readout) * applies).sum(1) / cases.clamp_min(1)
                for each in (output, other)
            )  # (text, head)
            part.effects.add(target, place.layer, value, control, applies=cases > 0)


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
