"""How differently the heads of two models look at the same texts, every head of one against every head of the other."""

from math import log

import torch
from torch import Tensor

from headscope.measures.head_distance import ACCELERATOR_BLOCK, CPU_BLOCK, without_first
from headscope.reductions import entropy_of
from headscope.types import LayerAttention


def layers_divergence(
    first: list[LayerAttention], second: list[LayerAttention], *, leaves_first: bool
) -> Tensor:
    """(text, head, head) Jensen-Shannon divergence in nats of all heads of the layers, mean over queries.

    With `leaves_first`, as `head_distance` has it in a decoder, without the first token: a text of one token has no
    divergence then, nan.
    """
    tokens = second[0].queries, second[0].keys
    on_cpu = second[0].attention.device.type == "cpu"
    texts = len(tokens[0].ids)
    parts = []
    # On a CPU texts go one by one, without their padding.
    for part in [slice(text, text + 1) for text in range(texts)] if on_cpu else [slice(texts)]:
        rows, columns = (int(own.lengths[part].max()) for own in tokens)
        both = (  # (head, text, query, key) each
            torch.cat([layer.attention[part, :, :rows, :columns] for layer in layers], 1).transpose(0, 1)
            for layers in (first, second)
        )
        maps = map(without_first, both) if leaves_first else both
        sums = divergence_sums(*maps, block=CPU_BLOCK if on_cpu else ACCELERATOR_BLOCK)
        queries = tokens[0].lengths[part, None, None] - int(leaves_first)
        parts.append(torch.where(queries > 0, sums / queries, torch.nan))
    return torch.cat(parts)


def divergence_sums(first: Tensor, second: Tensor, *, block: int) -> Tensor:
    """(text, head, head) divergence of every head of `first` from every head of `second`, summed over queries.

    Both are (head, text, query, key), 0 where there is padding. The formula is that of the measure `head_distance`:
    with s = p + q, H(s / 2) = log 2 - sum(s log s) / 2.
    """
    second = second.to(first.device, first.dtype)
    smallest = torch.finfo(first.dtype).tiny  # no zeros under the logarithm
    first, second = first.clamp_min(smallest), second.clamp_min(smallest)
    mass, entropy = (
        numbers[0][:, :, None] / 2 + numbers[1][:, None] / 2  # (text, head, head)
        for numbers in (
            [maps.sum((2, 3), dtype=torch.float64).T for maps in (first, second)],
            [entropy_of(maps).sum(-1, dtype=torch.float64).T for maps in (first, second)],
        )
    )
    joint = torch.zeros_like(mass)
    rows = max(1, block // (first.shape[1] * first.shape[3]))
    for start in range(0, first.shape[2], rows):
        mine, theirs = (maps[:, :, start : start + rows].flatten(2) for maps in (first, second))
        for head, own in enumerate(mine):
            both = own + theirs  # (head, text, query and key)
            joint[:, head] += torch.linalg.vecdot(both, both.log()).T
    return (mass * log(2) - joint / 2 - entropy).clamp_min(0)
