"""Section 4.3 of Kovaleva et al. 2019: what fine-tuning changes by layer, and whether weights moved more there."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from headscope.atlas import Atlas
from headscope.figures import change_by_layer, head_grid
from headscope.figures.grid import grid_size
from headscope.reproduce.kovaleva import published as paper
from headscope.reproduce.kovaleva.sources import (
    Found,
    all_holding,
    drawn,
    figure,
    joined,
    mean,
    model_name,
    origin,
)
from headscope.reproduce.table import Drawing, Figure, Origin, Row, Section
from headscope.reproduce.verdicts import falls_below

_MOST = "the last two layers change most"
_MORE = "the last two layers change more than the others"


def change(atlases: Sequence[Atlas]) -> Section:
    """Figure 5: how alike attention is before and after fine-tuning, for every fine-tuned model."""
    key, title = "change", "Section 4.3, figure 5: attention before and after fine-tuning"
    covers = ("figure 5",)
    found = all_holding(atlases, "attention_change")
    if not found:
        needs = (
            "figure 5 needs --against MODEL and --text FILE, --pairs FILE or --task, or an atlas made with headscope "
            "compare"
        )
        return Section(key, title, paper.CHANGE, needs=needs, covers=covers)
    several = len(found) > 1
    endings = [f", {model_name(atlas)}" if several else "" for atlas, _ in found]
    notes = [
        "A cosine of 1 is the same attention in both models. The paper's code kept padding in, ours leaves it out. The "
        "interval of several layers is on the safe side: as if all erred together.",
        *(note for one in found if (note := _weights_note(one))),
    ]
    return Section(
        key,
        title,
        paper.CHANGE,
        joined([_origin(one) for one in found]),
        tuple(row for one, ending in zip(found, endings, strict=True) for row in _rows(one, ending)),
        heading="layers",
        notes=tuple(notes),
        drawings=tuple(drawing for one in found for drawing in _drawings(one)),
        covers=covers,
    )


def _origin(found: Found) -> Origin:
    ours = origin(found, "compare")
    before = found[0].provenance["probes"]["compare"]["options"]["against"]
    return Origin(f"{before} and {ours.model}", ours.data)


def _rows(found: Found, ending: str) -> list[Row]:
    """Which layers change most, the last two beside the others, and every layer."""
    atlas, stack = found
    arrays = atlas.stack(stack)
    cosine = 1 - arrays["attention_change"].sel(change="cosine").values  # (layer,)
    error = arrays["attention_change_stderr"].sel(change="cosine").values  # (layer,)
    units = atlas.sample_size("attention_change")
    layers = [
        figure(float(value), float(spread), units, limits=(-1, 1))
        for value, spread in zip(cosine, error, strict=True)
    ]
    last = min(paper.LAST, len(cosine))
    most = sorted(int(layer) for layer in np.argsort(cosine, kind="stable")[:last])
    are_last = most == list(range(len(cosine) - last, len(cosine)))
    rows = [
        Row(
            f"change most{ending}",
            "cosine",
            Figure(None, words="the last two", detail="all tasks but QQP"),
            Figure(None, words="the last two" if are_last else "others", detail=_layers(most)),
            verdict=falls_below(_highest(layers[-last:]), _lowest(layers[:-last]), _MOST),
        )
    ]
    mine, others = (mean(cosine[part], error[part], units) for part in (slice(-last, None), slice(-last)))
    verdict = falls_below(mine, others, _MORE)
    rows.append(
        Row(f"cosine, last two{ending}", "cosine", Figure(None, words="lower"), mine, verdict=verdict)
    )
    if others is not None:
        rows.append(
            Row(f"cosine, others{ending}", "cosine", Figure(None, words="higher"), others, verdict=verdict)
        )
    rows += [Row(f"cosine, layer {layer}{ending}", "cosine", None, one) for layer, one in enumerate(layers)]
    return rows


def _highest(figures: Sequence[Figure]) -> Figure | None:
    return max(figures, key=lambda one: one.value or 0.0, default=None)


def _lowest(figures: Sequence[Figure]) -> Figure | None:
    return min(figures, key=lambda one: one.value or 0.0, default=None)


def _weights_note(found: Found) -> str:
    """Whether weights moved more in the last two layers too, and what is left of the difference."""
    atlas, stack = found
    arrays = atlas.stack(stack)
    if "weight_change" not in arrays:
        return ""
    moved = arrays["weight_change"].sel(matrix=["query", "key"]).mean("matrix").values  # (layer,)
    if not np.isfinite(moved).all() or len(moved) <= paper.LAST:
        return ""
    last, others = float(moved[-paper.LAST :].mean()), float(moved[: -paper.LAST].mean())
    word = "more" if last > others else "less"
    return (
        f"{model_name(atlas)}: query and key weights moved {word} in the last two layers ({100 * last:.1f} % of their "
        f"norm) than in the others ({100 * others:.1f} %).{_left_over(arrays)}"
    )


def _left_over(arrays: dict[str, xr.DataArray]) -> str:
    """How much more the last third changed at equal weight change."""
    control: Any = arrays["weight_control"].sel(change="cosine", matrix="query")
    factor, low, high = (
        float(control.sel(statistic=name)) for name in ("excess", "excess_low", "excess_high")
    )
    if np.isnan(factor):
        return ""
    told = "more" if low > 1 else "less" if high < 1 else "not clearly more or less"
    return (
        f" At equal change of the query weights, attention of the last third of the layers changed {factor:.1f} times "
        f"as much as that of the others ({low:.1f} to {high:.1f}): {told}."
    )


def _drawings(found: Found) -> list[Drawing]:
    atlas, stack = found
    arrays = atlas.stack(stack)
    name = model_name(atlas)
    drawings = []
    if "attention_cosine" in arrays:
        cells = arrays["attention_cosine"]
        drawings.append(
            Drawing(
                f"Cosine of every head, {name}",
                "Cosine of attention before and after fine-tuning; 1 is the same attention.",
                grid_size(cells.sizes["layer"], cells.sizes["head"]),
                drawn(head_grid, atlas, "attention_cosine", stack=stack, limits=(0.0, 1.0)),
            )
        )
    if "weight_change" in arrays:
        drawings.append(
            Drawing(
                f"Change by layer, {name}",
                "How much attention changed in every layer, beside how far its weights moved.",
                (6.4, 3.6),
                drawn(change_by_layer, atlas, stack=stack),
            )
        )
    return drawings


def _layers(layers: Sequence[int]) -> str:
    return f"layer{'' if len(layers) == 1 else 's'} {', '.join(map(str, layers))}"
