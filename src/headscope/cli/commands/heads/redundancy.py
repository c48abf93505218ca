"""`headscope redundancy`: which heads look at texts alike."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.session import session

if TYPE_CHECKING:
    from headscope.cli.page import Page
    from headscope.kinds.likeness import Likeness
    from headscope.types import HeadId


@shared.with_common(without=(*shared.LOADING, "quiet"))
def redundancy(
    atlas: Path,
    *,
    head: str | None = None,
    neighbours: int = 3,
    threshold: float = 0.05,
    stack: shared.AtlasStack = None,
    common: shared.Common,
) -> None:
    """Find heads that do the same: nearest neighbours and groups.

    Compares heads by the mean Jensen-Shannon divergence of their attention. Also tests whether heads of one layer are
    more alike than heads assigned to layers at random.
    """
    with session(common) as run:
        choice = shared.head_choice(None, head, stack)
        likeness = hs.Likeness(hs.open(atlas), stack=choice.stack)
        with run.status("comparing heads"):
            found = _found(likeness, likeness.chosen(choice), neighbours, threshold)
        run.tell(found, lambda found: {"atlas": str(atlas), **found}, _print)


def _found(likeness: "Likeness", heads: "list[HeadId]", neighbours: int, threshold: float) -> dict[str, Any]:
    # Loads scipy, which --help does without.
    from headscope.facts.analyses.kinds import layers_alike, near_identical

    test = likeness.layer_test() if likeness.has_layers else None
    names = ("within", "between", "p_value", "permutations")
    return {
        "summary": [
            near_identical(likeness, threshold=threshold),
            *([] if test is None else [layers_alike(test, likeness.units)[0]]),
        ],
        "units": likeness.units,
        "threshold": threshold,
        "neighbours": {
            str(head): [
                {"head": str(near.head), "distance": near.distance}
                for near in likeness.neighbours(head, most=neighbours)
            ]
            for head in heads
        },
        "groups": [[str(head) for head in group] for group in likeness.groups(threshold=threshold)],
        "layers": None if test is None else {name: getattr(test, name) for name in names},
    }


def _print(page: "Page", found: dict[str, Any]) -> None:
    page.say(*found["summary"])
    if found["groups"]:
        page.say(f"\nGroups in which all heads are within {found['threshold']:g} of each other", bold=True)
    for group in found["groups"]:
        page.wrapped(f"{len(group):>4}  ", " ".join(group))
    # The most redundant head first.
    ranked = sorted(
        found["neighbours"].items(), key=lambda entry: [near["distance"] for near in entry[1]][:1]
    )
    columns = max((len(near) for _, near in ranked), default=0)
    rows = [
        [head, *(f"{near['head']} ({near['distance']:.3f})" for near in nearest)] for head, nearest in ranked
    ]
    page.table(
        ["head", *(str(number + 1) for number in range(columns))],
        rows,
        title=f"Nearest heads, with their distance in {found['units']}; the nearest pairs first",
    )
