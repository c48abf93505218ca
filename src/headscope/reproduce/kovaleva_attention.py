"""Sections 4.1, 4.3 and 4.4 of Kovaleva et al. 2019: patterns, what fine-tuning changes, kinds of words."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from headscope.atlas import Atlas
from headscope.heads.patterns import PATTERNS, PatternClassifier
from headscope.reproduce import kovaleva_published as paper
from headscope.reproduce.clark_surface import NORMAL
from headscope.reproduce.table import Figure, Origin, Row, Section, size

AGAINST = "_against"
_NAMES = {"cls": "[CLS]", "sep": "[SEP]"}
_SPECIAL = ("cls", "sep")

Found = tuple[Atlas, str]
"""An atlas, and the stack in it that is looked at."""


def patterns(atlases: Sequence[Atlas]) -> Section:
    """Figure 2: the share of each pattern, for every model that has been looked at."""
    key, title = "patterns", "Section 4.1, figure 2: patterns of attention maps"
    found = [one for atlas in atlases if (one := holding(atlas, "pattern_share_whole"))]
    if not found:
        needs = "figure 2 needs --text FILE or --pairs FILE, or an atlas made with headscope patterns"
        return Section(key, title, paper.PATTERNS, needs=needs)
    rows = []
    for pattern in PATTERNS:
        published = paper.HETEROGENEOUS if pattern == "heterogeneous" else None
        for number, (atlas, stack) in enumerate(found):
            arrays = atlas.stack(stack)
            share = arrays["pattern_share_whole"].sel(pattern=pattern)
            error = arrays["pattern_share_whole_stderr"].sel(pattern=pattern)
            name = pattern if len(found) == 1 else f"{pattern}, {_model(atlas)}"
            figure = _figure(float(share), float(error), limits=(0, 1))
            rows.append(Row(name, "share", published if number == len(found) - 1 else None, figure))
    notes = [
        "The paper gives the other shares as a picture only, and calls the heterogeneous one an upper bound of what "
        "could be linguistic.",
        "The paper's are of fine-tuned models. Ours are found by headscope's own networks, which are wrong at times: "
        "see the next section.",
    ]
    return Section(
        key,
        title,
        paper.PATTERNS,
        joined(found, "patterns"),
        tuple(rows),
        heading="pattern",
        notes=tuple(notes),
    )


def classifier() -> Section:
    """How well patterns are told apart, by the paper's network and by ours."""
    facts = PatternClassifier.load().facts
    by_pattern: dict[str, float] = json.loads(facts["f1"])
    rows = [
        Row("macro-F1", "share", Figure(paper.MACRO_F1), Figure(float(facts["macro_f1"]))),
        *(Row(f"F1, {name}", "share", None, Figure(by_pattern[name])) for name in PATTERNS),
    ]
    return Section(
        "classifier",
        "Section 4.1: the classifier of patterns",
        paper.CLASSIFIER,
        Origin("the pattern networks of headscope", facts["measured_on"]),
        tuple(rows),
        notes=(
            "The paper says F1 on the annotated maps, neither how it is averaged nor whether they were held out; ours "
            "are maps that no network was trained on, with labels of our own.",
            "No interval is kept with the networks; training/patterns of the project has it.",
        ),
    )


def change(atlases: Sequence[Atlas]) -> Section:
    """Figure 5: how alike attention is before and after fine-tuning, layer by layer."""
    key, title = "change", "Section 4.3, figure 5: attention before and after fine-tuning"
    found = first_holding(atlases, "attention_change")
    if found is None:
        needs = "figure 5 needs --against MODEL and --text or --pairs FILE, or an atlas made with headscope compare"
        return Section(key, title, paper.CHANGE, needs=needs)
    atlas, stack = found
    arrays = atlas.stack(stack)
    cosine = 1 - arrays["attention_change"].sel(change="cosine").values  # (layer,)
    error = arrays["attention_change_stderr"].sel(change="cosine").values  # (layer,)
    facts = atlas.provenance["probes"]["compare"]
    ours = origin(found, "compare")
    before = facts["options"]["against"]
    return Section(
        key,
        title,
        paper.CHANGE,
        Origin(f"{before} and {ours.model}", ours.data),
        tuple(_cosines(cosine, error)),
        heading="layers",
        notes=(
            "A cosine of 1 is the same attention in both models. The paper's code kept padding in, "
            "ours leaves it out. The interval of several layers is on the safe side: as if all erred together.",
            "Whether the last layers change more only because their weights moved more is shown by headscope compare.",
        ),
    )


def _cosines(cosine: Any, error: Any) -> list[Row]:
    """Which layers change most, the last two beside the others, and every layer; of (layer,) both."""
    last = min(paper.LAST, len(cosine))
    most = sorted(int(layer) for layer in np.argsort(cosine, kind="stable")[:last])
    are_last = most == list(range(len(cosine) - last, len(cosine)))
    rows = [
        Row(
            "change most",
            "share",
            Figure(None, words="the last two", detail="all tasks but QQP"),
            Figure(None, words="the last two" if are_last else "others", detail=_layers(most)),
        ),
        Row("cosine, last two", "cosine", Figure(None, words="lower"), _mean(cosine[-last:], error[-last:])),
    ]
    if len(cosine) > last:
        others = _mean(cosine[:-last], error[:-last])
        rows.append(Row("cosine, others", "cosine", Figure(None, words="higher"), others))
    rows += [
        Row(
            f"cosine, layer {layer}",
            "cosine",
            None,
            _figure(float(value), float(error[layer]), limits=(-1, 1)),
        )
        for layer, value in enumerate(cosine)
    ]
    return rows


