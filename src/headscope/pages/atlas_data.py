"""An atlas as the atlas and map views show it: every number per head with a title, and heads as points."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import xarray as xr

from headscope.atlas import Atlas
from headscope.atlas.atlas import COMPANIONS
from headscope.errors import AtlasError
from headscope.facts.slices import Choice, HeadValues
from headscope.facts.vocabulary import own_name
from headscope.kinds import feature_map, head_map
from headscope.pages.atlas_words import AtlasWords
from headscope.pages.head_explanation import colouring_title, colouring_unit
from headscope.pages.numbers import plain, plain_list
from headscope.pages.shapes import AtlasData, AtlasStack, Colouring, Finding
from headscope.types import HeadId

FEWEST_ON_A_MAP = 3

_LEFT_OUT = ("example_map", "neuron_auc")
_ENDINGS_LEFT_OUT = ("_low", "_high", "_p", "_count")
"""Ends of intervals and p values stand on the head's page, beside what they belong to."""

_CATEGORIES = {
    "head_type": "Kind of head",
    "kind_before": "Kind of head in {}",
    "kind_after": "Kind of head now, by the kinds of {}",
}
_SIGNIFICANT = ["not significant", "significant"]

Array = np.ndarray[Any, Any]


def atlas_data(
    atlas: Atlas, *, id: str = "atlas", name: str | None = None, findings: Sequence[Finding] = ()
) -> AtlasData:
    """All that the atlas and map views need; `findings` are shown beside, see `shown_findings`.

    A stack in which nothing is known head by head is left out.
    """
    facts = atlas.provenance
    model = own_name(str(facts.get("model", "")))
    found = [_stack(atlas, stack, shape) for stack in atlas.stacks if (shape := grid_shape(atlas, stack))]
    return AtlasData(
        id=id,
        name=name or model,
        model=model,
        architecture=str(facts.get("architecture", "")),
        about=_about(facts),
        stacks=found,
        findings=list(findings),
    )


def grid_shape(atlas: Atlas, stack: str) -> tuple[int, int] | None:
    """How many layers and heads a stack has; None when the atlas does not say."""
    shape = atlas.shape(stack)
    if shape is not None:
        return shape
    distance = atlas.stack(stack).get("head_distance")
    if distance is None or not distance.size:
        return None
    heads = [HeadId.parse(str(label)) for label in distance["head_a"].values]
    return max(head.layer for head in heads) + 1, max(head.head for head in heads) + 1


def _stack(atlas: Atlas, stack: str, shape: tuple[int, int]) -> AtlasStack:
    return AtlasStack(
        name=stack,
        layers=shape[0],
        heads=shape[1],
        colourings=list(_colourings(atlas, stack, AtlasWords(atlas))),
        maps=_maps(atlas, stack, shape),
    )


def _about(facts: dict[str, Any]) -> str:
    parts = []
    if "texts" in facts:
        parts.append(f"{int(facts['texts']):,} texts")
    if "tokens" in facts:
        parts.append(f"{int(facts['tokens']):,} tokens")
    told = ", ".join(parts)
    corpus = str(facts.get("corpus") or "")
    edited = f"; the model was edited ({'; '.join(facts['edits'])})" if facts.get("edits") else ""
    return (f"{told} from {corpus}" if told and corpus else told or corpus) + edited


# Colourings


def _colourings(atlas: Atlas, stack: str, words: AtlasWords) -> Iterator[Colouring]:
    arrays = atlas.stack(stack)
    companions = {name + ending for name in arrays for ending in COMPANIONS}
    if "pattern_share" in arrays and "pattern" in arrays["pattern_share"].dims:
        yield _main_pattern(arrays["pattern_share"], words)
    for name, array in arrays.items():
        if name in companions or name in _LEFT_OUT or name.endswith(_ENDINGS_LEFT_OUT):
            continue
        if not {"layer", "head"} <= set(array.dims):
            continue
        if not np.issubdtype(array.dtype, np.number):
            if set(array.dims) == {"layer", "head"}:
                yield _kinds(name, array, words)
        elif not name.endswith("_before"):  # the other model's own numbers, which double the page for little
            yield from _numbers(stack, name, array, arrays.get(f"{name}_stderr"), words)


