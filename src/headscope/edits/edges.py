"""Removing single edges: what some queries of one head see of some keys of one text, and nothing else."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from headscope.edits.changes import editable, renormalised
from headscope.trace import AttentionCall, Capture, Follower, Forward, following
from headscope.trace.architecture import Place
from headscope.types import HeadId, StackName


@dataclass(frozen=True)
class Edge:
    """The attention of some tokens to some others, in one head and one text of a batch."""

    text: int
    stack: StackName
    head: HeadId
    queries: tuple[int, ...]
    keys: tuple[int, ...]

    @property
    def place(self) -> Place:
        """The layer it is in."""
        return Place(self.stack, self.head.layer)


@contextmanager
def without_edges(capture: Capture, edges: Sequence[Edge]) -> Iterator[Follower]:
    """Inside, a forward pass of a batch has these edges' weights at 0, and the rest of each row scaled up to its sum.

    Rows with nothing left stay 0. All other weights stay as they are, bit for bit.
    """
    editable(capture)
    by_place: dict[Place, list[Edge]] = defaultdict(list)
    for edge in edges:
        by_place[edge.place].append(edge)

    def handle(place: Place, call: AttentionCall, forward: Forward) -> AttentionCall:
        own = by_place[place]
        heads = torch.tensor(sorted({edge.head.head for edge in own}), device=call.weights.device)
        call.check(heads)
        return call.with_weights(heads, _left(call, own, heads))

    with following(capture, by_place, handle, edit=f"{len(edges)} edges removed (renormalised)") as follower:
        yield follower


def _left(call: AttentionCall, edges: Sequence[Edge], heads: Tensor) -> Tensor:
    """(text, chosen head, query, key) the weights without the edges."""
    weights = call.weights[:, heads]
    removed = torch.zeros_like(weights, dtype=torch.bool)
    number = {head: place for place, head in enumerate(heads.tolist())}
    for edge in edges:
        queries, keys = (torch.tensor(side, device=weights.device) for side in (edge.queries, edge.keys))
        removed[edge.text, number[edge.head.head], queries[:, None], keys] = True
    touched = removed.any(-1, keepdim=True)
    return torch.where(touched, renormalised(weights, weights.masked_fill(removed, 0)), weights)
