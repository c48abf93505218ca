"""Guan et al. 2020 with our figures beside the published ones."""

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Literal

from headscope.atlas import Atlas
from headscope.errors import HeadscopeWarning, OptionError
from headscope.heads import HeadKinds, head_types
from headscope.heads.kind_names import PUBLISHED
from headscope.heads.kinds import PUBLISHED_SHARES
from headscope.heads.stability import REPEATS, ROUNDS, Stability
from headscope.models import Model
from headscope.reproduce.clark_surface import measured_by
from headscope.reproduce.gather import ModelOrAtlas, Study, loaded, ready_atlases
from headscope.reproduce.guan_effects import effects, masks, sweeps_of, with_effects
from headscope.reproduce.table import Figure, Grid, Origin, Reproduction, Row, Section, difference_note
from headscope.tasks import Task
from headscope.text.corpus import Corpus

CITATION = (
    "Guan, Leng, Li, Chen and Guo 2020: How Far Does BERT Look At: Distance-based Clustering and Analysis of BERT's "
    "Attention. COLING"
)
MODEL = "BERT-large, 24 layers x 16 heads"
SHAPE = (24, 16)
KINDS = 4
STABILITY = {
    "pre-trained": 0.9598,
    "SQuAD": 0.9626,
    "MRPC": 0.9598,
    "MNLI": 0.9437,
}
MEASURE = "distance_features"
TITLES = {
    "shares": "Shares of the kinds of heads",
    "stability": "Stability of the kinds",
    "number": "Number of kinds",
    "layers": "Kinds by layer",
}


def guan2020(
    model: ModelOrAtlas,
    *,
    text: Corpus | None = None,
    limit: int | None = None,
    k: int = KINDS,
    seed: int = 0,
    max_length: int | None = None,
    task: Task | None = None,
    examples: int | None = None,
    batch_size: int | Literal["auto"] = "auto",
    progress: bool = False,
) -> Reproduction:
    """The kinds of heads of Guan et al. 2020 for a model: shares, stability, layers, and their worth to a task.

    `model` is analysed on `text` (the first `limit` segments of it), or is an atlas with `distance_features`, and then
    without a text. With a `task` (`examples` of it) its kinds are pruned and made uniform, for tables 2 and 3; of an
    atlas its sweep over types is read. The atlas of the result has the kinds in it.
    """
    if ready := ready_atlases([model], {"text": text, "task": task}):
        return compared(ready, k=k, seed=seed)
    if text is None:
        raise OptionError(
            "there is nothing to measure heads on; give a text, or an atlas instead of the model"
        )
    study = Study([loaded(model)], max_length, batch_size, progress)
    fill(study, text=text, limit=limit, k=k, seed=seed, task=task, examples=examples)
    return compared(study.filled, k=k, seed=seed)


def fill(
    study: Study,
    *,
    text: Corpus,
    limit: int | None = None,
    k: int = KINDS,
    seed: int = 0,
    task: Task | None = None,
    examples: int | None = None,
) -> None:
    """Find out about the study's first model what the paper says of its own, as far as there are data."""
    study.measure(0, text, [MEASURE], limit=limit)
    study.add(0, "types", lambda model, atlas: _with_kinds(atlas, k=k, seed=seed))
    if task is not None:
        study.add(0, "effects", partial(_with_effects, study, task, examples))


def _with_kinds(atlas: Atlas | None, *, k: int, seed: int) -> Atlas:
    assert atlas is not None  # it was measured before
    return _sorted(atlas, k=k, seed=seed).to_atlas(atlas)


def _with_effects(study: Study, task: Task, examples: int | None, model: Model, atlas: Atlas | None) -> Atlas:
    assert atlas is not None
    return with_effects(
        model, atlas, task, limit=examples, batch_size=study.batch_size, progress=study.progress
    )


def _sorted(atlas: Atlas, *, k: int, seed: int) -> HeadKinds:
    # Its warnings are notes of the first section.
    with warnings.catch_warnings(action="ignore", category=HeadscopeWarning):
        return head_types(atlas, k=k, seed=seed)


def compared(atlases: Sequence[Atlas], *, k: int = KINDS, seed: int = 0) -> Reproduction:
    """Everything that the atlas of a model, the first of these, has figures for."""
    atlas = atlases[0]
    kinds = None
    if MEASURE in atlas:
        kinds = _sorted(atlas, k=k, seed=seed)
        atlas = kinds.to_atlas(atlas)
    elif not sweeps_of(atlas):
        raise OptionError(
            f"the atlas has no {MEASURE}, of which kinds are made; analyse again with all measures"
        )
    if kinds is None:
        stack = atlas.stacks[0]
        sections = [_left_out(key, title) for key, title in TITLES.items()]
        shape = atlas.shape(stack)
    else:
        ours = measured_by(atlas, kinds.features.stack)
        sections = [make(kinds, ours) for make in (_shares, _stability, _number, _layers)]
        shape = kinds.features.layers, kinds.features.heads
    return Reproduction(
        "guan2020",
        CITATION,
        (*sections, effects(atlas, MODEL), masks(atlas, MODEL)),
        () if shape is None else (difference_note(SHAPE, shape, str(atlas.provenance["model"])),),
        atlas,
    )


