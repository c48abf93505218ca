"""`headscope map`: all heads of an atlas as points on a plane."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer

import headscope as hs
from headscope.cli.console import only_own_notes, print_json, print_notes, status, stdout
from headscope.cli.options import PICTURE, Debug, Json, check_output, parse_at
from headscope.errors import OptionError

EXAMPLE = "Example: headscope map atlas.nc --method tsne --color type -o map.svg"


def map_heads(
    atlas: Annotated[
        Path, typer.Argument(metavar="ATLAS", show_default=False, help="A file that headscope analyze wrote.")
    ],
    *,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="The picture: .svg, .pdf or .png.",
        ),
    ],
    method: Annotated[
        Literal["mds", "tsne"],
        typer.Option(help="mds: distances between heads' attention. tsne: neighbours by distance features."),
    ] = "mds",
    color: Annotated[
        str, typer.Option(metavar="layer|type|MEASURE", help="What the colours stand for.")
    ] = "layer",
    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIM=LABEL",
            help="Which part of the measure, such as query_role=all; can be given several times.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Where the search for a map starts.")] = 0,
    stack: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="encoder, decoder or cross; without it the first that was measured."
        ),
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Draw every head as a point, near the heads that are like it."""
    check_output(output, option="-o", kind=PICTURE, inputs=[atlas])
    with only_own_notes(debug=debug) as notes, status("drawing the map", shown=not json):
        opened = hs.open(atlas)
        select = _select(at or [])
        _check_whole(opened, color, select)
        places = (hs.head_map if method == "mds" else hs.feature_map)(opened, stack=stack, seed=seed)
        draw = hs.figures.head_map if method == "mds" else hs.figures.feature_map
        ax = draw(opened, color=color, select=select, places=places, stack=stack)
        hs.figures.save(ax, output)
    if json:
        points = [
            {"head": str(label), "x": float(x), "y": float(y)}
            for label, x, y in zip(
                places["label"].values, places["x"].values, places["y"].values, strict=True
            )
        ]
        stress = float(places["stress"]) if "stress" in places else None
        print_json(
            {"output": str(output), "method": method, "stress": stress, "heads": points, "warnings": notes}
        )
    else:
        print_notes(notes)
        stdout().print(f"{output}: {places.sizes['label']} heads", soft_wrap=True)


def _select(given: list[str]) -> dict[str, str | int]:
    """Labels that are numbers, such as offsets, as numbers."""
    chosen = parse_at(given)
    return {dim: int(label) if label.lstrip("-").isdigit() else label for dim, label in chosen.items()}


def _check_whole(atlas: "hs.Atlas", color: str, select: Mapping[str, object]) -> None:
    """A measure has a colour for every head only when one label of each other dimension is chosen."""
    if color in ("layer", "type"):
        return
    array = atlas[color]
    for dim in array.dims:
        if dim not in ("layer", "head", *select) and array.sizes[dim] > 1:
            labels = ", ".join(str(label) for label in array[dim].values)
            raise OptionError(f"--color {color} needs --at {dim}=LABEL; choose from {labels}")
