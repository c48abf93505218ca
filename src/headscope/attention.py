"""Tokens and attention of a batch of texts, as data; imports torch only.

`LayerAttention` is what the heads of one layer did, valid while that layer runs. A *reduction* makes a small tensor
(text, head, ...) of it. `AttentionBatch` is what the reductions that measures read gave of a whole stack:
(text, layer, head, ...), whoever computed them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self, TypeVar, cast

import torch
from torch import Tensor

from headscope.errors import CaptureError

T = TypeVar("T")
Derive = Callable[["TokenBatch"], Any]
"""Finds something that tokens alone decide."""

Reduction = Callable[["LayerAttention"], Tensor]
"""Makes a small tensor (text, head, ...) of one layer's attention."""
Weighting = Literal["attention", "value"]
"""Attention weights as they are, or times the norms of the transformed values (Kobayashi et al. 2020)."""
RowsKey = tuple[int, bool]
"""What chosen rows are known by: `ChosenRows.key`."""

R = TypeVar("R", bound=Callable[["LayerAttention"], Tensor])


def reads_values(reduction: R) -> R:
    """Mark a reduction that reads `LayerAttention.carried`: the model's output projections must be found for it."""
    reduction.reads_values = True  # type: ignore[attr-defined]  # on the function: it travels with it between processes
    return reduction


_NUMBERS_TOGETHER = 1 << 25  # of rows in half precision that are worked on in all digits

# What rounding may leave of vectors that cancel, as a share of their lengths.
_ROUNDING = 1e-5


