"""Token, position and segment embeddings: where a network looks them up, their means, and putting means in their place.

Names in a network lie, so a short forward pass is watched: what is looked up with the ids of the tokens, with numbers
that count up by one, or with the segments is what it is.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding
from torch.overrides import TorchFunctionMode

from headscope.accumulator import Sums
from headscope.errors import CaptureError
from headscope.text.batching import TextBatch
from headscope.text.encode import special_ids
from headscope.trace import Capture
from headscope.trace.hooks import hooked
from headscope.trace.scores import wide

Kind = Literal["token", "position", "segment"]
SideName = Literal["source", "target"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_KINDS: dict[str, Kind] = {"input_ids": "token", "decoder_input_ids": "token", "token_type_ids": "segment"}
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
    special = special_ids(model.tokenizer)
    tokens = [token for token in range(len(special) + _TEXTS) if token not in special][:_TEXTS]
    inputs: dict[str, Tensor] = {}
    for prefix, length in list(zip(("", "decoder_"), _LENGTHS.values(), strict=True))[
        : 1 + model.is_encoder_decoder
    ]:
        ids = torch.tensor([[token] * length for token in tokens], device=model.device)
        inputs |= {f"{prefix}input_ids": ids, f"{prefix}attention_mask": torch.ones_like(ids)}
    if model.has_segments:
        inputs["token_type_ids"] = torch.tensor([[0, 0, 1, 1, 1, 1, 1]] * _TEXTS, device=model.device)
    lookups = _Lookups(inputs)
    modules = [module for module in model.core.modules() if isinstance(module, nn.Embedding)]
    with hooked(module.register_forward_pre_hook(lookups.enter) for module in modules), lookups:
        capture.run(inputs, lambda place, weights: None)
    return tuple(lookups.tables())


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
        if (
            not numbers.dim()
            or numbers.shape[-1] not in _LENGTHS.values()
            or numbers.numel() // numbers.shape[-1] > _TEXTS
        ):
            return None
        for name, ids in self.inputs.items():
            if name in _KINDS and torch.equal(numbers, ids):
                return _KINDS[name]
        return "position" if bool((numbers.diff() == 1).all()) else None

    def tables(self) -> Iterator[Table]:
        for kind, module in dict.fromkeys((kind, module) for kind, module, _ in self.found):
            sides = [side for *table, side in self.found if table == [kind, module]]
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


@contextmanager
def _hooked(
    tables: Sequence[Table], hook: Callable[[int, SideName, Tensor], Tensor | None]
) -> Iterator[None]:
    """Around one forward pass: `hook(number of the table, side, output)` may give another output.

    CaptureError when a table was not looked into as often as it should be.
    """
    calls = [0] * len(tables)

    def counted(number: int, module: nn.Module, arguments: Any, output: Tensor) -> Tensor | None:
        sides = tables[number].sides
        calls[number] += 1
        return hook(number, sides[min(calls[number], len(sides)) - 1], output)

    with hooked(
        table.module.register_forward_hook(partial(counted, number)) for number, table in enumerate(tables)
    ):
        yield
    for table, times in zip(tables, calls, strict=True):
        if times != len(table.sides):
            raise CaptureError(
                f"{table.kind} embeddings were expected to be looked up {len(table.sides)} times in a forward pass, "
                f"and were {times} times"
            )


@contextmanager
def averaging(tables: Sequence[Table], means: TableMeans, batch: TextBatch) -> Iterator[None]:
    """Around one forward pass of `batch`: what the tables give is counted."""

    def count(number: int, side: SideName, output: Tensor) -> None:
        tokens = batch.source if side == "source" else batch.target
        assert tokens is not None
        means.add(number, output, tokens.is_token)

    with _hooked(tables, count):
        yield


@contextmanager
def replacing(tables: Sequence[Table], means: TableMeans, kinds: Collection[Kind]) -> Iterator[None]:
    """Around one forward pass: the embeddings of `kinds` are their mean, for every token; or CaptureError."""
    chosen = [(table, means.mean(number)) for number, table in enumerate(tables) if table.kind in kinds]
    if {table.kind for table, _ in chosen} != set(kinds):
        raise CaptureError(f"this model has no table of {' and '.join(sorted(kinds))} embeddings to replace")

    def replace(number: int, side: SideName, output: Tensor) -> Tensor:
        mean = chosen[number][1].to(output.device, output.dtype)
        return mean.expand_as(output).clone()  # some write into it

    with _hooked([table for table, _ in chosen], replace):
        yield
