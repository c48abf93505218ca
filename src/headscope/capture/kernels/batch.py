"""A layer's attention as the kernels gave it: measures take its sums, and no map is formed unless somebody asks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import torch
from torch import Tensor

from headscope.batches import ALL_LAYERS, AttentionBatch, Carried, MovedBatch, TokenBatch
from headscope.capture.call import AttentionInputs
from headscope.capture.kernels.launch import FusedCall, Pairs, TokenTables, View
from headscope.measures.distance_features import WINDOWS, window_sums, window_table
from headscope.measures.loudness import given_sums
from headscope.measures.named_patterns import pattern_pairs, pattern_sums
from headscope.measures.reductions import (
    FARTHEST,
    KeyClass,
    class_mass,
    class_table,
    group_weights,
    mean_entropy,
    near_diagonals,
    one_pass,
    ordinary_keys,
    row_scale,
)

# A mask is so far below 0 where a key is hidden, in any precision.
_HIDDEN = -1e4


class FusedBatch(AttentionBatch):
    """A layer's attention that was reduced while it was computed; rows and maps are computed when asked for.

    One whose `layer` is ALL_LAYERS holds all layers of a stack, their heads side by side, and nothing but sums.
    """

    call: FusedCall
    sums: "LayerSums"

    def __init__(
        self,
        layer: int,
        call: FusedCall,
        queries: TokenBatch,
        keys: TokenBatch,
        carried: Carried | None = None,
    ) -> None:
        """From a call that the kernel computed."""
        own = {"layer": layer, "queries": queries, "keys": keys, "call": call, "carried": carried}
        self.__dict__.update(own, _even={}, sums=LayerSums.of(call, queries, keys))
        self.__dict__["_reduced"] = self.sums.by_reduction(0)

    @property
    def dtype(self) -> torch.dtype:
        """What attention is counted in."""
        return torch.float32

    @cached_property
    def attention(self) -> Tensor:
        """(text, head, query, key) the whole maps, for who wants them."""
        count = self.queries.ids.shape[1]
        every = torch.arange(count, device=self.queries.ids.device).expand(len(self.queries.ids), -1)
        return self.rows(every) * self.queries.is_token[:, None, :, None]

    def map_of(self, text: int) -> Tensor:
        """(head, query, key) the attention of one text."""
        every = torch.arange(self.queries.ids.shape[1], device=self.queries.ids.device)[None]
        return self.rows(every, torch.tensor([text], device=every.device))[0]

    def rows(self, places: Tensor, texts: Tensor | None = None) -> Tensor:
        """(text, head, row, key) the attention of some queries."""
        return self.call.rows(places, texts)

    @cached_property
    def moved(self) -> MovedBatch:
        """The same by what the heads move."""
        moving = self.call.moving
        assert moving is not None
        batch = MovedBatch(self, moving.fetched)
        batch._reduced.update(self.sums.by_reduction(1))
        batch._reduced[row_scale] = moving.scale
        return batch


@dataclass(frozen=True)
class LayerSums:
    """All that measures ask of attention maps; a way to weigh them is 0, looked, or 1, moved."""

    mass: (
        Tensor  # (text, head, group, way and class) mean attention from groups of queries to classes of keys
    )
    entropies: Tensor  # (text, head, way, group)
    by_distance: Tensor | None  # (text, head, way, window and offset) by distance; of ordinary keys
    by_offset: Tensor | None  # (text, head, way, offset) by offset, of keys that are not ordinary
    by_pattern: Tensor | None  # (text, head, way, pattern)
    given: Tensor | None  # (text, head, sum)

    @classmethod
    def of(cls, call: FusedCall, queries: TokenBatch, keys: TokenBatch) -> Self:
        """Of one layer."""
        weights = queries.derive(group_weights)  # (text, group, query)
        texts, heads, ways, _ = call.entropies.shape
        by_distance = by_offset = by_pattern = None
        if queries is keys:  # distances and patterns mean nothing between two texts
            by_offset = call.pair_sums(keys.derive(_near_others))
            by_pattern = call.pair_sums(keys.derive(_named_pairs))
            table = keys.derive(_distances)
            by_distance = (call.diagonals.flatten(1, 2) @ table).view(texts, heads, ways, -1)
        return cls(
            weights[:, None] @ call.mass,
            (call.entropies.flatten(1, 2) @ weights.mT).view(texts, heads, ways, -1),
            by_distance,
            by_offset,
            by_pattern,
            None if call.moving is None else call.moving.given,
        )

    @classmethod
    def joined(cls, layers: "Sequence[LayerSums]") -> Self:
        """Those of all layers, their heads side by side."""

        def cat(name: str) -> Any:
            parts = [getattr(layer, name) for layer in layers]
            return None if parts[0] is None else torch.cat(parts, 1)

        names = ("mass", "entropies", "by_distance", "by_offset", "by_pattern", "given")
        return cls(*map(cat, names))

    def by_reduction(self, way: int) -> dict[Callable[..., Any], Any]:
        """What each function would compute of a map."""
        classes = len(KeyClass)
        known: dict[Callable[..., Any], Any] = {
            one_pass: None,
            class_mass: self.mass[..., way * classes : (way + 1) * classes],
            mean_entropy: self.entropies[:, :, way],
        }
        if self.given is not None and way == 0:
            known[given_sums] = self.given
        if self.by_pattern is not None:
            known[pattern_sums] = self.by_pattern[:, :, way]
        if self.by_distance is not None and self.by_offset is not None:
            by_distance = self.by_distance[:, :, way]
            known[window_sums] = by_distance[..., : WINDOWS + 1]
            known[near_diagonals] = by_distance[..., WINDOWS + 1 :] + self.by_offset[:, :, way]
        return known


class StackSums:
    """The sums of a stack's layers, gathered until the last."""

    def __init__(self, layers: int) -> None:
        self._count = layers
        self._layers: list[LayerSums] = []

    def add(self, batch: FusedBatch) -> AttentionBatch | None:
        """Take a layer's sums; with the last, all layers as one batch whose `layer` is ALL_LAYERS."""
        self._layers.append(batch.sums)
        if len(self._layers) < self._count:
            return None
        sums, self._layers = LayerSums.joined(self._layers), []
        whole = AttentionBatch.__new__(FusedBatch)
        own: dict[str, Any] = {
            "layer": ALL_LAYERS,
            "queries": batch.queries,
            "keys": batch.keys,
            "sums": sums,
            "_even": {},
        }
        whole.__dict__.update(own, carried=None, _reduced=sums.by_reduction(0))
        if batch.call.moving is not None:
            moved = MovedBatch(whole, batch.call.moving.fetched)
            moved._reduced.update(sums.by_reduction(1))
            whole.__dict__["moved"] = moved
        return whole


