"""Sections 4.4 and 4.5 of Kovaleva et al. 2019: attention to [CLS], [SEP] and classes of words.

From all tokens (figure 6) and from [CLS] in the last layer alone (figure 7), for the pre-trained model and every
fine-tuned one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from headscope.atlas import Atlas
from headscope.figures import cls_attention, head_grid
from headscope.figures.grid import SHARE_STEPS, grid_size
from headscope.probes.features.classes import FEATURES
from headscope.probes.features.result import AGAINST, CLS_QUERY
from headscope.reproduce.kovaleva import published as paper
from headscope.reproduce.kovaleva.sources import (
    Found,
    all_holding,
    drawn,
    joined,
    mean,
    model_name,
    origin,
)
from headscope.reproduce.table import Drawing, Figure, Origin, Row, Section
from headscope.reproduce.verdicts import exceeds, falls_below

_NAMES = {"cls": "[CLS]", "sep": "[SEP]"}
_SPECIAL = ("cls", "sep")
_ORDER = (*_SPECIAL, *(name for name in FEATURES if name not in _SPECIAL))


@dataclass(frozen=True)
class Side:
    """One model's numbers, and where its atlas has them."""

    model: str
    found: Found
    ending: str = ""
    change_sign: int = 0
    """What turns the atlas's change into fine-tuned less pre-trained; 0 where it has none."""

    def attention(self, feature: str, query: str = "") -> Figure | None:
        """Attention to a class, mean over heads; the head that gives most."""
        return self._mean(f"feature_attention{query}{self.ending}", feature)

    def change(self, feature: str, query: str = "") -> Figure | None:
        """What fine-tuning changed, mean over heads; the head that changed most."""
        found = self._mean(f"feature_change{query}", feature)
        if found is None or self.change_sign > 0 or found.value is None:
            return found
        low, high = (None if end is None else -end for end in (found.high, found.low))
        return replace(found, value=-found.value, low=low, high=high)

    @property
    def arrays(self) -> dict[str, xr.DataArray]:
        """All arrays of the stack."""
        atlas, stack = self.found
        return atlas.stack(stack)

    def _mean(self, name: str, feature: str) -> Figure | None:
        values = self.arrays[name].sel(feature=feature)
        errors = self.arrays[f"{name}_stderr"].sel(feature=feature)
        if not np.isfinite(values.values).any():
            return None
        if "layer" not in values.dims:  # from [CLS] in the last layer alone
            last = self.arrays["feature_attention"].sizes["layer"] - 1
            head = f"{last}.{int(np.nanargmax(np.abs(values.values)))}"
        else:
            values, errors = (array.transpose("layer", "head") for array in (values, errors))
            place = np.unravel_index(np.nanargmax(np.abs(values.values)), values.shape)
            head = f"{place[0]}.{place[1]}"
        return mean(values.values, errors.values, self.found[0].sample_size(name), detail=head)


def sides_in(atlases: Sequence[Atlas]) -> list[Side]:
    """The pre-trained model first, then the fine-tuned ones: each from its own atlas, or beside the first one."""
    found = all_holding(atlases, "feature_attention")
    if not found:
        return []
    names = [model_name(atlas) for atlas, _ in found]
    sides = [Side(names[0], found[0])]
    beside = _against(found[0])
    if beside and beside not in names:
        sides.append(Side(beside, found[0], AGAINST, 1))
    for name, one in zip(names[1:], found[1:], strict=True):
        sides.append(Side(name, one, change_sign=-1 if _against(one) == names[0] else 0))
    return sides


def _against(found: Found) -> str | None:
    atlas, _ = found
    against: str | None = atlas.provenance["probes"]["features"]["options"].get("against")
    return against


def features(atlases: Sequence[Atlas]) -> Section:
    """Figure 6: attention to [CLS] and [SEP] beside that to nouns, verbs and the like."""
    key, title = "features", "Section 4.4, figure 6: attention to kinds of words"
    covers = ("figure 6",)
    sides = sides_in(atlases)
    if not sides:
        needs = "figure 6 needs --treebank FILE, or an atlas made with headscope probe features"
        return Section(key, title, paper.FEATURES, needs=needs, covers=covers)
    several = len(sides) > 2
    rows = [
        row
        for feature in _ORDER
        for number, side in enumerate(sides)
        for row in _rows(side, feature, is_first=not number, several=several)
    ]
    rows += [row for number, side in enumerate(sides) for row in _depth(side, is_first=not number)]
    return Section(
        key,
        title,
        paper.FEATURES,
        _origin(sides),
        tuple(rows),
        heading="attention to",
        notes=(
            "Of each class its most attended token in a text, mean over queries, texts and heads. The name beside is "
            "the head that gives most, or changes most. Intervals of means over heads are on the safe side.",
            "The paper has no numbers here, and finds more attention to nouns and objects (MRPC, RTE, QQP) and to "
            "negation (QNLI) after fine-tuning, all of it negligible beside [CLS] and [SEP].",
        ),
        drawings=tuple(_grids(sides)),
        covers=covers,
    )


