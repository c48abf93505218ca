"""What is counted over texts, in parts that merge: the one contract of all that goes through a model.

An accumulator is made for its model, `update`d with what is seen, `merge`d with others like it, exactly and in any
order, and read off with `result`, or by whatever knows how to read it. `empty` gives another one like it that has
counted nothing: each batch, and each shard of a corpus, is counted apart and merged when it is whole.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from math import prod
from typing import Any, Generic, Protocol, Self, TypeVar, runtime_checkable

import torch
from torch import Tensor

T = TypeVar("T")


@runtime_checkable
class Accumulator(Protocol):
    """What a pass over texts needs to know of what it fills."""

    def empty(self) -> Self:
        """One of the same kind that has counted nothing."""

    def merge(self, other: Self, /) -> None:
        """Count all that `other` has counted."""


@runtime_checkable
class Following(Protocol):
    """An accumulator that saves itself what it would drop again: knowing changes nothing of what comes out."""

    def after(self, counted: Self, /) -> None:
        """Know what was `counted` so far that this one, still empty, will be merged with.

        It may be merged with others meanwhile, in another thread.
        """


class Sums:
    """A dataclass that merges field by field.

    Numbers and tensors are added, accumulators merged, lists and sets joined; of tuples and mappings each entry is
    treated so. All else (a grid, a name, a bool) says what is counted, and stays as it is.
    """

    def empty(self) -> Self:
        """One of the same kind that has counted nothing."""
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]  # subclasses are dataclasses
        return type(self)(**{name: _emptied(getattr(self, name)) for name in names})

    def merge(self, other: Self, /) -> None:
        """Count all that `other` has counted."""
        merge_fields(self, other)


@dataclass
class Counted(Sums, Generic[T]):
    """One value, or a collection of them, that merges as a field of `Sums` does."""

    value: T


def nothing(*shape: int, value: float = 0.0, dtype: torch.dtype = torch.float64) -> Tensor:
    """A tensor of one value that takes no memory until something is counted: `settled` gives one to write into."""
    if prod(shape) == 1:  # nothing to save, and it may be written into
        return torch.full(shape, value, dtype=dtype)
    return _one(value, dtype).expand(shape)


@lru_cache(maxsize=64)
def _one(value: float, dtype: torch.dtype) -> Tensor:
    with torch.inference_mode(False):
        return torch.full((), value, dtype=dtype)


def settled(tensor: Tensor, device: torch.device) -> Tensor:
    """The tensor where it is to be written into."""
    if is_nothing(tensor):
        value = tensor[(0,) * tensor.dim()].item()
        return torch.full(tensor.shape, value, dtype=tensor.dtype, device=device)
    return tensor.to(device)


def counted(sums: Tensor, found: Tensor) -> Tensor:
    """The sums with what was found, where that is; not in place."""
    if is_nothing(sums):  # which is 0
        return found.to(sums.dtype)
    return sums.to(found.device) + found


def is_nothing(tensor: Tensor) -> bool:
    """Whether it takes no memory, since nothing was counted."""
    return tensor.numel() > 1 and not any(tensor.stride())


def merge_fields(mine: Any, theirs: Any) -> None:
    """Count in one dataclass all that another of its kind has counted, as `Sums` says."""
    merge_together([(mine, theirs)])


def merge_together(pairs: Iterable[tuple[Any, Any]]) -> None:
    """The same of several pairs of dataclasses; what lies on a GPU is added in one step."""
    together: list[tuple[Any, str]] = []
    sums: list[tuple[Tensor, Tensor]] = []
    for mine, theirs in pairs:
        for owner, other, name in _leaves(mine, theirs):
            own, added = getattr(owner, name), getattr(other, name)
            if _adds_up(own, added):
                together.append((owner, name))
                sums.append((own, added))
            else:
                setattr(owner, name, _merged(own, added))
    if sums:
        for (owner, name), total in zip(together, torch._foreach_add(*zip(*sums, strict=True)), strict=True):
            setattr(owner, name, total)


def _leaves(mine: Any, theirs: Any) -> Iterator[tuple[Any, Any, str]]:
    """The fields of two dataclasses, and of those in them that merge field by field too."""
    for field in fields(mine):
        own = getattr(mine, field.name)
        if isinstance(own, Sums) and type(own).merge is Sums.merge:
            yield from _leaves(own, getattr(theirs, field.name))
        else:
            yield mine, theirs, field.name


def _adds_up(mine: Any, theirs: Any) -> bool:
    """Whether these are numbers on a GPU."""
    if not (isinstance(mine, Tensor) and isinstance(theirs, Tensor) and mine.is_cuda and theirs.is_cuda):
        return False
    return (mine.device, mine.dtype) == (theirs.device, theirs.dtype)


def _emptied(value: Any) -> Any:
    if isinstance(value, Tensor):
        return torch.zeros_like(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return type(value)()
    if isinstance(value, list | set):
        return type(value)()
    if isinstance(value, tuple):
        return tuple(_emptied(entry) for entry in value)
    if isinstance(value, Mapping):
        return {key: _emptied(entry) for key, entry in value.items()}
    return value.empty() if isinstance(value, Accumulator) else value


def _merged(mine: Any, theirs: Any) -> Any:
    if isinstance(mine, Tensor):
        # Not in place: it may be a tensor of inference mode. Where nothing was counted, it is counted where theirs is.
        return mine.to(theirs.device) + theirs if is_nothing(mine) else mine + theirs.to(mine.device)
    if isinstance(mine, int | float) and not isinstance(mine, bool):
        return mine + theirs
    if isinstance(mine, tuple):
        return tuple(_merged(*both) for both in zip(mine, theirs, strict=True))
    if isinstance(mine, Mapping):
        return {
            **mine,
            **{
                key: _merged(mine[key] if key in mine else _emptied(entry), entry)
                for key, entry in theirs.items()
            },
        }
    if isinstance(mine, list):
        mine.extend(theirs)
    elif isinstance(mine, set):
        mine.update(theirs)
    elif isinstance(mine, Accumulator):
        mine.merge(theirs)
    return mine
