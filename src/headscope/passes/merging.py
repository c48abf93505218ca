"""States of shards merged in a fixed binary tree, so that the order in which they come in changes no bit."""

from typing import Generic, TypeVar

from headscope.accumulator import Accumulator

S = TypeVar("S", bound=Accumulator)


class MergeTree(Generic[S]):
    """Merges states by their places 0, 1, 2 …: neighbours first, then pairs of neighbours, and so on.

    Sums of floating-point numbers depend on the order of the terms. Here it is that of the places alone. As neighbours
    are merged at once, no more states are held than are missing a neighbour: of states that come in order, log2(n).
    """

    def __init__(self) -> None:
        self._nodes: dict[tuple[int, int], S] = {}  # by level and place at that level

    def add(self, place: int, state: S) -> None:
        """Take in the state of a place, which is changed from now on; each place comes once."""
        if any((level, place >> level) in self._nodes for level in {level for level, _ in self._nodes}):
            raise ValueError(f"the state of place {place} was merged before")
        level = 0
        while (other := self._nodes.pop((level, place ^ 1), None)) is not None:
            left, right = (state, other) if place % 2 == 0 else (other, state)
            left.merge(right)
            state, level, place = left, level + 1, place >> 1
        self._nodes[level, place] = state

    def root(self) -> S | None:
        """All of them, once there are no more; None where there was none."""
        whole: S | None = None
        count = sum(1 << level for level, _ in self._nodes)
        if len(self._nodes) != count.bit_count():
            raise ValueError(f"of the states of {count} places, some do not lie side by side: one is missing")
        for _, node in sorted(self._nodes.items(), key=lambda entry: entry[0]):  # the last places first
            if whole is not None:
                node.merge(whole)
            whole = node
        self._nodes = {}
        return whole

    def __len__(self) -> int:
        """How many states are held."""
        return len(self._nodes)