@dataclass(frozen=True)
class TokenBatch:
    """What is known about the tokens of a batch of texts before the model has run."""

    ids: Tensor  # (text, token) vocabulary ids
    is_token: Tensor  # (text, token) False for padding
    role: Tensor  # (text, token) index into ROLES
    segment: Tensor  # (text, token) 0 first text, 1 second text, -1 special tokens and padding
    word: Tensor  # (text, token) number of the word in its text, -1 special tokens and padding
    word_type: Tensor  # (text, token) equal for equal words of a text, -1 punctuation, specials, padding
    is_cut: Tensor | None = None  # (text,) True for texts that lost their end; None when not known
    governor: Tensor | None = None
    """(text, token) word of the syntactic head, -1 for none; None without annotation."""
    _derived: dict[Callable[..., Any], Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def lengths(self) -> Tensor:
        """(text,) how many real tokens each text has."""
        return self.derive(lengths_of)

    @property
    def on_host(self) -> "TokenBatch":
        """The same tokens where reading a number stops no accelerator."""
        return self if self.ids.device.type == "cpu" else self.derive(_on_host)

    def to(self, device: torch.device) -> "TokenBatch":
        """The same tokens on a device, with what was derived of them; they know those that they were copied from."""
        return self.copied(lambda tensor: tensor.to(device, non_blocking=True))

    def copied(self, copy: Callable[[Tensor], Tensor]) -> "TokenBatch":
        """The same tokens elsewhere, with what was derived of them."""
        there = self.map(copy)
        there._derived.update(
            {
                function: each_tensor(found, copy)
                for function, found in self._derived.items()
                if function is not _on_host
            }
        )
        if there.ids.device.type != "cpu":
            there._derived[_on_host] = self.on_host
        return there

    def knowing(self, functions: Iterable[Derive]) -> "TokenBatch":
        """The same tokens, of which these are derived already, and nothing else."""
        known = self.map(lambda tensor: tensor)
        known._derived.update({function: self.derive(function) for function in functions})
        return known

    @property
    def is_full(self) -> bool:
        """True when the batch holds no padding."""
        return self.derive(_is_full)

    def map(self, function: Callable[[Tensor], Tensor]) -> "TokenBatch":
        """The batch with `function` of every tensor."""
        whole = (getattr(self, field.name) for field in fields(self)[:-1])  # but for what is derived
        changed: list[Any] = [None if tensor is None else function(tensor) for tensor in whole]
        return TokenBatch(*changed)

    @property
    def apart(self) -> "TokenBatch":
        """The same tokens, of which only tensors and other tokens are derived: such as hold them in no cycle."""
        alone = self.map(lambda tensor: tensor)
        plain = {
            made: known for made, known in self._derived.items() if isinstance(known, Tensor | TokenBatch)
        }
        alone._derived.update(plain)
        return alone

    def derive(self, function: Callable[["TokenBatch"], T]) -> T:
        """`function(self)`, computed once for all layers."""
        if function not in self._derived:
            self._derived[function] = function(self)
        result: T = self._derived[function]
        return result


@dataclass(frozen=True, eq=False)
class ChosenRows:
    """Queries whose rows of attention somebody wants of every layer."""

    places: Tensor  # (text, row)
    texts: Tensor | None  # (text,) which of the batch; None for all
    summed: "Callable[[Tensor], tuple[Tensor, ...]] | None" = None
    """Makes (head, ...) what is wanted of rows (text, head, row, key), which need not be kept of all layers then."""
    moved: bool = False
    """Whether they are the shares of what heads move."""

    @property
    def key(self) -> RowsKey:
        """What they are known by, while somebody holds them."""
        return id(self.places), self.moved

    @property
    def weighting(self) -> Weighting:
        """Which attention they are rows of."""
        return "value" if self.moved else "attention"


@dataclass(frozen=True)
class LayerAttention:
    """What one layer's heads did on a batch of texts; lives only while that layer is being observed."""

    layer: int
    attention: Tensor  # (text, head, query, key) 0 wherever the query or the key is padding
    queries: TokenBatch
    keys: TokenBatch
    carried: "Carried | None" = field(default=None, repr=False, compare=False)
    """What the heads fetch and give, where that is asked for."""
    _reduced: dict[Callable[..., Any], Any] = field(default_factory=dict, repr=False, compare=False)
    _even: "dict[bool, LayerAttention]" = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def observed(
        cls,
        layer: int,
        weights: Tensor,
        queries: TokenBatch,
        keys: TokenBatch,
        carried: "Carried | None" = None,
    ) -> Self:
        """Weights as a model gave them: at least float32, and cleared of what its padding queries hold."""
        if weights.dtype in (torch.float16, torch.bfloat16):
            weights = weights.float()
        if not queries.is_full:
            weights = weights.masked_fill(~queries.is_token[:, None, :, None], 0)
        return cls(layer, weights, queries, keys, carried)

    def reduce(self, reduction: Callable[["LayerAttention"], T]) -> T:
        """`reduction(self)`, computed once however many measures ask for it."""
        if reduction not in self._reduced:
            self._reduced[reduction] = reduction(self)
        result: T = self._reduced[reduction]
        return result

    @property
    def dtype(self) -> torch.dtype:
        """What attention is counted in."""
        return self.attention.dtype

    def even(self, *, causal: bool) -> "LayerAttention":
        """The batch as one head would have it that looks evenly at every token it can see; made once for all."""
        if causal not in self._even:
            self._even[causal] = even_attention(self.queries, self.keys, causal=causal, dtype=self.dtype)
        return self._even[causal]

    def map_of(self, text: int) -> Tensor:
        """(head, query, key) the attention of one text."""
        return self.attention[text]

    def rows(self, places: Tensor, texts: Tensor | None = None) -> Tensor:
        """(text, head, row, key) the attention of the queries at `places` (text, row) of all or some `texts`."""
        count, heads, queries, keys = self.attention.shape
        chosen = torch.arange(count, device=places.device) if texts is None else texts
        # (text, head)
        first = (chosen[:, None] * heads + torch.arange(heads, device=places.device)) * queries
        index = first[..., None] + places[:, None]  # (text, head, row) among the rows of all maps
        rows = self.attention.reshape(-1, keys).index_select(0, index.flatten())
        return rows.view(*index.shape, keys)

    @property
    def moved(self) -> "MovedBatch":
        """The same by what the heads move instead of where they look, made anew; only where `carried` is there."""
        assert self.carried is not None
        lengths = self.carried.fetched.masked_fill(~self.keys.is_token[:, None], 0)  # padding may hold nan
        return MovedBatch(self, lengths.to(self.dtype))


def even_attention(
    queries: TokenBatch, keys: TokenBatch, *, causal: bool, dtype: torch.dtype = torch.float32
) -> LayerAttention:
    """One head that looks evenly at every token it can see."""
    sees = queries.is_token[:, None, :, None] & keys.is_token[:, None, None, :]
    sees = (sees.tril() if causal else sees).to(dtype)  # (text, 1, query, key)
    return LayerAttention(0, sees / sees.sum(-1, keepdim=True).clamp_min(1), queries, keys)


@dataclass(frozen=True)
class Carried:
    """What the heads of one layer fetch at each key and give to each query, after the output projection.

    Only lengths are told, since nothing else is asked: f_j = v_j W_O of a head is as long as v_j times the head's root.
    """

    value: Tensor  # (text, group, key, dim) the heads are split evenly among the groups
    output: Tensor  # (text, query, head, dim) what each head gives before the projection
    root: Tensor  # (head, dim, rank)
    stream: Tensor | None = None  # (text, query, hidden) the residual stream that the output is added to

    @cached_property
    def fetched(self) -> Tensor:
        """(text, head, key) |f_j|, the length of what a head fetches at each key."""
        return _lengths(self.vectors())

    def vectors(self) -> Tensor:
        """(text, head, key, rank) f_j in coordinates of the head's own, in which lengths and angles are as they are."""
        heads, width, rank = self.root.shape
        groups = self.value.shape[1]
        root = self.root.view(groups, heads // groups, width, rank)
        value = self.value.to(self.root.dtype)[:, :, None]  # (text, group, 1, key, dim)
        return (value @ root).flatten(1, 2)

    def signed_shares(self, weights: Tensor) -> Tensor:
        """(text, head, query, key) c[i, j] = A[i, j] <f_j, y_i> / |y_i|^2 with y_i = sum_j A[i, j] f_j.

        Rows add up to 1; a share is negative where what is fetched works against what the head gives. nan where |y_i|
        is 0 to rounding.
        """
        fetched = self.vectors()
        weights = weights.to(fetched.dtype)
        given = weights @ fetched  # (text, head, query, rank)
        size = _lengths(given)[..., None]  # (text, head, query, 1)
        largest = weights @ _lengths(fetched)[..., None]  # |y_i| if all that is fetched pointed the same way
        is_nothing = size <= _ROUNDING * largest
        shares = weights * (given @ fetched.mT) / size.square().masked_fill(is_nothing, 1)
        return shares.masked_fill(is_nothing, torch.nan)

    @cached_property
    def given(self) -> Tensor:
        """(text, head, query) |y_i|, the length of what a head gives to each query."""
        return self.lengths_of(self.output.transpose(1, 2))

    @property
    def residual(self) -> Tensor | None:
        """(text, query) |x_i|, the length of the residual stream that heads add to; None where it is not known."""
        if self.stream is None:
            return None
        lengths: Tensor = torch.linalg.vector_norm(self.stream, dim=-1, dtype=self.root.dtype)
        return lengths

    def lengths_of(self, outputs: Tensor) -> Tensor:
        """(text, head, query) how long heads' outputs (text, head, query, dim) are after the projection."""
        return _lengths(outputs.to(self.root.dtype) @ self.root)


def _lengths(vectors: Tensor) -> Tensor:
    """(...) the lengths of vectors (..., dim)."""
    lengths: Tensor = torch.linalg.vector_norm(vectors, dim=-1)
    return lengths


class MovedBatch(LayerAttention):
    """Attention by what it moves: each weight times the length of what is fetched there, rows adding up to 1.

    m[i, j] = A[i, j] |f_j| / sum_k A[i, k] |f_k| (Kobayashi et al. 2020): a scale of the columns and one of the rows,
    so reductions need not form the map; `attention` does, for who wants it.
    """

    looked: LayerAttention
    lengths: Tensor  # (text, head, key) |f_j|, 0 for padding

    def __init__(self, looked: LayerAttention, lengths: Tensor) -> None:
        """From weights and the lengths of what is fetched."""
        own = {
            "layer": looked.layer,
            "queries": looked.queries,
            "keys": looked.keys,
            "carried": looked.carried,
        }
        self.__dict__.update(own, looked=looked, lengths=lengths, _reduced={})

    @cached_property
    def attention(self) -> Tensor:
        """(text, head, query, key) rows add up to 1; 0 where nothing is fetched."""
        return moved_shares(self.looked.attention, self.lengths)

    @property
    def dtype(self) -> torch.dtype:
        """What attention is counted in."""
        return self.looked.dtype

    def even(self, *, causal: bool) -> LayerAttention:
        """As it is of the weights: even weights and values of equal length move evenly."""
        return self.looked.even(causal=causal)

    def formed(self) -> LayerAttention:
        """The same as a batch of its own that holds nothing but the shares."""
        return LayerAttention(self.layer, self.attention, self.queries, self.keys)

    def map_of(self, text: int) -> Tensor:
        """(head, query, key) the moved shares of one text."""
        return moved_shares(self.looked.map_of(text), self.lengths[text])

    def rows(self, places: Tensor, texts: Tensor | None = None) -> Tensor:
        """(text, head, row, key) the moved shares of some queries."""
        lengths = self.lengths if texts is None else self.lengths[texts]
        return moved_shares(self.looked.rows(places, texts), lengths)


def moved_shares(weights: Tensor, lengths: Tensor) -> Tensor:
    """(..., head, query, key) weights times lengths (..., head, key), rows adding up to 1, 0 if nothing is fetched.

    Those in half precision are formed in all digits, some texts at a time, and stay in half precision.
    """
    if weights.dtype == torch.float16:
        shares, step = torch.empty_like(weights), max(1, _NUMBERS_TOGETHER // max(1, weights[0].numel()))
        for start in range(0, len(weights), step):
            part = slice(start, start + step)
            shares[part] = moved_shares(weights[part].float(), lengths[part])
        return shares
    moved = weights * lengths[..., None, :]
    return moved / moved.sum(-1, keepdim=True).clamp_min(torch.finfo(moved.dtype).tiny)


@dataclass(frozen=True)
class StackReads:
    """What measures read of one stack on one batch."""

    reductions: Mapping[Weighting, tuple[Reduction, ...]]
    """By weighting, each once; a weighting that no measure is counted by is left out."""
    rows: tuple[ChosenRows, ...] = ()


class AttentionBatch:
    """What all heads of a stack did on a batch of texts, reduced: (text, layer, head, ...), whatever computed it."""

    def __init__(
        self,
        queries: TokenBatch,
        keys: TokenBatch,
        weighting: Weighting,
        reduced: Mapping[Reduction, Tensor],
        *,
        rows: Mapping[RowsKey, Tensor | tuple[Tensor, ...]],
        uniform: "UniformAttention | None" = None,
    ) -> None:
        """`reduced` holds (text, layer, head, ...) by reduction, `rows` what was chosen of all layers."""
        self.queries, self.keys, self.weighting = queries, keys, weighting
        self._reduced, self._rows, self._uniform = reduced, rows, uniform

    def reduce(self, reduction: Reduction) -> Tensor:
        """(text, layer, head, ...) one of the reductions that the measure names in `reads`."""
        if reduction not in self._reduced:
            name = getattr(reduction, "__name__", repr(reduction))
            raise CaptureError(f"a measure reads {name}, which its `reads` does not name; add it there")
        return self._reduced[reduction]

    def rows(self, rows: ChosenRows) -> Tensor:
        """(text, layer and head, row, key) rows that the measure's `wanted` named."""
        return cast(Tensor, self._rows[rows.key])

    def row_sums(self, rows: ChosenRows) -> tuple[Tensor, ...]:
        """(layer and head, ...) the sums that such rows make of themselves."""
        return cast(tuple[Tensor, ...], self._rows[rows.key])

    @property
    def uniform(self) -> "AttentionBatch":
        """One layer of one head that spreads its attention uniformly over all that a query sees."""
        assert self._uniform is not None
        return self._uniform


class UniformAttention(AttentionBatch):
    """Uniform attention on a batch of texts; it is computed when a reduction of it is first read."""

    def __init__(self, queries: TokenBatch, keys: TokenBatch, compute: Callable[[], LayerAttention]) -> None:
        """`compute` gives one layer of one head."""
        super().__init__(queries, keys, "attention", {}, rows={})
        self._compute = compute

    def reduce(self, reduction: Reduction) -> Tensor:
        """(text, 1, 1, ...) any reduction."""
        return self._layer.reduce(reduction)[:, None]

    @cached_property
    def _layer(self) -> LayerAttention:
        return self._compute()


class LayerReductions:
    """Collects what reductions, and chosen rows, give layer by layer, until a stack is complete."""

    def __init__(self, layers: int, reads: StackReads) -> None:
        """Of a stack of so many layers."""
        self._layers, self.reads = layers, reads
        self._dtype = torch.float32
        self._reduced: dict[Weighting, dict[Reduction, list[Tensor]]] = {
            weighting: {reduction: [] for reduction in reductions}
            for weighting, reductions in reads.reductions.items()
        }
        self._room: dict[RowsKey, Tensor] = {}  # (text, layer and head, row, key)
        self._sums: dict[RowsKey, list[tuple[Tensor, ...]]] = {}

    def add(self, layer: LayerAttention) -> None:
        """Take in the next layer."""
        self._dtype = layer.dtype
        seen: dict[Weighting, LayerAttention] = {"attention": layer}
        if self.reads.reductions.get("value") or any(rows.moved for rows in self.reads.rows):
            seen["value"] = layer.moved
        for weighting, reduced in self._reduced.items():
            for reduction, values in reduced.items():
                values.append(seen[weighting].reduce(reduction))
        for rows in self.reads.rows:
            weights = seen[rows.weighting].rows(rows.places, rows.texts)  # (text, head, row, key)
            if rows.summed is not None:
                self._sums.setdefault(rows.key, []).append(rows.summed(weights))
                continue
            texts, heads, *sizes = weights.shape
            if rows.key not in self._room:
                self._room[rows.key] = weights.new_empty(texts, self._layers * heads, *sizes)
            self._room[rows.key][:, layer.layer * heads : (layer.layer + 1) * heads] = weights

    def reduced(self, weighting: Weighting) -> dict[Reduction, Tensor]:
        """(text, layer, head, ...) by reduction."""
        return {
            reduction: torch.stack(values, 1)
            for reduction, values in self._reduced.get(weighting, {}).items()
        }

    @property
    def rows(self) -> dict[RowsKey, Tensor | tuple[Tensor, ...]]:
        """What was chosen: rows (text, layer and head, row, key), or the sums (layer and head, ...) of them."""
        sums = {key: tuple(map(torch.cat, zip(*parts, strict=True))) for key, parts in self._sums.items()}
        return {**self._room, **sums}

    def batches(
        self, queries: TokenBatch, keys: TokenBatch, *, causal: bool
    ) -> dict[Weighting, AttentionBatch]:
        """The complete stack, by weighting."""
        uniform = UniformAttention(
            queries, keys, lambda: even_attention(queries, keys, causal=causal, dtype=self._dtype)
        )
        rows = self.rows
        return {
            weighting: AttentionBatch(
                queries, keys, weighting, self.reduced(weighting), rows=rows, uniform=uniform
            )
            for weighting in self.reads.reductions
        }


def each_tensor(found: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """What was found with `change` of every tensor in it: of tuples and dataclasses each entry, all else as it is."""
    if isinstance(found, Tensor):
        return change(found)
    if isinstance(found, tuple):
        return tuple(each_tensor(entry, change) for entry in found)
    if isinstance(found, TokenBatch):
        return found.map(change)
    if is_dataclass(found) and not isinstance(found, type):
        return replace(found, **{name: each_tensor(entry, change) for name, entry in vars(found).items()})
    return found


def _is_full(tokens: TokenBatch) -> bool:
    return bool(tokens.on_host.is_token.all())


def _on_host(tokens: TokenBatch) -> TokenBatch:
    return tokens.map(Tensor.cpu)


def lengths_of(tokens: TokenBatch) -> Tensor:
    """(text,) how many real tokens each text has."""
    return tokens.is_token.sum(-1)


def padded(rows: Sequence[Sequence[int]], *, value: int) -> Tensor:
    """(row, column) the rows as one integer tensor, filled up with `value` on the right."""
    width = max(len(row) for row in rows)
    return torch.tensor([[*row, *[value] * (width - len(row))] for row in rows], dtype=torch.long)
