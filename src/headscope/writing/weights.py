"""What the weights alone say of a head: whether it copies what it looks at, and whose output it reads."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers.pytorch_utils import Conv1D

from headscope.models.adapters import Adapter
from headscope.trace import attention_modules
from headscope.trace.architecture import Place
from headscope.writing.readout import Readout, StraightPaths

READS = ("query", "key", "value")
"""Through what a later head may read what an earlier one wrote."""


@dataclass(frozen=True)
class HeadMatrices:
    """The matrices of one layer's heads, the gain of the norm before them multiplied in."""

    query: Tensor  # (head, hidden, dim)
    key: Tensor  # (head, hidden, dim)
    value: Tensor  # (head, hidden, dim)
    output: Tensor  # (head, dim, hidden)


def head_matrices(paths: StraightPaths) -> dict[Place, HeadMatrices]:
    """Those of every layer whose projections are known; the others are left out."""
    capture = paths.capture
    modules = dict(capture.model.core.named_modules())
    found: dict[Place, HeadMatrices] = {}
    for place, name in attention_modules(capture).items():
        parts = capture.model.adapter.projections_of(name, modules)
        heads = capture.stacks.grid(place.stack).heads
        if len(parts) < 4 or not hasattr(modules[name], "head_dim"):
            continue
        width = int(modules[name].head_dim)
        inputs = _inputs(parts, capture.model.adapter, heads, width)
        if any(matrix.shape[1] % width for matrix in inputs):
            continue
        gain = getattr(paths.projections[place].residual, "weight", None)
        scaled = [matrix if gain is None else matrix * gain.detach().float()[:, None] for matrix in inputs]
        # (head or group, hidden, dim) each
        split = [matrix.unflatten(1, (-1, width)).transpose(0, 1) for matrix in scaled]
        query, key, value = (matrix.repeat_interleave(heads // len(matrix), 0) for matrix in split)
        output, _ = paths.projections[place].matrix(heads, width)
        found[place] = HeadMatrices(query, key, value, output.float())
    return found


def _inputs(parts: dict[str, Any], adapter: Adapter, heads: int, size: int) -> list[Tensor]:
    """(hidden, width) of query, key and value; apart, or together in one matrix."""
    matrices = [
        part.weight.detach().float() if isinstance(part, Conv1D) else part.weight.detach().float().T
        for part in (parts[name] for name in READS)
    ]
    if parts["query"] is not parts["key"]:
        return matrices
    rows = matrices[0].shape[1]
    own = [adapter.joined_rows([head], width=heads * size, size=size, rows=rows) for head in range(heads)]
    # (head, query/key/value, row)
    places = torch.tensor(own, device=matrices[0].device).reshape(heads, 3, size)
    return [matrices[0][:, places[:, part].flatten()] for part in range(3)]


def copying(matrices: HeadMatrices, embedding: Tensor, readout: Readout) -> Tensor:
    """(head,) sum(lambda) / sum|lambda| of W_E W_V W_O W_U: 1 when every token raises itself, -1 when it lowers itself.

    The eigenvalues other than 0 are those of the product taken the other way round, which is as small as a head is wide
    (Elhage et al. 2021).
    """
    through = readout.directions.T @ embedding  # (hidden, hidden) from what is written to what is read
    small = matrices.output @ through @ matrices.value  # (head, dim, dim)
    values = torch.linalg.eigvals(small.double().cpu())
    copies: Tensor = values.real.sum(-1) / values.abs().sum(-1)
    return copies


def composition(first: HeadMatrices, second: HeadMatrices) -> Tensor:
    """(read, head of the second, head of the first) how much of what one head writes the other reads.

    The Frobenius norm of the product of both circuits over the product of their norms (Elhage et al. 2021). Random
    matrices with the same singular values have 1 / sqrt(hidden) on average (root mean square), whatever these are.
    """
    return torch.stack([
        _ratio(first.value, first.output, *sides)
        for sides in (
            (second.query, second.key.mT),
            (second.key, second.query.mT),
            (second.value, second.output),
        )
    ])  # fmt: skip


def _ratio(value: Tensor, output: Tensor, reads: Tensor, goes_on: Tensor) -> Tensor:
    """(second, first) |V O R G| / (|V O| |R G|), without a product as large as the stream is wide."""
    inner = output[None] @ reads[:, None]  # (second, first, dim, dim)
    left = torch.linalg.qr(value, mode="r").R  # (first, dim, dim): |V M| = |R M|
    right = torch.linalg.qr(goes_on.mT, mode="r").R.mT  # (second, dim, dim)
    whole = (left[None] @ inner @ right[:, None]).norm(dim=(-2, -1))
    ratio: Tensor = (
        whole / (left @ output).norm(dim=(-2, -1))[None] / (reads @ right).norm(dim=(-2, -1))[:, None]
    )
    return ratio