def _distances(tokens: TokenBatch) -> Tensor:
    """(text, offset + tokens, window and offset) 1 where the offset belongs to the window, or is one of the near."""
    longest = tokens.ids.shape[1]
    offset = torch.arange(-longest, longest + 1, device=tokens.ids.device)
    near = offset[:, None] == torch.arange(-FARTHEST, FARTHEST + 1, device=offset.device)
    windows = tokens.derive(window_table)
    return torch.cat([windows.float(), near.float().expand(len(windows), -1, -1)], -1)


def _near_others(tokens: TokenBatch) -> Pairs:
    """The pairs near the diagonal whose key is not ordinary, by offset."""
    length = tokens.ids.shape[1]
    others = tokens.is_token & ~tokens.derive(ordinary_keys)
    most = max(1, int(others.sum(-1).max()))
    # A stable sort puts a text's own first; what fills the row up counts nowhere.
    keys = others.int().argsort(dim=-1, descending=True, stable=True)[:, :most]  # (text, other)
    offsets = torch.arange(-FARTHEST, FARTHEST + 1, device=keys.device)
    queries = keys[..., None] - offsets  # (text, other, offset)
    counts = others.gather(1, keys)[..., None] & (queries >= 0) & (queries < tokens.lengths[:, None, None])
    places = queries.clamp(0, length - 1) * length + keys[..., None]
    codes = (1 << torch.arange(len(offsets), device=keys.device)) * counts
    return Pairs(places.flatten(1).contiguous(), codes.flatten(1).int().contiguous(), len(offsets))


def _named_pairs(tokens: TokenBatch) -> Pairs:
    """The pairs that named patterns point at, by pattern."""
    places, which = tokens.derive(pattern_pairs)  # (text, pair), (text, pair, pattern)
    bits = 1 << torch.arange(which.shape[-1], device=which.device)
    return Pairs(places.contiguous(), (which * bits).sum(-1).int().contiguous(), which.shape[-1])


class _Tables:
    """What the kernels need to know of a batch's tokens, and which masks have been looked at."""

    def __init__(self, keys: TokenBatch) -> None:
        classes = keys.derive(class_table)[..., : len(KeyClass)]
        self.classes = torch.cat([classes, classes], -1).float().contiguous()
        self.ordinary = keys.derive(ordinary_keys).contiguous()
        self.plain: dict[tuple[int, ...], bool] = {}


def view_of(inputs: AttentionInputs, queries: TokenBatch, keys: TokenBatch, *, causal: bool) -> View:
    """How the queries of a call see its keys; a mask that only hides padding, and what lies ahead, is not looked at."""
    known = keys.derive(_Tables)
    tables = TokenTables(
        known.classes,
        known.ordinary,
        keys.is_token.contiguous(),
        queries.is_token.contiguous(),
        padded=not (queries.is_full and keys.is_full),
    )
    mask = inputs.mask
    if mask is None:
        if keys.is_full:
            return View(inputs, tables, causal=False, masked=False)
        hidden_nowhere = inputs.query.new_zeros(1, 1, 1, inputs.key.shape[2])
        return View(replace(inputs, mask=hidden_nowhere), tables, causal=False, masked=True)
    told_by = (mask.data_ptr(), *mask.shape, int(causal))
    if told_by not in known.plain:
        known.plain[told_by] = _is_plain(inputs, queries, keys, causal=causal)
    return View(inputs, tables, causal=causal, masked=not known.plain[told_by])


def _is_plain(inputs: AttentionInputs, queries: TokenBatch, keys: TokenBatch, *, causal: bool) -> bool:
    """Whether a mask hides padding and, in a causal stack, what lies ahead, and nothing else."""
    mask = inputs.mask
    assert mask is not None
    count = inputs.key.shape[2]
    mask = mask[..., :count].expand(len(keys.ids), -1, inputs.query.shape[2], -1)
    visible = keys.is_token[:, None, None, :].expand(-1, -1, inputs.query.shape[2], -1)
    if causal:
        visible = visible.tril(count - inputs.query.shape[2])
    as_told = torch.where(visible, mask == 0, mask < _HIDDEN)
    return bool((as_told | ~queries.is_token[:, None, :, None]).all())
