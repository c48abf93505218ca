"""All that measures sum over maps on a CPU, in one pass over each map while it is in cache.

By loops that numba compiles, where it is installed (`headscope[fast]`) and maps are of float32; elsewhere each
reduction goes over the maps in plain torch, and the numbers are the same to rounding.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from os import getpid
from typing import Any

import torch
from torch import Tensor

from headscope.types import Array, AttentionBatch, MovedBatch


@cache
def is_compiled() -> bool:
    """Whether there is a compiler for the loops."""
    try:
        _compiled()
    except Exception:  # not installed, or not made for this machine: torch does it
        return False
    return True


def _compiled() -> Any:
    """The loops; loaded when first used, since that takes a while."""
    return import_module("headscope.measures.compiled")


def takes(maps: Tensor) -> bool:
    """Whether maps are such as the compiled loops take."""
    return maps.device.type == "cpu" and maps.dtype == torch.float32 and is_compiled()


@dataclass(frozen=True)
class MapSums:
    """What one pass over the maps of a batch gives, in float64."""

    columns: Tensor  # (text, head, kind, key) sums of the rows of each kind of query
    entropies: Tensor  # (text, head, query) in nats, 0 for padding
    scales: (
        Tensor  # (text, head, query) what the rows of moved shares are scaled by; 0 where nothing is fetched
    )
    diagonals: Tensor  # (text, head, offset + queries) sums along diagonals, of ordinary keys
    near: Tensor  # (text, head, offset) the same of all keys, near the middle


def map_sums(batch: AttentionBatch, kinds: Tensor, count: int, ordinary: Tensor, *, farthest: int) -> MapSums:
    """One pass over the maps of a batch that `takes` allows.

    `kinds` (text, query) says to which of `count` sums of rows a query belongs, -1 for padding. `ordinary` (text, key)
    are the keys that count on diagonals. Diagonals up to `farthest` from the middle are summed over all keys too.
    """
    maps, lengths = _flat(batch)
    count_maps, queries, keys = maps.shape
    sizes = ((count, keys), (queries,), (queries,), (queries + keys + 1,), (2 * farthest + 1,))
    sums = [torch.zeros(count_maps, *size, dtype=torch.float64) for size in sizes]
    given = (maps, lengths, kinds.numpy(), ordinary.float().numpy())
    into = [values.numpy() for values in sums]
    in_parts(count_maps, lambda first, last: _compiled().map_sums(*given, first, last, *into))
    return MapSums(*(values.view(len(kinds), -1, *values.shape[1:]) for values in sums))


def entry_sums(
    batch: AttentionBatch, scales: Tensor, entries: Tensor, starts: Tensor, *, count: int
) -> Tensor:
    """(text, head, sum) sums of single weights of a batch that `takes` allows.

    `entries` (entry, 3) are query, key and which of `count` sums they belong to, those of text t from `starts[t]` on;
    `scales` (text, head, query) those of `MapSums`.
    """
    maps, lengths = _flat(batch)
    sums = torch.zeros(len(maps), count, dtype=torch.float64)
    given = (maps, lengths, scales.flatten(0, 1).numpy(), entries.numpy(), starts.numpy())
    in_parts(len(maps), lambda first, last: _compiled().entry_sums(*given, first, last, sums.numpy()))
    return sums.view(*scales.shape[:2], count)


def _flat(batch: AttentionBatch) -> tuple[Array, Array | None]:
    """(map, query, key) the weights, and of a moved batch (map, key) the lengths of what is fetched."""
    looked, lengths = (batch.looked, batch.lengths) if isinstance(batch, MovedBatch) else (batch, None)
    maps: Array = looked.attention.detach().flatten(0, 1).contiguous().numpy()
    return maps, None if lengths is None else lengths.detach().flatten(0, 1).contiguous().numpy()


def template_sums(
    rows: Tensor, templates: Tensor, share: Tensor, bins: Tensor, *, count: int
) -> tuple[Tensor, Tensor]:
    """(head, template) products of rows with templates, and (head, bin) attention in each of `count` bins.

    Of `rows` (text, head, row, key) that `takes` allows, each times its `share` (text, row): with `templates` (text,
    template, row, key), and by the `bins` (text, row, key) of keys, -1 for none.
    """
    heads = rows.shape[1]
    sums = [torch.zeros(heads, size, dtype=torch.float64) for size in (templates.shape[1], count)]
    given = [values.detach().contiguous().numpy() for values in (rows, templates, share, bins)]
    into = [values.numpy() for values in sums]
    in_parts(heads, lambda first, last: _compiled().template_sums(*given, first, last, *into))
    return sums[0], sums[1]


def largest_of_cells(maps: Tensor, side: int) -> Tensor:
    """(map, side, side) the largest weight of each cell of `maps` (map, query, key) that `takes` allows."""
    pooled = torch.zeros(len(maps), side, side)
    _compiled().largest(maps.detach().contiguous().numpy(), pooled.numpy())
    return pooled


def joint_sums(maps: Tensor, *, sparse: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Of `maps` (text, head, query, key) that `takes` allows, the sums of p, of p log p and of s log s, s = p + q.

    (text, head) twice, and for every two heads (text, head, head), above the diagonal; in float64. Of `sparse` maps
    what is 0 in all heads is left out.
    """
    flat = maps.detach().flatten(2)  # (text, head, query and key)
    of_texts = [(text[:, (text > 0).any(0)] if sparse else text).contiguous().numpy() for text in flat]
    texts, heads, threads = *flat.shape[:2], torch.get_num_threads()
    own = torch.zeros(threads, texts, heads, 2, dtype=torch.float64)
    joint = torch.zeros(threads, texts, heads, heads, dtype=torch.float64)

    def work(first: int, last: int) -> None:
        for part in range(first, last):
            for text, columns in enumerate(of_texts):
                edges = [columns.shape[1] * edge // threads for edge in (part, part + 1)]
                _compiled().joint_sums(columns, *edges, own[part, text].numpy(), joint[part, text].numpy())

    in_parts(threads, work)
    return own[..., 0].sum(0), own[..., 1].sum(0), joint.sum(0)


def in_parts(count: int, work: Callable[[int, int], None]) -> None:
    """`work(first, last)` of all of `count` things, in as many threads as torch has."""
    threads = min(torch.get_num_threads(), count)
    edges = [count * part // threads for part in range(threads + 1)]
    others = [_pool(getpid()).submit(work, *edges[part : part + 2]) for part in range(1, threads)]
    work(*edges[:2])
    for other in others:
        other.result()


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads of this process: those of a parent do not run in a fork."""
    return ThreadPoolExecutor(thread_name_prefix="headscope")
