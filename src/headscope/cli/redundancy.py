"""`headscope redundancy`: which heads look at texts alike."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

import headscope as hs
from headscope.cli.console import only_own_notes, print_json, print_wrapped, status, stdout
from headscope.cli.options import Debug, Json
from headscope.cli.tables import print_table

if TYPE_CHECKING:
    from headscope.heads import Likeness

EXAMPLE = "Example: headscope redundancy atlas.nc --head 3.2 --threshold 0.1"


def redundancy(
    atlas: Annotated[
        Path,
        typer.Argument(
            metavar="ATLAS",
            show_default=False,
            help="A file that headscope analyze wrote, with head_distance.",
        ),
    ],
    *,
    head: Annotated[
        str | None,
        typer.Option(metavar="LAYER.HEAD", help="The neighbours of this head only, counted from 0: 3.2."),
    ] = None,
    neighbours: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many of the nearest heads to show for each head.")
    ] = 3,
    threshold: Annotated[
        float,
        typer.Option(
            metavar="NATS",
            help="Heads of a group are all nearer to each other than this. 0.69 is the farthest there is, unless the "
            "atlas is faithful: then distances are sums.",
        ),
    ] = 0.05,
    stack: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="encoder, decoder or cross; without it the first that was measured."
        ),
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Find heads that do the same: nearest neighbours and groups.

    By the mean Jensen-Shannon divergence between two heads' attention. Also tests whether heads of one layer are
    more alike than heads dealt out to layers by chance.
    """
    with only_own_notes(debug=debug):
        likeness = hs.Likeness(hs.open(atlas), stack=stack)
        with status("comparing heads", shown=not json):
            found = _found(likeness, head, neighbours, threshold)
    if json:
        print_json({"atlas": str(atlas), **found})
    else:
        _print(stdout(), found)


def _found(likeness: "Likeness", head: str | None, neighbours: int, threshold: float) -> dict[str, Any]:
    heads = likeness.heads if head is None else [likeness.known(head)]
    test = likeness.layer_test() if likeness.has_layers else None
    return {
        "units": likeness.units,
        "threshold": threshold,
        "neighbours": {
            str(one): [
                {"head": str(near.head), "distance": near.distance}
                for near in likeness.neighbours(one, most=neighbours)
            ]
            for one in heads
        },
        "groups": [[str(one) for one in group] for group in likeness.groups(threshold=threshold)],
        "layers": None
        if test is None
        else {
            "within": test.within,
            "between": test.between,
            "p_value": test.p_value,
            "permutations": test.permutations,
        },
    }


def _print(console: Console, found: dict[str, Any]) -> None:
    columns = max((len(near) for near in found["neighbours"].values()), default=0)
    rows = [
        [one, *(f"{near['head']} ({near['distance']:.3f})" for near in nearest)]
        for one, nearest in found["neighbours"].items()
    ]
    console.print(f"nearest heads, with their distance in {found['units']}", style="bold", soft_wrap=True)
    print_table(console, ["head", *(str(number + 1) for number in range(columns))], rows)
    console.print()
    if found["groups"]:
        console.print(
            f"groups in which all heads are within {found['threshold']:g} of each other", style="bold"
        )
        for group in found["groups"]:
            print_wrapped(console, f"{len(group):>4}  ", " ".join(group))
    else:
        console.print(f"no two heads are within {found['threshold']:g} of each other")
    layers = found["layers"]
    if layers is not None:
        console.print()
        console.print(
            f"heads of one layer are {layers['within']:.3f} apart on average, heads of different layers "
            f"{layers['between']:.3f}; heads dealt out to layers by chance are as near with p = "
            f"{layers['p_value']:.2g} ({layers['permutations']:,} permutations)",
            soft_wrap=True,
        )
