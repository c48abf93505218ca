"""Room for what the kernels leave of a stack's layers."""

from torch import Tensor

from headscope.kernels.batch import Asked
from headscope.kernels.triton import folding, sums
from headscope.kernels.triton.view import Tiling, View

_CLASSES, _GROUPS, _PATTERNS = sums.CLASSES.value, sums.GROUPS.value, sums.PATTERNS.value
_WINDOWS = folding.WINDOWS.value
SWEEPS_TOGETHER = 4
"""So many are added up by one program."""


class WaySums:
    """The sums of a stack's layers by one way to weigh attention, as the kernels leave them, heads side by side."""

    mass: Tensor  # (text, head, block, group, class) of groups of queries to classes of keys
    entropies: Tensor  # (text, head, block, group) in nats
    windows: Tensor  # (text, head, part, window) of ordinary keys, by distance; room for 32
    offsets: Tensor  # (text, head, offset + FARTHEST) of all keys; room for 32
    pairs: Tensor  # (text, head, block, pattern)

    def __init__(self, view: View, lines: int, tiling: Tiling) -> None:
        (texts, _, queries, _), keys = view.inputs.query.shape, view.inputs.key.shape[2]
        blocks, _ = tiling.counts(queries, keys)
        within = view.tables.pairs is not None
        parts = -(-(blocks * tiling.warps + tiling.sweeps(keys)) // SWEEPS_TOGETHER)
        self.mass = view.room(texts, lines, blocks, _GROUPS, _CLASSES)
        self.entropies = view.room(texts, lines, blocks, _GROUPS)
        self.windows = view.room(texts, lines, parts, _WINDOWS if within else 0)
        self.offsets = view.room(texts, lines, _WINDOWS if within else 0)
        self.pairs = view.room(texts, lines, blocks, _PATTERNS if within else 0)


class StackSums:
    """All that the kernels leave of a stack's layers, heads side by side; room is made for calls like the first."""

    ways: list[WaySums]  # looked and, where somebody asks, moved
    given: Tensor | None = None
    """(text, head, block, sum) of lengths given, of their squares, and of lengths against the residual stream."""
    vectors: Tensor | None = None  # (text, head, block, dim) the sum of what is given, before the projection
    logs_fetched: Tensor | None = None
    """(text, head, key) the logarithms of the lengths of what is fetched at each key, of the layer that came last."""

    def __init__(self, layers: int, heads: int) -> None:
        self.layers, self.heads = layers, heads
        self.lines = layers * heads
        self.ways = []
        self.roots: dict[int, Tensor] = {}
        """(head, dim, rank) the root of a layer's projection, by the layer's place."""

    @property
    def rank(self) -> int:
        """Of the roots of projections."""
        return next(iter(self.roots.values())).shape[-1]

    def make_room(self, view: View, asked: Asked, tiling: Tiling) -> None:
        """Room for all layers, of calls like the first."""
        if self.ways:
            return
        (texts, _, queries, _), keys = view.inputs.query.shape, view.inputs.key.shape[2]
        moved = asked.root is not None and asked.moved
        self.ways = [WaySums(view, self.lines, tiling) for _ in range(2 if moved else 1)]
        if asked.root is None:
            return
        parts = (texts, self.lines, -(-queries // rows_together(view)))
        self.given = view.room(*parts, 4)
        self.vectors = view.room(*parts, view.inputs.value.shape[-1])
        if moved:
            self.logs_fetched = view.room(texts, self.heads, keys)

    @property
    def fetched(self) -> Tensor | None:
        """(text, head, key) the lengths of what is fetched at each key, of the layer that came last."""
        return None if self.logs_fetched is None else self.logs_fetched.exp2()

    def of_layer(self, place: int) -> "StackSums":
        """Those of the layer at that place alone."""
        own = StackSums(1, self.heads)
        heads = slice(place * self.heads, (place + 1) * self.heads)
        own.ways = [_part(way, heads) for way in self.ways]
        for name in ("given", "vectors"):
            whole = getattr(self, name)
            setattr(own, name, None if whole is None else whole[:, heads])
        own.logs_fetched = self.logs_fetched
        own.roots = {0: self.roots[place]} if self.roots else {}
        return own


def _part(way: WaySums, heads: slice) -> WaySums:
    part = WaySums.__new__(WaySums)
    for name in WaySums.__annotations__:
        setattr(part, name, getattr(way, name)[:, heads])
    return part


def rows_together(view: View) -> int:
    """How many vectors go through a projection together."""
    return 64 if view.half else 32
