"""Sections 4.3 to 4.5 of Kovaleva et al. 2019: what fine-tuning changes.

Attention by layer, beside how far weights moved (figure 5); attention to [CLS], [SEP] and classes of words, from all
tokens (figure 6) and from [CLS] in the last layer alone (figure 7).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from headscope.atlas import Atlas
from headscope.figures import change_by_layer, cls_attention
from headscope.figures.grid import round_share
from headscope.probes.features.classes import FEATURES
from headscope.probes.features.result import AGAINST, CLS_QUERY
from headscope_papers.reproduce import ours as read
from headscope_papers.reproduce.paper import PublishedSection
from headscope_papers.reproduce.table import Drawing, Figure, Origin, Row, Section

LAST = 2
"""How many of the last layers change most by fine-tuning, in all tasks but QQP."""
_SPECIAL = {"cls": "[CLS]", "sep": "[SEP]"}
_WORDS = tuple(name for name in FEATURES if name not in _SPECIAL)
_NAMES = _SPECIAL | {name: name for name in _WORDS}


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
    """Whether weights moved more in the last two layers too."""
    arrays = atlas.stack(stack)
    if "weight_change" not in arrays:
        return
    moved = arrays["weight_change"].sel(matrix=["query", "key"]).mean("matrix").values  # (layer,)
    if not np.isfinite(moved).all() or len(moved) <= LAST:
        return
    last, others = float(moved[-LAST:].mean()), float(moved[:-LAST].mean())
    yield section.remark(
        "weights",
        model=read.model_name(atlas),
        word="more" if last > others else "less",
        last=f"{100 * last:.1f} %",
        others=f"{100 * others:.1f} %",
    )


def _drawings(section: PublishedSection, atlas: Atlas, stack: str) -> Iterable[Drawing]:
    arrays, names = atlas.stack(stack), {"model": read.model_name(atlas)}
    if "attention_cosine" in arrays:
        yield section.head_grid("grid", atlas, stack, "attention_cosine", limits=(0.0, 1.0), names=names)
    if "weight_change" in arrays:
        yield section.drawing("layers", change_by_layer, atlas, stack=stack, names=names)


@dataclass(frozen=True)
class Side:
    """One model's numbers, and where its atlas has them."""

    model: str
    atlas: Atlas
    stack: str
    is_first: bool = False
    array_ending: str = ""
    change_sign: int = 0
    """What turns the atlas's change into fine-tuned less pre-trained; 0 where it has none."""

    @property
    def arrays(self) -> Mapping[str, xr.DataArray]:
        """All arrays of the stack."""
        return self.atlas.stack(self.stack)

    @property
    def ending(self) -> str:
        """What rows on its attention end in."""
        return "" if self.is_first else f", {self.model}"

    def attention(self, feature: str, query: str = "") -> Figure | None:
        """Attention to a class, mean over heads; the head that gives most."""
        return self._mean(f"feature_attention{query}{self.array_ending}", feature)

    def most(self, features: Iterable[str]) -> Figure | None:
        """The class that gets most attention."""
        known = [figure for name in features if (figure := self.attention(name))]
        return max(known, key=lambda figure: figure.value or 0.0, default=None)

    def change(self, feature: str, query: str = "") -> Figure | None:
        """What fine-tuning changed, mean over heads; the head that changed most."""
        change = self._mean(f"feature_change{query}", feature)
        return change if change is None or self.change_sign > 0 else -change

    def _mean(self, name: str, feature: str) -> Figure | None:
        values = self.arrays[name].sel(feature=feature)
        errors = self.arrays[f"{name}_stderr"].sel(feature=feature)
        if not np.isfinite(values.values).any():
            return None
        first_layer = 0
        if "layer" not in values.dims:  # from [CLS] in the last layer alone
            first_layer = self.arrays["feature_attention"].sizes["layer"] - 1
            values, errors = values.expand_dims("layer"), errors.expand_dims("layer")
        values, errors = (array.transpose("layer", "head") for array in (values, errors))
        layer, head = np.unravel_index(np.nanargmax(np.abs(values.values)), values.shape)
        units = self.atlas.sample_size(name)
        return read.mean(values.values, errors.values, units, detail=f"{first_layer + layer}.{head}")


def features(section: PublishedSection, atlases: Sequence[Atlas]) -> Section:
    """Figure 6: attention to [CLS] and [SEP] beside that to nouns, verbs and the like."""
    sides = _sides(atlases)
    if not sides:
        return section.left_out()
    rows = [
        *(
            row
            for feature in _NAMES
            for side in sides
            for row in _feature_rows(section, side, feature, len(sides))
        ),
        *(row for side in sides for row in _depth(section, side)),
    ]
    return section.filled(_origin(sides), rows, drawings=_grids(section, sides))


