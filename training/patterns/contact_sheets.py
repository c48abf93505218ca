"""Contact sheets: twenty attention maps on a page, to be labelled by looking at them.

The colour is the square root of the weight, from 0 to the map's 99.8th percentile, but at least to 4 / n, so that
an even map looks even. Queries run down, keys to the right. Ticks on the edges mark where the second text begins.
A cell shows its number and its length; which model, layer and head it is stands in the plan alone.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from torch import Tensor
from training.patterns.real_maps import real_text

COLUMNS, ROWS = 5, 4
BRIGHTEST, FLAT = 0.998, 4.0
POOLED_FROM = 257
"""Maps of this many tokens or more are shown at half size, each pixel the largest of four weights."""


def draw_sheet(cells: Sequence[tuple[int, Tensor, int | None]], path: Path) -> None:
    """Twenty cells (number, map (query, key), start of the second text) as one picture."""
    figure, places = plt.subplots(ROWS, COLUMNS, figsize=(12, 10.4), dpi=100, layout="constrained")
    for place in places.flat:
        place.set_axis_off()
    for place, (number, attention, boundary) in zip(places.flat, cells, strict=False):
        _draw(place, attention, boundary)
        place.set_title(f"{number}   n {len(attention)}", fontsize=9, pad=7)
    figure.savefig(path)
    plt.close(figure)


def _draw(place: Axes, attention: Tensor, boundary: int | None) -> None:
    length = len(attention)
    highest = max(float(torch.quantile(attention.flatten(), BRIGHTEST)), FLAT / length)
    shown = attention.numpy()
    if length >= POOLED_FROM:
        shown = torch.nn.functional.max_pool2d(attention[None], 2, ceil_mode=True)[0].numpy()
    place.set_axis_on()
    place.imshow(
        np.sqrt(shown), cmap="magma", vmin=0, vmax=highest**0.5, extent=(0, length, length, 0), aspect="auto"
    )
    ticks = [] if boundary is None else [boundary]
    place.set(xticks=ticks, yticks=ticks, xticklabels=[], yticklabels=[])
    place.tick_params(top=True, right=True, length=7, width=2, color="red")


def draw_plan(plan: Sequence[dict[str, Any]], folder: Path) -> None:
    """All sheets of a plan, whose rows say sheet, cell, model, text, layer and head."""
    folder.mkdir(parents=True, exist_ok=True)
    for sheet in sorted({str(row["sheet"]) for row in plan}):
        cells = []
        for row in plan:
            if row["sheet"] == sheet:
                seen = real_text(row["model"], row["text"])
                cells.append((row["cell"], seen.attention[row["layer"], row["head"]], seen.boundary))
        draw_sheet(cells, folder / f"{sheet}.png")


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSON-lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
