"""All that measures sum over maps, in one pass over each: by a kernel, or by compiled loops on a CPU."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headscope.kernels.cpu import loops as cpu
from headscope.reductions.tokens import (
    FARTHEST,
    PAIR_PATTERNS,
    WINDOWS,
    KeyClass,
    class_table,
    ordinary_keys,
    pattern_entries,
    query_kinds,
    window_of_offsets,
)
from headscope.types import LayerAttention, MovedBatch, TokenBatch


@dataclass(frozen=True)
class MapSums:
    """All that measures ask of attention maps, weighed in one way; by distance only within one text."""

    mass: Tensor  # (text, head, group, class) mean attention from each QueryGroup to each KeyClass
    entropies: Tensor  # (text, head, group) mean over each QueryGroup, in nats
    by_distance: Tensor | None  # (text, head, self and windows) to ordinary keys, summed over queries
    by_offset: Tensor | None  # (text, head, offset) summed over queries, up to FARTHEST
    by_pattern: Tensor | None  # (text, head, pattern) summed over queries


def one_pass(batch: LayerAttention) -> MapSums | None:
    """The sums of a batch whose maps are on a CPU and such as the compiled loops take; elsewhere None."""
    looked = batch.looked if isinstance(batch, MovedBatch) else batch
    if batch.keys.ids.device.type != "cpu" or not cpu.takes(looked.attention):
        return None  # elsewhere maps may not be formed
    lengths = batch.lengths if isinstance(batch, MovedBatch) else None
    texts, heads = looked.attention.shape[:2]
    room = SumsRoom(batch.queries, batch.keys, heads, ways=1 if lengths is None else 2)
    maps = looked.attention.detach().flatten(0, 1).contiguous()
    given = (
        cpu.weights_as_they_are(texts, heads, maps.shape[2]),
        lengths,
        token_tables(batch.queries, batch.keys),
    )
    cpu.map_sums(maps, 0, 0, heads, *given, room.into)
    return room.sums(0 if lengths is None else 1)


def in_plain_torch(layer: LayerAttention) -> LayerAttention:
    """The layer, of which reductions are from now on computed by torch alone."""
    layer._reduced[one_pass] = None
    return layer


class SumsRoom:
    """Room for the sums of some heads, and of one way or two to weigh their attention: 0 looked, 1 moved."""

    def __init__(self, queries: TokenBatch, keys: TokenBatch, heads: int, *, ways: int) -> None:
        self.members = queries.derive(query_kinds)[1]  # (text, group, kind)
        self.within = queries is keys
        texts, _, kinds = self.members.shape
        sizes = ((kinds, len(KeyClass)), (kinds,), (1 + WINDOWS,), (2 * FARTHEST + 1,), (len(PAIR_PATTERNS),))
        self._sums = [torch.zeros(texts, heads, ways, *size, dtype=torch.float64) for size in sizes]

    @property
    def into(self) -> Any:
        """The same for the compiled loops."""
        return cpu.loops().Into(*(sums.numpy() for sums in self._sums))

    def sums(self, way: int, heads: slice = slice(None)) -> MapSums:
        """What was found of all heads or some."""
        mass, entropies, *others = (sums[:, heads, way] for sums in self._sums)
        members = self.members[:, None]  # (text, 1, group, kind)
        by_place = others if self.within else (None, None, None)
        return MapSums(members @ mass, (members @ entropies[..., None])[..., 0], *by_place)


def token_tables(queries: TokenBatch, keys: TokenBatch, *, within: bool = True) -> Any:
    """What the compiled loops are told of the tokens; by distance and pattern only `within` one text."""
    places = keys.derive(_places) if within and queries is keys else _no_places(queries, keys)
    kinds = queries.derive(query_kinds)[0].numpy()
    return cpu.loops().Tokens(kinds, *keys.derive(_key_tables), *places)


def _key_tables(keys: TokenBatch) -> tuple[Any, ...]:
    classes = keys.derive(class_table)[..., : len(KeyClass)]  # (text, key, class)
    return classes.mT.contiguous().numpy(), keys.derive(ordinary_keys).float().numpy()


def _places(tokens: TokenBatch) -> tuple[Any, ...]:
    """Windows, pairs and where each text's begin."""
    return tokens.derive(window_of_offsets).numpy(), *(
        part.numpy() for part in tokens.derive(pattern_entries)
    )


def _no_places(queries: TokenBatch, keys: TokenBatch) -> tuple[Any, ...]:
    """The same between two texts, where distances and patterns mean nothing."""
    texts, offsets = len(keys.ids), queries.ids.shape[1] + keys.ids.shape[1] + 1
    shapes = ((texts, offsets), (0, 3), (texts + 1,))
    return tuple(torch.zeros(shape, dtype=torch.long).numpy() for shape in shapes)
