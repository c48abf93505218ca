"""Heads that do the same: nearest neighbours, groups of near-identical heads, and are layers alike?"""

from dataclasses import dataclass

import numpy as np

from headscope.atlas import Atlas
from headscope.errors import AtlasError, OptionError
from headscope.remembered import once
from headscope.stats.permutation import GroupTest, group_test
from headscope.types import Array, HeadChoice, HeadId

MEASURE = "head_distance"
PERMUTATIONS = 9999
FEWER_PERMUTATIONS = 999
MANY_HEADS = 200
THRESHOLD = 0.05
"""Nats; the largest possible distance is log 2, 0.69."""


@dataclass(frozen=True)
class Neighbour:
    """A head near another."""

    head: HeadId
    distance: float


@once
def likeness_of(atlas: Atlas, stack: str) -> "Likeness":
    """The distances between all heads of a stack, read once."""
    return Likeness(atlas, stack=stack)


class Likeness:
    """The distances between all heads of a stack."""

    def __init__(self, atlas: Atlas, *, stack: str | None = None) -> None:
        distance = atlas.holding(f"{stack}/{MEASURE}" if stack else MEASURE).plain[MEASURE]
        self.heads = [HeadId.parse(str(label)) for label in distance.coords["head_a"]]
        self.places = {head: place for place, head in enumerate(self.heads)}
        self.units = distance.units
        self.distance: Array = (distance.values + distance.values.T) / 2  # (head, head)
        missing = ~np.isfinite(self.distance)
        if missing.any():
            heads = [str(head) for head, row in zip(self.heads, missing, strict=True) if row.all()]
            named = (
                f" (heads {', '.join(heads[:5])}{' and others' if len(heads) > 5 else ''})" if heads else ""
            )
            raise AtlasError(
                f"{int(missing.sum())} of {missing.size} distances between heads are missing{named}; analyse again "
                f"with measure {MEASURE!r} on texts the model can read"
            )

    def known(self, head: HeadId | str) -> HeadId:
        """The head, which the atlas must have."""
        known = head if isinstance(head, HeadId) else HeadId.parse(head)
        return known if known in self.places else self.chosen(HeadChoice.of(known))[0]

    def chosen(self, choice: HeadChoice) -> list[HeadId]:
        """The heads that were named, of which the atlas must have at least one."""
        heads = [head for head in self.heads if head in choice]
        if not heads:
            raise OptionError(
                f"there is no head {choice} in this atlas; it has {self.heads[0]} to {self.heads[-1]}"
            )
        return heads

    @property
    def has_layers(self) -> bool:
        """Whether there are layers to compare: at least two, and one with two heads."""
        return 1 < len({head.layer for head in self.heads}) < len(self.heads)

    def neighbours(self, head: HeadId | str, *, most: int = 5) -> list[Neighbour]:
        """The heads that look at texts most as this one does, the nearest first."""
        own = self.known(head)
        row = self.distance[self.places[own]]
        nearest = np.argsort(row, kind="stable")[: most + 1].tolist()
        others = [place for place in nearest if self.heads[place] != own][:most]
        return [Neighbour(self.heads[place], float(row[place])) for place in others]

    def groups(self, *, threshold: float = THRESHOLD) -> list[list[HeadId]]:
        """Groups of heads of which no two are farther apart than the threshold, the largest first.

        Complete linkage: every pair of a group is near, not only neighbours in a chain.
        """
        if threshold <= 0:
            raise OptionError(f"threshold is {threshold}; give a distance above 0, such as {THRESHOLD}")
        if len(self.heads) < 2:
            return []
        # Slow to load, and of all that reads an atlas only this needs them.
        from scipy.cluster.hierarchy import fcluster, linkage  # noqa: PLC0415
        from scipy.spatial.distance import squareform  # noqa: PLC0415

        # The triangle of the pairs alone: what stands on the diagonal is no distance between two heads.
        pairs = squareform(self.distance, checks=False)
        label = fcluster(linkage(pairs, "complete"), threshold, "distance")
        groups: dict[int, list[HeadId]] = {}
        for head, number in zip(self.heads, label.tolist(), strict=True):
            groups.setdefault(number, []).append(head)
        alike = [group for group in groups.values() if len(group) > 1]
        return sorted(alike, key=lambda group: (-len(group), group))

    def layer_test(self, *, seed: int = 0) -> GroupTest:
        """Compare the distances inside layers with those between layers; p by dealing heads out to layers anew."""
        layers = np.array([head.layer for head in self.heads])
        if not self.has_layers:
            raise AtlasError("to compare layers, an atlas with at least two layers of two heads is needed")
        times = PERMUTATIONS if len(layers) <= MANY_HEADS else FEWER_PERMUTATIONS
        return group_test(self.distance, layers, np.random.default_rng(seed), permutations=times)
