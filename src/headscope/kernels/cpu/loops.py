"""Sums over attention on a CPU by loops that numba compiles, shared among torch's threads.

Where numba does not work (as under a Python that it does not support yet), or maps are not of float32, plain torch
gives the same numbers to rounding.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from os import getpid
from typing import Any

import numpy as np
import torch
from torch import Tensor

# Into how many parts the columns of a text are cut, how many a part has, and what the sums of all may take.
_MOST_PARTS, _LEAST_COLUMNS, _PARTS_BYTES = 16, 1024, 1 << 26


@cache
def why_not_compiled() -> str | None:
    """Why there is no compiler for the loops here; None where there is one."""
    try:
        loops()
    except Exception as error:  # not installed, or not made for this Python or machine: torch does it
        if isinstance(error, ModuleNotFoundError) and error.name == "numba":
            return "numba is not installed (pip install numba)"
        reason = next(iter(str(error).splitlines()), "")
        return f"numba does not work here ({type(error).__name__}: {reason[:120]})"
    return None


def is_compiled() -> bool:
    """Whether there is a compiler for the loops."""
    return why_not_compiled() is None


def loops() -> Any:
    """The compiled loops; loaded when first used, since that takes a while."""
    return import_module("headscope.kernels.cpu.compiled")


def takes(maps: Tensor) -> bool:
    """Whether maps are such as the compiled loops take."""
    return maps.device.type == "cpu" and maps.dtype == torch.float32 and is_compiled()


def weights_as_they_are(texts: int, heads: int, keys: int) -> Any:
    """What is said of maps that hold weights, not scores."""
    return loops().Scores(0.0, np.zeros((texts, keys), np.float32), np.zeros(heads, np.float32), False)


def no_rows(texts: int) -> Any:
    """What is said where no rows are kept."""
    return loops().Rows(np.zeros(0, np.float32), np.zeros((0, 3), np.int64), np.zeros(texts + 1, np.int64))


def map_sums(  # noqa: PLR0917  (as the loop takes them)
    maps: Tensor,
    base: int,
    line: int,
    heads: int,
    scores: Any,
    lengths: Tensor | None,
    tokens: Any,
    into: Any,
    rows: Any = None,
    *,
    alone: bool = False,
) -> None:
    """One pass over maps (map, query, key) that `takes` allows; see `compiled.map_sums`."""
    scaled = np.zeros((1, 1, 1), np.float32) if lengths is None else lengths.detach().contiguous().numpy()
    kept = no_rows(len(tokens.kinds)) if rows is None else rows
    given = (base, line, heads, scores, scaled, tokens, into, kept, alone)
    in_parts(len(maps), lambda first, last: loops().map_sums(maps.numpy(), first, last, *given))


def given_sums(vectors: Tensor, kinds: Any, residual: Tensor | None, line: int, into: Tensor) -> None:
    """Sum up what heads give, `vectors` (text, head, query, dim) in float32; see `compiled.given_sums`."""
    stream = torch.full(kinds.shape, torch.nan) if residual is None else residual
    flat, given = vectors.contiguous().numpy(), (kinds, stream.numpy(), line, into.numpy())
    in_parts(flat.shape[0] * flat.shape[1], lambda first, last: loops().given_sums(flat, first, last, *given))


def template_sums(
    rows: Tensor, templates: Tensor, share: Tensor, bins: Tensor, *, count: int
) -> tuple[Tensor, Tensor]:
    """(head, template) products of rows with templates, and (head, bin) attention in each of `count` bins.

    Of `rows` (text, head, row, key) that `takes` allows, each times its `share` (text, row): with `templates` (text,
    template, row, key), and by the `bins` (text, row, key) of keys, -1 for none.
    """
    heads = rows.shape[1]
    sums = [torch.zeros(heads, size, dtype=torch.float64) for size in (templates.shape[1], count)]
    given, *others = (values.detach().contiguous().numpy() for values in (rows, templates, share, bins))
    others += [values.numpy() for values in sums]
    in_parts(heads, lambda first, last: loops().template_sums(given, first, last, *others))
    return sums[0], sums[1]


def largest_of_cells(maps: Tensor, side: int) -> Tensor:
    """(map, side, side) the largest weight of each cell of `maps` (map, query, key) that `takes` allows."""
    pooled = torch.zeros(len(maps), side, side)
    loops().largest(maps.detach().contiguous().numpy(), pooled.numpy())
    return pooled


def joint_sums(maps: Tensor, *, sparse: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Of `maps` (text, head, query, key) that `takes` allows, the sums of p, of p log p and of s log s, s = p + q.

    (text, head) twice, and for every two heads (text, head, head), above the diagonal; in float64. Of `sparse` maps
    what is 0 in all heads is left out.
    """
    own, joint = zip(*(_joint_sums(text, sparse=sparse) for text in maps.detach().flatten(2)), strict=True)
    mass, negative = torch.stack(own).unbind(-1)
    return mass, negative, torch.stack(joint)


def _joint_sums(columns: Tensor, *, sparse: bool) -> tuple[Tensor, Tensor]:
    """(head, 2) and (head, head) of one text's `columns` (head, query and key).

    They are cut into parts by their number and that of heads, so that bits depend on no number of threads.
    """
    heads = len(columns)
    if sparse:
        columns = columns[:, (columns > 0).any(0)]
    parts = max(1, min(_MOST_PARTS, columns.shape[1] // _LEAST_COLUMNS, _PARTS_BYTES // (8 * heads * heads)))
    own = torch.zeros(parts, heads, 2, dtype=torch.float64)
    joint = torch.zeros(parts, heads, heads, dtype=torch.float64)
    given, edges = (
        columns.contiguous().numpy(),
        [columns.shape[1] * part // parts for part in range(parts + 1)],
    )

    def work(first: int, last: int) -> None:
        for part in range(first, last):
            loops().joint_sums(given, *edges[part : part + 2], own[part].numpy(), joint[part].numpy())

    in_parts(parts, work)
    return own.sum(0), joint.sum(0)


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
