"""Names for clusters of heads, taken from what their centres look like; never a name that does not fit."""

from collections import Counter
from collections.abc import Sequence

from headscope.types import Array

PUBLISHED = ("dense", "diagonal", "dense&vertical", "vertical")
"""The four kinds of Guan et al. 2020."""

GROUPS = {
    "special": ("cls", "sep", "comma", "period"),
    "self": ("self",),
    "near": ("w00",),
    "middle": ("w01", "w02", "w03"),
    "far": tuple(f"w{window:02d}" for window in range(4, 16)),
}
"""The 21 features in five groups: special tokens and punctuation; the token itself; others less than a sixteenth of
the text away; less than a quarter; farther."""

MOST = 0.5
SOME = 0.2
"""A published name needs this much more attention than an even head would give there."""
LEAST_NEAR = 0.03
"""Where an even head finds less than this near it, texts are too short for windows of distance to mean anything."""
TOLD = 0.25
"""A group with this share of a centre's attention is named in its description."""


def name_kinds(centres: Array, features: Sequence[str], uniform: Array) -> list[str]:
    """A name for each centre (kind, feature), no two alike; `uniform` (feature,) is a head that looks evenly.

    A published name where the centre, and no other, is what that name says; else a description.
    """
    even = group_shares(uniform, features)
    published = [_published(group_shares(centre, features), even) for centre in centres]
    times = Counter(published)
    names = [
        name if name is not None and times[name] == 1 else description(centre, features)
        for name, centre in zip(published, centres, strict=True)
    ]
    alike, seen = Counter(names), Counter[str]()
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(f"{name} ({seen[name]})" if alike[name] > 1 else name)
    return unique


def group_shares(centre: Array, features: Sequence[str]) -> dict[str, float]:
    """How much of a centre's attention goes to each of the five groups."""
    by_name = dict(zip(features, centre.tolist(), strict=True))
    return {group: sum(by_name[name] for name in names) for group, names in GROUPS.items()}


def description(centre: Array, features: Sequence[str]) -> str:
    """Where most of the attention goes, the largest share first: near, near+middle."""
    share = group_shares(centre, features)
    ranked = sorted(share, key=lambda group: -share[group])
    return "+".join([ranked[0], *(group for group in ranked[1:] if share[group] >= TOLD)])


def _published(share: dict[str, float], even: dict[str, float]) -> str | None:
    """Vertical: mostly special tokens. Diagonal: mostly near. Dense: mostly elsewhere. None for anything else.

    What an even head would give there too does not make a head vertical or diagonal.
    """
    if even["near"] < LEAST_NEAR:
        return None
    special, near, elsewhere = _three(share)
    chosen_special, chosen_near = special - _three(even)[0], near - _three(even)[1]
    if special >= MOST and chosen_special >= SOME:
        return "vertical"
    if near >= MOST and chosen_near >= SOME:
        return "diagonal"
    if elsewhere >= MOST and chosen_special < SOME:
        return "dense"
    if chosen_special >= SOME and elsewhere > near:
        return "dense&vertical"
    return None


def _three(share: dict[str, float]) -> tuple[float, float, float]:
    """Special, near and elsewhere."""
    return share["special"], share["self"] + share["near"], share["middle"] + share["far"]