def cls_query(section: PublishedSection, atlases: Sequence[Atlas]) -> Section:
    """Figure 7: the same classes from [CLS] in the last layer, which is what classifiers read."""
    sides = [side for side in _sides(atlases) if f"feature_attention{CLS_QUERY}" in side.arrays]
    if not sides:
        return section.left_out()
    rows = []
    for feature, name in _NAMES.items():
        for side in sides:
            ours = side.attention(feature, CLS_QUERY)
            rows.append(section.row("attention", ours, feature=name, ending=side.ending))
            if side.change_sign:
                ending, ours = _changed_in(side, len(sides)), side.change(feature, CLS_QUERY)
                rows.append(section.row("change", ours, feature=name, ending=ending))
    drawings = [
        section.drawing(
            "cls",
            cls_attention,
            side.atlas,
            against=bool(side.array_ending),
            stack=side.stack,
            names={"model": side.model},
        )
        for side in sides
    ]
    return section.filled(_origin(sides), rows, drawings=drawings)


def _sides(atlases: Sequence[Atlas]) -> list[Side]:
    """The pre-trained model first, then the fine-tuned ones: each from its own atlas, or beside the first one."""
    holding = read.all_with(atlases, "feature_attention")
    if not holding:
        return []
    names = [read.model_name(atlas) for atlas, _ in holding]
    against = [read.probe_facts(atlas, "features")["options"].get("against") for atlas, _ in holding]
    sides = [Side(names[0], *holding[0], is_first=True)]
    if against[0] and against[0] not in names:
        sides.append(Side(against[0], *holding[0], array_ending=AGAINST, change_sign=1))
    for name, place, before in list(zip(names, holding, against, strict=True))[1:]:
        sides.append(Side(name, *place, change_sign=-1 if before == names[0] else 0))
    return sides


def _feature_rows(section: PublishedSection, side: Side, feature: str, sides: int) -> Iterable[Row]:
    """Attention to a class beside that to the other kind of tokens, and its change by fine-tuning."""
    kind, others = ("special", _WORDS) if feature in _SPECIAL else ("words", tuple(_SPECIAL))
    name: dict[str, Any] = {"feature": _NAMES[feature]}
    ours = side.attention(feature)
    row = section.row(kind, ours, side.most(others), ending=side.ending, **name)
    yield replace(row, published=row.published if ours else None)
    if side.change_sign:
        change = side.change(feature)
        size = None if change is None else _absolute(change)
        ending = _changed_in(side, sides)
        row = section.row(f"{kind}_change", change, side.most(_SPECIAL), tested=size, ending=ending, **name)
        yield replace(row, published=row.published if change else None)


def _changed_in(side: Side, sides: int) -> str:
    """What rows on a change end in, where there are several fine-tuned models."""
    return f" in {side.model}" if sides > 2 else ""


def _absolute(figure: Figure) -> Figure:
    """The size of a change, whichever way it goes."""
    ends = [abs(end) for end in (figure.low, figure.high) if end is not None]
    return Figure(abs(figure.value or 0.0), high=max(ends, default=None))


def _depth(section: PublishedSection, side: Side) -> Iterable[Row]:
    """Earlier layers look at [CLS] more, later ones at [SEP]."""
    name = f"feature_attention{side.array_ending}"
    values, errors = (
        side.arrays[key].transpose("feature", "layer", "head") for key in (name, f"{name}_stderr")
    )
    half, units = values.sizes["layer"] // 2, side.atlas.sample_size(name)
    for feature in _SPECIAL if half else ():
        value, error = (array.sel(feature=feature).values for array in (values, errors))  # (layer, head)
        earlier, later = (
            read.mean(value[part], error[part], units) for part in (slice(half), slice(half, None))
        )
        yield section.row(f"{feature}_earlier", earlier, later, ending=side.ending)
        yield section.row(f"{feature}_later", later, earlier, ending=side.ending)


def _origin(sides: Sequence[Side]) -> Origin:
    own = read.joined([read.probed_by(side.atlas, side.stack, "features") for side in sides])
    beside = [side.model for side in sides if side.array_ending]
    return replace(own, model="; and ".join([own.model, *beside]))


def _grids(section: PublishedSection, sides: Sequence[Side]) -> Iterable[Drawing]:
    """[SEP] and [CLS], as the paper's figure has them; one scale for all models."""
    for feature in ("sep", "cls"):
        arrays = [side.arrays[f"feature_attention{side.array_ending}"].sel(feature=feature) for side in sides]
        most = max(float(array.max()) for array in arrays)
        limits = 0.0, round_share(most)
        for side, array in zip(sides, arrays, strict=True):
            names, select = {"feature": _SPECIAL[feature], "model": side.model}, {"feature": feature}
            where = side.atlas, side.stack, str(array.name)
            yield section.head_grid("grid", *where, select=select, limits=limits, names=names)
