"""An atlas as the front end is given it: every number per head with a title, heads as points, findings, head pages."""

import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import xarray as xr

from headscope.atlas import Atlas, replacing
from headscope.atlas.files import COMPANIONS, MOVED
from headscope.errors import AtlasError, HeadscopeError
from headscope.facts import findings as facts
from headscope.facts.description import array_text
from headscope.facts.head_arrays import Choice
from headscope.facts.slices import HeadValues
from headscope.facts.titles import AtlasWords
from headscope.facts.vocabulary import own_name
from headscope.kinds.map import feature_map, head_map
from headscope.pages.commands import explore_command
from headscope.pages.head.explained import stacked_heads
from headscope.pages.head.page import grid_shape, head_page
from headscope.pages.page import about, page_html, view_chunk, view_infos, view_key
from headscope.pages.shapes.head import HeadPage
from headscope.pages.shapes.views import (
    AtlasData,
    AtlasInfo,
    AtlasStack,
    Colouring,
    Embedded,
    Finding,
    FindingPart,
    HeadMap,
)
from headscope.pages.views import views_of
from headscope.types import Array, HeadId, numbering

FEWEST_ON_A_MAP = 3

_LEFT_OUT = ("example_map", "example_map_moved", "neuron_auc", "composition", "written_effect")
_ENDINGS_LEFT_OUT = ("_low", "_high", "_p", "_count")
"""Ends of intervals and p values stand on the head's page, beside what they belong to."""

_CATEGORIES = {
    "head_type": "Type of head",
    "kind_before": "Type of head in {}",
    "kind_after": "Type of head now, by the types of {}",
}
_FIRST = ("head_type", "ablation_change", "entropy")
"""What a reader sees first: kinds of heads where known, else what the task loses, else entropy, else a number."""

MANY_PAGES, MOST_PAGES = 512, 2048
"""In a file, the pages of a stack of more heads leave out the map of one text; of still more, only heads that findings
name have a page. `headscope explore` has all."""

_MDS = "Multidimensional scaling: distances on the page follow the distances between heads."
_TSNE = "t-SNE: near neighbours stay near; distances between groups mean nothing."


def embedded_atlas(
    atlas: Atlas, *, start: str = "view=atlas", with_findings: bool = True, command: str | None = None
) -> Embedded:
    """Every number per head, the page of every head, and findings where the page around has none of its own."""
    findings = shown_findings(atlas)
    data = atlas_data(atlas, findings=findings if with_findings else (), command=command)
    pages: dict[str, HeadPage] = {}
    for stack in data.stacks:
        named = {head for finding in findings if finding.stack == stack.name for head in finding.heads}
        for layer, head in product(range(stack.layers), range(stack.heads)):
            count = stack.layers * stack.heads
            if count > MOST_PAGES and f"{layer}.{head}" not in named:
                continue
            page = head_page(atlas, stack.name, layer, head, with_map=count <= MANY_PAGES)
            pages[f"{stack.name}/{layer}/{head}"] = page
    known = about().model_copy(update={"atlases": [AtlasInfo(id=data.id, name=data.name, model=data.model)]})
    return Embedded(about=known, atlas=data, head_pages=pages, start=start)


def packed_atlas(atlas: Atlas, *, folder: Path | None = None) -> tuple[Embedded, dict[str, bytes]]:
    """An atlas ready to be shown by itself: the data, and the chunks of views of other packages.

    `folder` is where the page will lie, from which its commands name files.
    """
    embedded = embedded_atlas(atlas, command=explore_command(atlas, folder=folder))
    chunks = {view_key(view.name): view_chunk(view.name, "atlas", atlas) for view in views_of("atlas")}
    for view in views_of("head"):
        for place in embedded.head_pages:
            stack, layer, head = place.split("/")
            subject = (atlas, stack, HeadId(int(layer), int(head)))
            chunks[view_key(view.name, place)] = view_chunk(view.name, "head", *subject)
    known = embedded.about.model_copy(update={"views": view_infos("atlas", "head")})
    return embedded.model_copy(update={"about": known}), chunks


def write_atlas_view(path: str | os.PathLike[str], atlas: Atlas) -> None:
    """Write the atlas and map views of an atlas as one self-contained HTML file."""
    packed = packed_atlas(atlas, folder=Path(path).parent)
    content = page_html(*packed, title=f"Atlas of {atlas.provenance.get('model', '')}")
    with replacing(path) as temporary:
        temporary.write_text(content, encoding="utf-8", newline="\n")