def cls_query(atlases: Sequence[Atlas]) -> Section:
    """Figure 7: the same classes from [CLS] in the last layer, which is what classifiers read."""
    key, title = "cls_query", "Section 4.5, figure 7: attention of [CLS] in the last layer"
    covers = ("figure 7",)
    sides = [side for side in sides_in(atlases) if f"feature_attention{CLS_QUERY}" in side.arrays]
    if not sides:
        needs = (
            "figure 7 needs --treebank FILE and an encoder, or an atlas made with headscope probe features"
        )
        return Section(key, title, paper.CLS_QUERY, needs=needs, covers=covers)
    rows = []
    for feature in _ORDER:
        shown = _NAMES.get(feature, feature)
        for number, side in enumerate(sides):
            name = f"{shown}, {side.model}" if number else shown
            rows.append(Row(name, "share", None, side.attention(feature, CLS_QUERY)))
            if side.change_sign:
                rows.append(
                    Row(
                        _changed(shown, side, several=len(sides) > 2),
                        "points",
                        None,
                        side.change(feature, CLS_QUERY),
                    )
                )
    return Section(
        key,
        title,
        paper.CLS_QUERY,
        _origin(sides),
        tuple(rows),
        heading="attention to",
        notes=(
            "Of each class its most attended token in a text, mean over texts and the heads of the last layer.",
            "The paper shows a picture by task, and its text gives no number to compare with.",
        ),
        drawings=tuple(
            Drawing(
                f"[CLS] in the last layer, {side.model}",
                "Attention of [CLS] to each class, head by head.",
                (5.4, 3.4),
                drawn(cls_attention, side.found[0], against=bool(side.ending), stack=side.found[1]),
            )
            for side in sides
        ),
        covers=covers,
    )


def _rows(side: Side, feature: str, *, is_first: bool, several: bool) -> Iterable[Row]:
    shown = _NAMES.get(feature, feature)
    ours = side.attention(feature)
    words = [name for name in FEATURES if name not in _SPECIAL]
    if feature in _SPECIAL:
        published = Figure(None, words="most")
        finding = f"{shown} gets more than any class of words"
        verdict = exceeds(ours, _most(side, words), finding)
    else:
        published = Figure(None, words="negligible")
        verdict = falls_below(ours, _most(side, _SPECIAL), "words get less than [CLS] or [SEP]")
    quantity = shown if is_first else f"{shown}, {side.model}"
    yield Row(quantity, "share", published if ours else None, ours, verdict=verdict)
    if not side.change_sign:
        return
    change = side.change(feature)
    quantity = _changed(shown, side, several=several)
    if feature in _SPECIAL or change is None or change.value is None:
        yield Row(quantity, "points", None, change)
        return
    finding = "fine-tuning changes it by less than [CLS] or [SEP] get"
    verdict = falls_below(_absolute(change), _most(side, _SPECIAL), finding)
    yield Row(quantity, "points", Figure(None, words="negligible"), change, verdict=verdict)


def _changed(shown: str, side: Side, *, several: bool) -> str:
    return f"{shown}, change in {side.model}" if several else f"{shown}, change"


def _most(side: Side, names: Sequence[str]) -> Figure | None:
    """The class that gets most attention."""
    known = [found for name in names if (found := side.attention(name))]
    return max(known, key=lambda one: one.value or 0.0, default=None)


def _absolute(figure: Figure) -> Figure:
    """The size of a change, whichever way it goes."""
    assert figure.value is not None
    ends = [abs(end) for end in (figure.low, figure.high) if end is not None]
    return Figure(abs(figure.value), high=max(ends, default=None))


def _depth(side: Side, *, is_first: bool) -> Iterable[Row]:
    """Earlier layers look at [CLS] more, later ones at [SEP]."""
    name = f"feature_attention{side.ending}"
    values, errors = (
        side.arrays[key].transpose("feature", "layer", "head") for key in (name, f"{name}_stderr")
    )
    half, units = values.sizes["layer"] // 2, side.found[0].sample_size(name)
    if not half:
        return
    model = "" if is_first else f", {side.model}"
    for feature, words in (("cls", ("more", "less")), ("sep", ("less", "more"))):
        value, error = (array.sel(feature=feature).values for array in (values, errors))  # (layer, head)
        earlier, later = (mean(value[part], error[part], units) for part in (slice(half), slice(half, None)))
        finding = f"{'earlier' if feature == 'cls' else 'later'} layers attend to {_NAMES[feature]} more"
        more, less = (earlier, later) if feature == "cls" else (later, earlier)
        verdict = exceeds(more, less, finding)
        for part, word, ours in zip(("earlier layers", "later layers"), words, (earlier, later), strict=True):
            quantity = f"{_NAMES[feature]}, {part}{model}"
            yield Row(quantity, "share", Figure(None, words=word), ours, verdict=verdict)


def _origin(sides: Sequence[Side]) -> Origin:
    own = joined([origin(side.found, "features") for side in sides])
    beside = [side.model for side in sides if side.ending]
    return Origin("; and ".join([own.model, *beside]), own.data)


def _grids(sides: Sequence[Side]) -> Iterable[Drawing]:
    """[SEP] and [CLS], as the paper's figure has them; one scale for all models."""
    for feature in ("sep", "cls"):
        arrays = [side.arrays[f"feature_attention{side.ending}"].sel(feature=feature) for side in sides]
        most = max(float(array.max()) for array in arrays)
        limits = 0.0, next((step for step in SHARE_STEPS if most <= step), 1.0)
        for side, array in zip(sides, arrays, strict=True):
            atlas, stack = side.found
            yield Drawing(
                f"Attention to {_NAMES[feature]}, {side.model}",
                f"Attention that every head gives {_NAMES[feature]}, mean over queries and texts.",
                grid_size(array.sizes["layer"], array.sizes["head"]),
                drawn(
                    head_grid,
                    atlas,
                    str(array.name),
                    select={"feature": feature},
                    stack=stack,
                    limits=limits,
                ),
            )