def _kinds(name: str, array: xr.DataArray, words: AtlasWords) -> Colouring:
    """A name for every head."""
    values = [str(value) for value in array.transpose("layer", "head").values.ravel()]
    labels = sorted(set(values))
    title = _CATEGORIES.get(name, name.replace("_", " ").capitalize()).format(words.other_model)
    return Colouring(
        key=name,
        group=words.group(name),
        title=title,
        unit="",
        kind="category",
        diverging=False,
        values=[float(labels.index(value)) for value in values],
        labels=labels,
        about=words.about(name, array),
    )


def _main_pattern(array: xr.DataArray, words: AtlasWords) -> Colouring:
    """The pattern that most of a head's maps show."""
    shares = array.transpose("layer", "head", "pattern").values
    shares = shares.reshape(-1, shares.shape[-1])  # (head, pattern)
    known = np.isfinite(shares).all(-1)
    best = np.where(known, np.nan_to_num(shares).argmax(-1), np.nan)
    return Colouring(
        key="pattern",
        group=words.group("pattern_share"),
        title="Most frequent pattern",
        unit="",
        kind="category",
        diverging=False,
        values=plain_list(best),
        labels=[str(label) for label in array["pattern"].values],
        about=words.about("pattern_share", array),
    )


def _numbers(
    stack: str, name: str, array: xr.DataArray, error: xr.DataArray | None, words: AtlasWords
) -> Iterator[Colouring]:
    """One colouring for each combination of labels under which there is a number."""
    dims = [str(dim) for dim in array.dims if dim not in ("layer", "head")]
    known = [array[dim].values.tolist() for dim in dims]
    values = _by_label(array, dims)  # (*dims, layer, head)
    errors = None if error is None else _by_label(error, dims)
    units = str(array.attrs.get("units", "1"))
    for place in np.ndindex(values.shape[:-2]):
        if not np.isfinite(values[place]).any():
            continue
        select = {dim: labels[at] for dim, labels, at in zip(dims, known, place, strict=True)}
        stderr = None if errors is None else errors[place]
        chosen: dict[str, tuple[Choice, ...]] = {dim: (label,) for dim, label in select.items()}
        picked = HeadValues(values[place], stderr, name, chosen, stack, units)
        where = ",".join(f"{dim}={label}" for dim, label in select.items())
        is_verdict = name == "ablation_significant"
        why = colouring_title(picked)
        yield Colouring(
            key=f"{name}:{where}" if where else name,
            group=words.group(name),
            title=why or words.title(picked),
            unit="" if is_verdict else colouring_unit(picked) if why else words.unit(picked),
            kind="category" if is_verdict else "number",
            diverging=not is_verdict and (picked.is_signed or name.endswith("_change")),
            values=plain_list(picked.values.ravel()),
            labels=_SIGNIFICANT if is_verdict else None,
            stderr=_errors(stderr),
            about=words.about(name, array),
        )


def _by_label(array: xr.DataArray, dims: list[str]) -> Array:
    """(*dims, layer, head)."""
    return np.asarray(array.transpose(*dims, "layer", "head").values, dtype=float)


def _errors(stderr: Array | None) -> list[float | None] | None:
    if stderr is None or not np.isfinite(stderr).any():
        return None
    return [plain(float(value), digits=3) for value in stderr.ravel()]


# Maps


def _maps(atlas: Atlas, stack: str, shape: tuple[int, int]) -> dict[str, list[tuple[float, float]]]:
    """Places of all heads, by multidimensional scaling and by t-SNE; what cannot be drawn is left out."""
    arrays = atlas.stack(stack)
    labels = [str(HeadId(layer, head)) for layer in range(shape[0]) for head in range(shape[1])]
    found = {}
    for name, needs, draw in (
        ("mds", "head_distance", head_map),
        ("tsne", "distance_features", feature_map),
    ):
        if needs not in arrays or len(labels) < FEWEST_ON_A_MAP:
            continue
        try:
            places = draw(atlas, stack=stack)
        except AtlasError:  # numbers that are missing, or too few heads: no map, and the rest as it is
            continue
        if sorted(map(str, places["label"].values)) == sorted(labels):
            places = places.sel(label=labels)
            found[name] = [
                (plain(float(x)) or 0.0, plain(float(y)) or 0.0)
                for x, y in zip(places["x"].values, places["y"].values, strict=True)
            ]
    return found