def atlas_data(
    atlas: Atlas,
    *,
    id: str = "atlas",
    name: str | None = None,
    model: str | None = None,
    findings: Sequence[Finding] = (),
    with_maps: bool = True,
    command: str | None = None,
) -> AtlasData:
    """All that the atlas and map views need; `findings` are shown beside, see `shown_findings`.

    `model` is what the page calls the model, by default the name in the atlas without folders. `command` opens the
    atlas with its model; see `explore_command`, which makes it where none is given.

    Maps take longer than all the rest; who shows no map can do without them. A stack in which nothing is known head by
    head is left out.
    """
    model = own_name(str(atlas.provenance.get("model", ""))) if model is None else model
    words = AtlasWords(atlas)
    return AtlasData(
        id=id,
        name=name or model,
        model=model,
        architecture=str(atlas.provenance.get("architecture", "")),
        about=_about(atlas),
        stacks=[
            _stack(atlas, stack, shape, words, findings, with_maps=with_maps)
            for stack in atlas.stacks
            if (shape := grid_shape(atlas, stack))
        ],
        findings=list(findings),
        command=command or explore_command(atlas),
    )


def _stack(
    atlas: Atlas,
    name: str,
    shape: tuple[int, int],
    words: AtlasWords,
    findings: Sequence[Finding],
    *,
    with_maps: bool,
) -> AtlasStack:
    every = list(colourings(atlas, name, words))
    first = _first(every)
    numbers = [colouring for colouring in every if colouring.kind == "number"]
    across = next((one for one in numbers if one.key.startswith("entropy")), next(iter(numbers), None))
    up = next((one for one in numbers if across and one.group != across.group), next(iter(numbers[1:]), None))
    return AtlasStack(
        name=name,
        layers=shape[0],
        heads=shape[1],
        module_layers=list(atlas.module_layers(name)),
        colourings=every,
        first_colouring=None if first is None else first.key,
        first_measures=(across.key, up.key) if across and up else None,
        first_head=_first_head(findings, name, shape, first),
        maps=list(_maps(atlas, name, shape)) if with_maps else [],
        stacked=stacked_heads(atlas, name),
    )


def _first(colourings: Sequence[Colouring]) -> Colouring | None:
    """What a reader sees first."""
    known = [colouring for start in _FIRST for colouring in colourings if colouring.key.startswith(start)]
    numbers = [colouring for colouring in colourings if colouring.kind == "number"]
    return next(iter([*known, *numbers, *colourings]), None)


def _first_head(
    findings: Sequence[Finding], stack: str, shape: tuple[int, int], colouring: Colouring | None
) -> int | None:
    """The head that the first finding names, else one of the rarest kind or of the largest number."""
    for finding in findings:
        named = (part.head for part in finding.parts if finding.stack == stack and part.head is not None)
        for head in map(HeadId.parse, named):
            if head.layer < shape[0] and head.head < shape[1]:
                return head.layer * shape[1] + head.head
    if colouring is None:
        return 0 if shape[0] * shape[1] else None
    counts = Counter(colouring.values)
    ranks = [
        -math.inf if value is None else float(-counts[value]) if colouring.kind == "category" else abs(value)
        for value in colouring.values
    ]
    return max(range(len(ranks)), key=ranks.__getitem__, default=None)


def _about(atlas: Atlas) -> str:
    provenance = atlas.provenance
    counts = [f"{int(provenance[what]):,} {what}" for what in ("texts", "tokens") if what in provenance]
    read = " from ".join(filter(None, (", ".join(counts), str(provenance.get("corpus") or ""))))
    edits = provenance.get("edits")
    edited = f"; the model was edited ({'; '.join(edits)})" if edits else ""
    numbered = [said for stack in atlas.stacks if (said := numbering(stack, atlas.module_layers(stack)))]
    return ". ".join(filter(None, (read + edited, " ".join(numbered))))


def shown_findings(atlas: Atlas) -> list[Finding]:
    """The findings of all stacks; none when the atlas holds what this headscope does not understand."""
    try:
        return [_shown(finding) for finding in facts.findings(atlas)]
    except (HeadscopeError, KeyError, TypeError, ValueError):  # an atlas may come from elsewhere
        return []


def _shown(finding: facts.Finding) -> Finding:
    low, high = finding.interval or (None, None)
    control = finding.control
    return Finding(
        topic=finding.topic,
        stack=finding.stack,
        parts=[
            FindingPart(text=str(part), head=str(part) if isinstance(part, HeadId) else None)
            for part in finding.parts
        ],
        heads=[str(head) for head in finding.heads],
        value=finding.value,
        low=low,
        high=high,
        control=None if control is None else control.value,
        control_name="" if control is None else control.name,
        verdict=finding.verdict,
        units=finding.units,
    )


