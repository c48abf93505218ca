"""`headscope map`: all heads of an atlas as points on a plane."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.session import PICTURE, session
from headscope.errors import OptionError

if TYPE_CHECKING:
    import xarray as xr


@shared.with_common(without=(*shared.LOADING, "full", "quiet"))
def map_heads(
    atlas: shared.AtlasFile,
    *,
    output: Path,
    method: Literal["mds", "tsne"] = "mds",
    color: str = "layer",
    at: shared.At = None,
    seed: Annotated[int, shared.seed("the layout")] = 0,
    stack: shared.AtlasStack = None,
    common: shared.Common,
) -> None:
    """Draw every head as a point, near the heads that are like it."""
    with session(common, output, inputs=[atlas], kind=PICTURE) as run:
        with run.status("drawing the map"):
            opened = hs.open(atlas)
            select = _select(at or [])
            _check_whole(opened, color, select)
            places = (hs.head_map if method == "mds" else hs.feature_map)(opened, stack=stack, seed=seed)
            draw = hs.figures.head_map if method == "mds" else hs.figures.feature_map
            hs.figures.save(draw(opened, color=color, select=select, places=places, stack=stack), output)
        run.tell(
            places,
            lambda places: {"method": method, **_facts(places)},
            lambda page, places: page.say(f"{output}: {places.sizes['label']} heads"),
            then=None,
        )


def _facts(places: "xr.Dataset") -> dict[str, Any]:
    columns = (places[name].values for name in ("label", "x", "y"))
    return {
        "stress": float(places["stress"]) if "stress" in places else None,
        "heads": [
            {"head": str(label), "x": float(x), "y": float(y)} for label, x, y in zip(*columns, strict=True)
        ],
    }


def _select(given: list[str]) -> dict[str, str | int]:
    """Labels that are numbers, such as offsets, as numbers."""
    chosen = shared.parse_at(given)
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
