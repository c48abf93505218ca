"""Section 4.3 of Kovaleva et al. 2019: what fine-tuning changes by layer, and whether weights moved more there."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from headscope.atlas import Atlas
from headscope.figures import change_by_layer, head_grid
from headscope.figures.grid import grid_size
from headscope.reproduce import ours as read
from headscope.reproduce.paper import PublishedSection
from headscope.reproduce.table import Drawing, Figure, Origin, Row, Section

LAST = 2
"""How many of the last layers change most by fine-tuning, in all tasks but QQP."""


def change(section: PublishedSection, atlases: Sequence[Atlas]) -> Section:
    """Figure 5: how alike attention is before and after fine-tuning, for every fine-tuned model."""
    holding = read.all_with(atlases, "attention_change")
    if not holding:
        return section.left_out()
    rows: list[Row] = []
    drawings: list[Drawing] = []
    origins: list[Origin] = []
    remarks: list[str] = []
    for atlas, stack in holding:
        ending = f", {read.model_name(atlas)}" if len(holding) > 1 else ""
        origin = read.probed_by(atlas, stack, "compare")
        before = read.probe_facts(atlas, "compare")["options"]["against"]
        origins.append(replace(origin, model=f"{before} and {origin.model}"))
        rows += (replace(row, quantity=f"{row.quantity}{ending}") for row in _rows(section, atlas, stack))
        drawings += _drawings(section, atlas, stack)
        remarks += _weights(section, atlas, stack)
    return section.filled(read.joined(origins), rows, remarks=remarks, drawings=drawings)


def _rows(section: PublishedSection, atlas: Atlas, stack: str) -> Iterable[Row]:
    """Which layers change most, the last two beside the others, and every layer."""
    arrays = atlas.stack(stack)
    cosine = 1 - arrays["attention_change"].sel(change="cosine").values  # (layer,)
    error = arrays["attention_change_stderr"].sel(change="cosine").values  # (layer,)
    units = atlas.sample_size("attention_change")
    layers = [
        read.figure(float(value), float(spread), units, limits=(-1, 1))
        for value, spread in zip(cosine, error, strict=True)
    ]
    last = min(LAST, len(cosine))
    most = sorted(int(layer) for layer in np.argsort(cosine, kind="stable")[:last])
    are_last = most == list(range(len(cosine) - last, len(cosine)))
    words = Figure(None, words="the last two" if are_last else "others", detail=read.layer_names(most))
    ranked = [sorted(part, key=lambda layer: layer.value or 0.0) for part in (layers[-last:], layers[:-last])]
    lowest = ranked[1][0] if ranked[1] else None
    yield section.row("most", words, lowest, tested=ranked[0][-1])
    mine, others = (
        read.mean(cosine[part], error[part], units) for part in (slice(-last, None), slice(-last))
    )
    yield section.row("last", mine, others)
    if others is not None:
        yield section.row("others", others, mine)
    for number, layer in enumerate(layers):
        yield section.row("layer", layer, layer=number)


def _weights(section: PublishedSection, atlas: Atlas, stack: str) -> Iterable[str]:
    """Whether weights moved more in the last two layers too, and how much more attention changed at equal change."""
    arrays = atlas.stack(stack)
    if "weight_change" not in arrays:
        return
    moved = arrays["weight_change"].sel(matrix=["query", "key"]).mean("matrix").values  # (layer,)
    if not np.isfinite(moved).all() or len(moved) <= LAST:
        return
    last, others = float(moved[-LAST:].mean()), float(moved[:-LAST].mean())
    remark = section.remark(
        "weights",
        model=read.model_name(atlas),
        word="more" if last > others else "less",
        last=f"{100 * last:.1f} %",
        others=f"{100 * others:.1f} %",
    )
    control = arrays["weight_control"].sel(change="cosine", matrix="query")
    names = ("excess", "excess_low", "excess_high")
    factor, low, high = (float(control.sel(statistic=name)) for name in names)
    if not np.isnan(factor):
        word = "more" if low > 1 else "less" if high < 1 else "not clearly more or less"
        remark += f" {section.remark('excess', factor=factor, low=low, high=high, word=word)}"
    yield remark


def _drawings(section: PublishedSection, atlas: Atlas, stack: str) -> Iterable[Drawing]:
    arrays, names = atlas.stack(stack), {"model": read.model_name(atlas)}
    if "attention_cosine" in arrays:
        sizes = arrays["attention_cosine"].sizes
        yield section.drawing(
            "grid",
            head_grid,
            atlas,
            "attention_cosine",
            stack=stack,
            limits=(0.0, 1.0),
            size=grid_size(sizes["layer"], sizes["head"]),
            names=names,
        )
    if "weight_change" in arrays:
        yield section.drawing("layers", change_by_layer, atlas, stack=stack, names=names)