def colourings(atlas: Atlas, stack: str, words: AtlasWords) -> list[Colouring]:
    """Every number and kind known of the heads of a stack; what heads move is linked with where they look."""
    every = {colouring.key: colouring for colouring in _colourings(atlas, stack, words)}
    for key, colouring in list(every.items()):
        name, colon, labels = key.partition(":")
        moved = f"{name}{MOVED}{colon}{labels}"
        if moved in every:
            every[key] = colouring.model_copy(update={"other": moved})
            every[moved] = every[moved].model_copy(update={"other": key, "weigh": "moved"})
    return list(every.values())


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
    labels, places = np.unique(array.transpose("layer", "head").values.astype(str), return_inverse=True)
    title = _CATEGORIES.get(name, name.replace("_", " ").capitalize()).format(words.other_model)
    return _category(words, name, array, places, labels=labels.tolist(), title=title)


def _main_pattern(array: xr.DataArray, words: AtlasWords) -> Colouring:
    """The pattern that most of a head's maps show."""
    shares = array.transpose("layer", "head", "pattern").values
    best = np.where(np.isfinite(shares).all(-1), np.nan_to_num(shares).argmax(-1), np.nan)
    labels = [str(label) for label in array["pattern"].values]
    title = "Most frequent pattern"
    return _category(words, "pattern_share", array, best, labels=labels, title=title, key="pattern")


def _category(
    words: AtlasWords,
    name: str,
    array: xr.DataArray,
    places: Array,
    *,
    labels: list[str],
    title: str,
    key: str | None = None,
) -> Colouring:
    """A name for every head, told by its place among the labels."""
    return Colouring(
        key=key or name,
        group=words.group(name),
        title=title,
        unit="",
        kind="category",
        diverging=False,
        values=places.ravel().tolist(),
        labels=labels,
        about=words.about(name, str(array.attrs.get("long_name", ""))),
    )


def _numbers(
    stack: str, name: str, array: xr.DataArray, error: xr.DataArray | None, words: AtlasWords
) -> Iterator[Colouring]:
    """One colouring for each combination of labels under which there is a number."""
    dims = [str(dim) for dim in array.dims if dim not in ("layer", "head")]
    labels = [array[dim].values.tolist() for dim in dims]
    values, errors = (
        None if part is None else np.asarray(part.transpose(*dims, "layer", "head").values, dtype=float)
        for part in (array, error)
    )
    assert values is not None
    text = array_text(words.atlas, name)
    is_causal = stack == "decoder" and not words.is_probed(name)  # no head can look ahead: an empty grid
    for place in np.ndindex(values.shape[:-2]):
        if not np.isfinite(values[place]).any() or (is_causal and not np.nan_to_num(values[place]).any()):
            continue
        select = {dim: known[at] for dim, known, at in zip(dims, labels, place, strict=True)}
        chosen: dict[str, tuple[Choice, ...]] = {dim: (label,) for dim, label in select.items()}
        stderr = None if errors is None or not np.isfinite(errors[place]).any() else errors[place]
        units = str(array.attrs.get("units", "1"))
        picked = HeadValues(values[place], stderr, name, chosen, stack, units, text=text)
        key = ":".join(filter(None, (name, ",".join(f"{dim}={label}" for dim, label in select.items()))))
        title = words.title(picked)
        if name == "ablation_significant":
            verdicts = ["not significant", "significant"]
            yield _category(words, name, array, picked.values, labels=verdicts, title=title, key=key)
            continue
        yield Colouring(
            key=key,
            group=words.group(name),
            title=title,
            unit=words.unit(picked),
            kind="number",
            diverging=picked.is_signed or name.endswith("_change"),
            values=picked.values.ravel().tolist(),
            stderr=None if stderr is None else stderr.ravel().tolist(),
            about=words.about(name, str(array.attrs.get("long_name", ""))),
            rank=_rank(name, list(map(str, select.values()))),
        )


def _rank(name: str, labels: list[str]) -> str:
    """How `select_heads` names one number a head: a label that stands for all need not be said before the last."""
    said = [label for label in labels if label != "all"]
    if said and said != labels[-1:]:
        said = labels
    return "/".join((name, *said))


def _maps(atlas: Atlas, stack: str, shape: tuple[int, int]) -> Iterator[HeadMap]:
    """Places of all heads, by multidimensional scaling and by t-SNE; what cannot be drawn is left out."""
    labels = [str(HeadId(layer, head)) for layer in range(shape[0]) for head in range(shape[1])]
    for key, title, said, needs, draw in (
        ("mds", "MDS", _MDS, "head_distance", head_map),
        ("tsne", "t-SNE", _TSNE, "distance_features", feature_map),
    ):
        if needs not in atlas.stack(stack) or len(labels) < FEWEST_ON_A_MAP:
            continue
        try:
            places = draw(atlas, stack=stack)
        except AtlasError:  # numbers that are missing, or too few heads: no map, and the rest as it is
            continue
        if sorted(map(str, places["label"].values)) == sorted(labels):
            places = places.sel(label=labels)
            points = list(zip(places["x"].values.tolist(), places["y"].values.tolist(), strict=True))
            yield HeadMap(key=key, title=title, about=said, points=points)
