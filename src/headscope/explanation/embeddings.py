"""Token, position and segment embeddings: where a network looks them up, their means, and putting means in their place.

Names in a network lie, so a short forward pass is watched: what is looked up with the ids of the tokens, with numbers
that count up by one, or with the segments is what it is.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Self, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding
from torch.overrides import TorchFunctionMode

from headscope.accumulator import Sums
from headscope.capture import Capture
from headscope.capture.scores import wide
from headscope.errors import CaptureError
from headscope.text.batching import TextBatch

Kind = Literal["token", "position", "segment"]
SideName = Literal["source", "target"]
KINDS: tuple[Kind, ...] = ("token", "position", "segment")

# Two lengths that differ from each other and from the number of texts.
_LENGTHS: dict[SideName, int] = {"source": 7, "target": 5}
_TEXTS = 2


@dataclass(frozen=True, eq=False)
class Table:
    """A module that looks up embeddings, and for which text at each of its calls in a forward pass."""

    kind: Kind
    module: nn.Module
    sides: tuple[SideName, ...]


def find_tables(capture: Capture) -> tuple[Table, ...]:
    """All tables of embeddings that a forward pass looks into; those of other things (T5's distances) are left out."""
    model = capture.model
    tokens = _plain_tokens(capture)
    inputs: dict[str, Tensor] = {}
    for side, prefix in (("source", ""), ("target", "decoder_"))[: 1 + model.is_encoder_decoder]:
        length = _LENGTHS[cast("SideName", side)]
        ids = torch.tensor([[token] * length for token in tokens], device=model.device)
        inputs |= {f"{prefix}input_ids": ids, f"{prefix}attention_mask": torch.ones_like(ids)}
    if model.has_segments:
        segments = torch.tensor([[0, 0, 1, 1, 1, 1, 1]] * _TEXTS, device=model.device)
        inputs["token_type_ids"] = segments
    lookups = _Lookups(inputs)
    modules = [module for module in model.core.modules() if isinstance(module, nn.Embedding)]
    handles = [module.register_forward_pre_hook(lookups.enter) for module in modules]
    try:
        with lookups:
            capture.run(inputs, lambda place, weights: None)
    finally:
        for handle in handles:
            handle.remove()
    return tuple(lookups.tables())


def _plain_tokens(capture: Capture) -> list[int]:
    """Two tokens that are not special."""
    special = set(capture.model.tokenizer.all_special_ids)
    return [token for token in range(len(special) + _TEXTS) if token not in special][:_TEXTS]


class _Lookups(TorchFunctionMode):
    """Notes what embeddings are looked up by, whatever the module that does it was called with."""

    def __init__(self, inputs: Mapping[str, Tensor]) -> None:
        super().__init__()
        self.inputs = inputs
        self.current: nn.Module | None = None
        self.found: list[tuple[Kind, nn.Module, SideName]] = []

    def enter(self, module: nn.Module, arguments: tuple[Any, ...]) -> None:
        self.current = module

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is embedding and self.current is not None:
            kind = self._kind(args[0])
            if kind is not None:
                side = next(side for side, length in _LENGTHS.items() if args[0].shape[-1] == length)
                self.found.append((kind, self.current, side))
            self.current = None
        return func(*args, **(kwargs or {}))

    def _kind(self, numbers: Tensor) -> Kind | None:
        if numbers.shape[-1] not in _LENGTHS.values() or numbers.numel() // numbers.shape[-1] > _TEXTS:
            return None
        for name, kind in (
            ("input_ids", "token"),
            ("decoder_input_ids", "token"),
            ("token_type_ids", "segment"),
        ):
            given = self.inputs.get(name)
            if given is not None and torch.equal(numbers, given):
                return cast("Kind", kind)
        return "position" if bool((numbers.diff() == 1).all()) else None

    def tables(self) -> Iterator[Table]:
        for kind, module in dict.fromkeys((kind, module) for kind, module, _ in self.found):
            sides = [side for found, one, side in self.found if one is module and found == kind]
            yield Table(kind, module, tuple(sides))


@dataclass
class TableMeans(Sums):
    """The mean of what each table gave, over the tokens of the texts; kept as sums."""

    totals: dict[int, Tensor]  # (width,) by table
    tokens: dict[int, int]

    @classmethod
    def zeros(cls, tables: Sequence[Table]) -> Self:
        """Nothing seen yet."""
        return cls({}, dict.fromkeys(range(len(tables)), 0))

    def add(self, table: int, output: Tensor, is_token: Tensor) -> None:
        """Count `output` (text or 1, token, width) where `is_token` (text, token)."""
        vectors = output.expand(*is_token.shape, -1)[is_token]
        self.totals[table] = self.totals.get(table, 0) + wide(vectors).sum(0).cpu()
        self.tokens[table] += len(vectors)

    def mean(self, table: int) -> Tensor:
        """(width,) the mean embedding."""
        return self.totals[table] / self.tokens[table]


@dataclass
class _Calls:
    """Hooks on tables that come off whatever happens, and whether all were called as often as they should."""

    tables: Sequence[Table]
    counts: dict[int, int] = field(default_factory=dict)

    @contextmanager
    def hooked(self, hook: Any) -> Iterator[None]:
        """Inside, `hook(number of the table, side, output)` may give another output."""
        handles = [
            table.module.register_forward_hook(self._counted(number, table, hook))
            for number, table in enumerate(self.tables)
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
        for number, table in enumerate(self.tables):
            if self.counts.get(number, 0) != len(table.sides):
                raise CaptureError(
                    f"{table.kind} embeddings were expected to be looked up {len(table.sides)} times in a forward "
                    f"pass, and were {self.counts.get(number, 0)} times"
                )

    def _counted(self, number: int, table: Table, hook: Any) -> Any:
        def counted(module: nn.Module, arguments: Any, output: Tensor) -> Tensor | None:
            call = self.counts.get(number, 0)
            self.counts[number] = call + 1
            side = table.sides[min(call, len(table.sides) - 1)]
            changed: Tensor | None = hook(number, side, output)
            return changed

        return counted


@contextmanager
def averaging(tables: Sequence[Table], means: TableMeans, batch: TextBatch) -> Iterator[None]:
    """Around one forward pass of `batch`: what the tables give is counted."""

    def count(number: int, side: SideName, output: Tensor) -> None:
        tokens = batch.source if side == "source" else batch.target
        assert tokens is not None
        means.add(number, output, tokens.is_token)

    with _Calls(tables).hooked(count):
        yield


@contextmanager
def replacing(tables: Sequence[Table], means: TableMeans, kinds: Collection[Kind]) -> Iterator[None]:
    """Around one forward pass: the embeddings of `kinds` are their mean, for every token; or CaptureError."""
    chosen = [(table, means.mean(number)) for number, table in enumerate(tables) if table.kind in kinds]
    if {table.kind for table, _ in chosen} != set(kinds):
        raise CaptureError(f"this model has no table of {' and '.join(sorted(kinds))} embeddings to replace")

    def replace(number: int, side: SideName, output: Tensor) -> Tensor:
        return chosen[number][1].to(output.device, output.dtype).expand_as(output)

    with _Calls([table for table, _ in chosen]).hooked(replace):
        yield