def features(atlases: Sequence[Atlas]) -> Section:
    """Figure 6: attention to [CLS] and [SEP] beside that to nouns, verbs and the like, in one model or two."""
    key, title = "features", "Section 4.4, figure 6: attention to kinds of words"
    found = first_holding(atlases, "feature_attention")
    if found is None:
        needs = "figure 6 needs --treebank FILE, or an atlas made with headscope probe features"
        return Section(key, title, paper.FEATURES, needs=needs)
    atlas, stack = found
    arrays = atlas.stack(stack)
    against = atlas.provenance["probes"]["features"]["options"].get("against")
    names = [str(name) for name in arrays["feature_attention"]["feature"].values]
    rows = []
    for name in sorted(names, key=lambda one: one not in _SPECIAL):
        published = Figure(None, words="most" if name in _SPECIAL else "negligible")
        shown = _NAMES.get(name, name)
        mine = _mean_over_heads(arrays, "feature_attention", name)
        rows.append(Row(shown, "share", published, mine))
        if against:
            after = _mean_over_heads(arrays, f"feature_attention{AGAINST}", name)
            rows.append(Row(f"{shown}, {against}", "share", None, after))
            rows.append(
                Row(f"{shown}, change", "points", None, _mean_over_heads(arrays, "feature_change", name))
            )
    rows += _depth(arrays)
    ours = origin(found, "features")
    return Section(
        key,
        title,
        paper.FEATURES,
        Origin(f"{ours.model}; and {against}", ours.data) if against else ours,
        tuple(rows),
        heading="attention to",
        notes=(
            "Of each class its most attended token in a text, mean over queries, texts and heads. The name beside is "
            "the head that gives most, or changes most. Intervals of means over heads are on the safe side.",
            "The paper has no numbers here, and finds more attention to nouns and objects (MRPC, RTE, QQP) and to "
            "negation (QNLI) after fine-tuning, all of it negligible beside [CLS] and [SEP].",
        ),
    )


def _depth(arrays: dict[str, xr.DataArray]) -> Iterable[Row]:
    """Earlier layers look at [CLS] more, later ones at [SEP]."""
    values, errors = arrays["feature_attention"], arrays["feature_attention_stderr"]
    half = values.sizes["layer"] // 2
    if not half:
        return
    words = {"cls": ("more", "less"), "sep": ("less", "more")}
    for name in _SPECIAL:
        parts = (("earlier layers", slice(None, half)), ("later layers", slice(half, None)))
        for (part, layers), told in zip(parts, words[name], strict=True):
            chosen = {"layer": layers}
            value = values.sel(feature=name).isel(chosen).values
            error = errors.sel(feature=name).isel(chosen).values
            yield Row(f"{_NAMES[name]}, {part}", "share", Figure(None, words=told), _mean(value, error))


def _mean_over_heads(arrays: dict[str, xr.DataArray], name: str, feature: str) -> Figure | None:
    values = arrays[name].sel(feature=feature).transpose("layer", "head").values
    errors = arrays[f"{name}_stderr"].sel(feature=feature).transpose("layer", "head").values
    if not np.isfinite(values).any():
        return None
    layer, head = np.unravel_index(np.nanargmax(np.abs(values)), values.shape)
    return _mean(values, errors, detail=f"{layer}.{head}")


def _mean(values: Any, errors: Any, *, detail: str = "") -> Figure | None:
    """A mean with an interval that is wide enough for values that all err together; None for no values."""
    if not np.isfinite(values).any():
        return None
    return _figure(float(np.nanmean(values)), float(np.mean(errors)), detail=detail)


def _figure(
    value: float, error: float, *, detail: str = "", limits: tuple[float, float] = (-np.inf, np.inf)
) -> Figure:
    if np.isnan(error):
        return Figure(value, detail=detail)
    low, high = limits
    return Figure(value, max(low, value - NORMAL * error), min(high, value + NORMAL * error), detail)


def _layers(layers: Sequence[int]) -> str:
    return f"layer{'' if len(layers) == 1 else 's'} {', '.join(map(str, layers))}"


def holding(atlas: Atlas, name: str) -> Found | None:
    """The first stack of an atlas with an array of this name."""
    return next(((atlas, stack) for stack in atlas.stacks if name in atlas.stack(stack)), None)


def first_holding(atlases: Sequence[Atlas], name: str) -> Found | None:
    """The first atlas that has an array of this name, and the stack."""
    return next((one for atlas in atlases if (one := holding(atlas, name))), None)


def origin(found: Found, probe: str) -> Origin:
    """The model, and the texts that a probe read."""
    atlas, stack = found
    facts = atlas.provenance["probes"].get(probe, {})
    shape = atlas.shape(stack)
    model = _model(atlas) if shape is None else f"{_model(atlas)}, {size(*shape)}"
    return Origin(model, f"{facts.get('data')}, {_texts(facts.get('texts', 0))}")


def _texts(number: int) -> str:
    return f"{number:,} text{'' if number == 1 else 's'}"


def joined(found: Sequence[Found], probe: str) -> Origin:
    """Where the figures of one or two models come from."""
    origins = [origin(one, probe) for one in found]
    return Origin(
        "; and ".join(dict.fromkeys(one.model for one in origins)),
        "; and ".join(dict.fromkeys(one.data for one in origins)),
    )


def _model(atlas: Atlas) -> str:
    return str(atlas.provenance["model"])
