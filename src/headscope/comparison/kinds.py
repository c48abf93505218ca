"""Which heads became heads of another kind."""

import warnings
from dataclasses import dataclass

import numpy as np

from headscope.atlas import Atlas
from headscope.errors import HeadscopeWarning
from headscope.kinds.features import head_features
from headscope.kinds.kinds import HeadKinds, head_types
from headscope.types import Array, HeadId, LabelledArray

HALVES = 20
"""How many random halves of the texts show what chance alone moves."""


@dataclass(frozen=True)
class KindChange:
    """The kinds of the first model's heads, and which of them the second model's are nearest to."""

    kinds: HeadKinds
    after: Array  # (head,) number of the kind
    by_chance: float | None
    """How many heads of the first model get another kind from a random half of the texts, in the mean; None when the
    texts are too few to be halved."""

    @property
    def before(self) -> Array:
        """(head,) number of the kind in the first model."""
        return self.kinds.clusters.labels

    @property
    def moved(self) -> list[HeadId]:
        """The heads whose kind changed."""
        heads = self.kinds.features.heads
        return [HeadId(*divmod(int(place), heads)) for place in np.flatnonzero(self.before != self.after)]

    @property
    def transitions(self) -> Array:
        """(type before, type after) how many heads."""
        counted = np.zeros((self.kinds.clusters.k,) * 2, dtype=int)
        np.add.at(counted, (self.before, self.after), 1)
        return counted

    def arrays(self) -> dict[str, LabelledArray]:
        """What goes into the atlas."""
        heads, names = self.kinds.features.coords, list(self.kinds.names)
        places = {"kind_before": names, "kind_after": names}
        before, after = self.kinds.named(self.before), self.kinds.named(self.after)
        nearest = "the kind of the first model that the head is nearest to now"
        moved = "how many heads went from which kind to which"
        return {
            "kind_before": LabelledArray.of(before, heads, "kind of each head in the first model"),
            "kind_after": LabelledArray.of(after, heads, nearest),
            "kind_transitions": LabelledArray.of(self.transitions, places, moved),
        }


def kind_change(first: Atlas, second: Atlas, *, stack: str, k: int, seed: int) -> KindChange | None:
    """Cluster the first model's heads and give the second's to the same centres; None with too few heads for k."""
    if len(head_features(first, stack=stack).values) <= k:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadscopeWarning)  # its notes are told with ours
        kinds = head_types(first, k=k, seed=seed, stack=stack)
    after = kinds.clusters.predict(head_features(second, stack=stack).values)
    return KindChange(kinds, after, _by_chance(kinds, seed))


def _by_chance(kinds: HeadKinds, seed: int) -> float | None:
    features = kinds.features
    if features.folds is None or len(features.folds) < 2:
        return None
    random = np.random.default_rng(seed)
    moved = []
    for _ in range(HALVES):
        half = random.permutation(len(features.folds))[: len(features.folds) // 2]
        moved.append((kinds.clusters.predict(features.of_folds(half)) != kinds.clusters.labels).sum())
    return float(np.mean(moved))