def _left_out(key: str, title: str) -> Section:
    return Section(key, title, Origin(MODEL, ""), needs=f"this needs --text FILE, or an atlas with {MEASURE}")


def _shares(kinds: HeadKinds, ours: Origin) -> Section:
    """The shares of the four published kinds, and of kinds that fit none of their names."""
    heads = {row["type"]: row["heads"] for row in kinds.table()}
    named = [
        Row(
            name,
            "share",
            Figure(PUBLISHED_SHARES[name]),
            Figure(kinds.shares[name], detail=_heads(heads[name])) if name in heads else None,
        )
        for name in PUBLISHED
    ]
    others = [
        Row(name, "share", None, Figure(share, detail=_heads(heads[name])))
        for name, share in kinds.shares.items()
        if name not in PUBLISHED
    ]
    notes = [
        "The published shares add up to 98.99 %, and 25.56 % is no whole number of 384 heads; 26.56 % (102 heads) "
        "would be, and would make 100 %.",
        *map(_sentence, kinds.notes),
    ]
    return Section(
        "shares",
        f"{TITLES['shares']}, k = {kinds.clusters.k}",
        Origin(MODEL, "fine-tuned on SQuAD, k = 4"),
        ours,
        (*named, *others),
        heading="kind",
        notes=tuple(notes),
    )


def _stability(kinds: HeadKinds, ours: Origin) -> Section:
    """Both readings of what share of heads keep their kind, and the average over fits."""
    first, *others = STABILITY
    by_heads = None if kinds.by_heads is None else _rounds(kinds.by_heads)
    by_texts = None if kinds.by_texts is None else _rounds(kinds.by_texts)
    rows = [
        Row(f"heads, {first}", "share", Figure(STABILITY[first]), by_heads),
        *(Row(f"heads, {name}", "share", Figure(STABILITY[name]), None) for name in others),
        Row("texts", "share", None, by_texts),
        *(
            Row(f"{name}, mean over fits", "share", None, _average(one))
            for name, one in (("heads", kinds.by_heads), ("texts", kinds.by_texts))
            if one is not None
        ),
    ]
    return Section(
        "stability",
        TITLES["stability"],
        Origin(MODEL, "pre-trained, and fine-tuned on three tasks"),
        ours,
        tuple(rows),
        heading="half left out of",
        interval="over rounds",
        notes=(
            f"Ours is the share of heads that are of one kind in all of {REPEATS} fits on random halves: the median of "
            f"{ROUNDS} rounds beside the least and the most. No published figure is a whole number of 384 heads (95.98 "
            "% are 368.6), so the paper's seems to be an average; the last rows have the share of fits in which a head "
            "is of its usual kind.",
            "Ours stands in the row of the pre-trained model; if your model is fine-tuned, compare it with the others.",
        ),
    )


def _number(kinds: HeadKinds, ours: Origin) -> Section:
    """Whether four is the right number of kinds for this model."""
    rows = [
        Row(
            "number of kinds",
            "kinds",
            Figure(KINDS, detail="chosen"),
            Figure(kinds.recommended_k, detail="advised"),
        ),
        *(
            Row(f"silhouette of {k}", "silhouette", None, Figure(value))
            for k, value in kinds.silhouettes.items()
        ),
    ]
    return Section(
        "number",
        TITLES["number"],
        Origin(MODEL, "k = 4"),
        ours,
        tuple(rows),
        notes=(
            "Advised is, of the numbers with about the highest silhouette, the largest whose kinds are stable, or else "
            "the most stable.",
        ),
    )


def _layers(kinds: HeadKinds, ours: Origin) -> Section:
    """How many heads of each kind every layer has."""
    by_layer = kinds.by_layer
    return Section(
        "layers",
        TITLES["layers"],
        Origin(MODEL, "shown as a figure, without numbers"),
        ours,
        grid=Grid(
            "heads by layer",
            tuple(str(layer) for layer in range(len(by_layer))),
            {name: by_layer[:, number].tolist() for number, name in enumerate(kinds.names)},
        ),
    )


def _rounds(stability: Stability) -> Figure:
    return Figure(stability.share, stability.worst, float(stability.rounds.max()))


def _average(stability: Stability) -> Figure:
    return Figure(1 - float(stability.changed.mean()) / REPEATS)


def _heads(number: int) -> str:
    return f"{number} head{'' if number == 1 else 's'}"


def _sentence(note: str) -> str:
    return f"{note}." if note.startswith("k = ") else f"{note[:1].upper()}{note[1:]}."
