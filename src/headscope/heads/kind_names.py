"""Names for clusters of heads, taken from what their centres look like; never a name that does not fit."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

PUBLISHED = ("dense", "diagonal", "dense&vertical", "vertical")
"""The four kinds of Guan et al. 2020."""

SPECIAL = ("cls", "sep", "comma", "period")
NEAR = ("self", "w00")

MOST = 0.5
SOME = 0.2


def name_kinds(centres: Array, features: Sequence[str]) -> list[str]:
    """A name for each centre (kind, feature), no two alike.

    A published name where the centre is what that name says; else, and where two centres would get the same
    name, a description in numbers.
    """
    names = [_published(centre, features) for centre in centres]
    times = Counter(names)
    described = [
        name if name is not None and times[name] == 1 else description(centre, features)
        for name, centre in zip(names, centres, strict=True)
    ]
    seen: Counter[str] = Counter()
    unique = []
    for name in described:
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return unique


def has_published_names(names: Sequence[str]) -> bool:
    """Whether every cluster got one of the four published names."""
    return set(names) <= set(PUBLISHED)


def shares(centre: Array, features: Sequence[str]) -> tuple[float, float, float]:
    """How much attention goes to special tokens and punctuation, to the token and its near ones, and elsewhere."""
    by_name = dict(zip(features, centre.tolist(), strict=True))
    special = sum(by_name[name] for name in SPECIAL)
    near = sum(by_name[name] for name in NEAR)
    return special, near, sum(centre.tolist()) - special - near


def _published(centre: Array, features: Sequence[str]) -> str | None:
    """Vertical: mostly special tokens. Diagonal: mostly near. Dense: mostly elsewhere. None for anything else."""
    special, near, elsewhere = shares(centre, features)
    if special >= MOST:
        return "vertical"
    if near >= MOST:
        return "diagonal"
    if elsewhere >= MOST and special < SOME:
        return "dense"
    if special >= SOME and elsewhere > near:
        return "dense&vertical"
    return None


def description(centre: Array, features: Sequence[str]) -> str:
    """The centre in three numbers, in percent."""
    special, near, elsewhere = (round(100 * share) for share in shares(centre, features))
    return f"special {special} near {near} elsewhere {elsewhere}"
