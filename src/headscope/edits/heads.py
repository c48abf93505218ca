"""A set of heads, of one stack or of several."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

from headscope.trace.architecture import Place
from headscope.types import HeadId, StackName

Member = tuple[StackName, HeadId]

_ORDER: dict[StackName, int] = {"encoder": 0, "decoder": 1, "cross": 2}


@dataclass(frozen=True)
class HeadSet:
    """Some heads of a model; iterating gives (stack, head) in order."""

    members: frozenset[Member]

    @classmethod
    def of(cls, members: Iterable[Member]) -> Self:
        """The set of these heads."""
        return cls(frozenset(members))

    @classmethod
    def union(cls, sets: Iterable["HeadSet"]) -> Self:
        """The heads of all these sets."""
        return cls(frozenset().union(*(heads.members for heads in sets)))

    def __iter__(self) -> Iterator[Member]:
        return iter(sorted(self.members, key=lambda member: (_ORDER[member[0]], member[1])))

    def __len__(self) -> int:
        return len(self.members)

    def __or__(self, other: "HeadSet") -> "HeadSet":
        return HeadSet(self.members | other.members)

    def __sub__(self, other: "HeadSet") -> "HeadSet":
        return HeadSet(self.members - other.members)

    def __str__(self) -> str:
        several = len({stack for stack, _ in self.members}) > 1
        return ", ".join(f"{stack} {head}" if several else str(head) for stack, head in self)

    @property
    def by_place(self) -> dict[Place, tuple[int, ...]]:
        """The numbers of the heads in each layer that has any."""
        by_place: dict[Place, list[int]] = {}
        for stack, head in self:
            by_place.setdefault(Place(stack, head.layer), []).append(head.head)
        return {place: tuple(numbers) for place, numbers in by_place.items()}
