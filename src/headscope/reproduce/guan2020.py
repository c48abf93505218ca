"""Guan et al. 2020 with our figures beside the published ones."""

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Literal

from headscope.atlas import Atlas
from headscope.errors import HeadscopeWarning, OptionError
from headscope.kinds import HeadKinds, head_types
from headscope.kinds.stability import REPEATS, ROUNDS, Stability
from headscope.models import Model
from headscope.reproduce.gather import ModelOrAtlas, Study, listed, loaded, ready_atlases
from headscope.reproduce.guan import kinds as guan_kinds
from headscope.reproduce.guan.effects import effects, masks, swept, with_effects
from headscope.reproduce.guan.kinds import EXAMPLES, FEATURES, TITLES, SortedHeads
from headscope.reproduce.guan.published import CITATION, KINDS, MODEL, SHAPE, STABILITY
from headscope.reproduce.table import Figure, Origin, Reproduction, Row, Section, difference_note
from headscope.reproduce.tasks import AnyTasks, as_tasks, placed
from headscope.reproduce.verdicts import exceeds
from headscope.tasks import Task
from headscope.text.corpus import Corpus

KEPT = 0.9
"""Kinds are stable when more heads than this keep theirs; every published share is above it."""


def guan2020(
    model: ModelOrAtlas,
    *,
    against: ModelOrAtlas | Sequence[ModelOrAtlas] | None = None,
    text: Corpus | None = None,
    limit: int | None = None,
    k: int = KINDS,
    seed: int = 0,
    max_length: int | None = None,
    task: AnyTasks = None,
    examples: int | None = None,
    batch_size: int | Literal["auto"] = "auto",
    progress: bool = False,
) -> Reproduction:
    """The kinds of heads of Guan et al. 2020 for a model: shares, stability, layers, and their worth to a task.

    `model` is analysed on `text` (the first `limit` segments of it), or is an atlas with `distance_features`, and then
    without a text; so is each model `against` it, such as fine-tuned ones, with kinds of its own. With a `task`
    (`examples` of it) the kinds of the model that it fits are pruned, made uniform and masked, for tables 2 and 3; of
    atlases their sweeps are read. The atlases of the result have the kinds in them.
    """
    models = [model, *listed(against)]
    if ready := ready_atlases(models, {"text": text, "task": task}):
        return compared(ready, k=k, seed=seed)
    if text is None:
        raise OptionError(
            "there is nothing to measure heads on; give a text, or an atlas instead of the model"
        )
    study = Study([loaded(one) for one in models], max_length, batch_size, progress)
    fill(study, text=text, limit=limit, k=k, seed=seed, task=task, examples=examples)
    return compared(study.filled, k=k, seed=seed)


def fill(
    study: Study,
    *,
    text: Corpus | None = None,
    limit: int | None = None,
    k: int = KINDS,
    seed: int = 0,
    task: AnyTasks = None,
    examples: int | None = None,
) -> None:
    """Find out about the study's models what the paper says of its own, as far as there are data.

    Nothing without a text, by which heads are sorted into kinds. Of several tasks it is questions, as in the paper.
    """
    if text is None:
        return
    for place in range(len(study.models)):
        study.measure(place, text, [FEATURES, EXAMPLES], limit=limit)
        study.add(place, "types", lambda model, atlas: _with_kinds(atlas, k=k, seed=seed))
    tasks = as_tasks(task)
    if tasks:
        papers = next((one for one in tasks if one.name == "qa"), tasks[0])
        (tested,) = placed(papers, study.models)
        step = partial(_with_effects, study, tested.task, examples)
        study.add(tested.place, f"effects:{papers.name}", step)


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
    """Everything that the atlases of a model, and of those it is compared with, have figures for."""
    kept = list(atlases)
    models: list[SortedHeads] = []
    for place, atlas in enumerate(atlases):
        if FEATURES in atlas:
            kinds = _sorted(atlas, k=k, seed=seed)
            kept[place] = kinds.to_atlas(atlas)
            models.append(SortedHeads(kept[place], kinds, is_only=len(atlases) == 1))
    tested = swept(kept)
    tables = (effects(tested), masks(tested))
    if not models and all(table.needs for table in tables):
        raise OptionError(
            f"the atlas has no {FEATURES}, of which kinds are made; analyse again with all measures"
        )
    makers = {
        "examples": guan_kinds.examples,
        "shares": guan_kinds.shares,
        "stability": _stability,
        "number": guan_kinds.number,
        "map": guan_kinds.neighbours,
        "features": guan_kinds.features,
        "layers": guan_kinds.layers,
    }
    sections = [make(models) if models else guan_kinds.left_out(key) for key, make in makers.items()]
    first = kept[0]
    shape = first.shape(models[0].stack if models else first.stacks[0])
    return Reproduction(
        "guan2020",
        CITATION,
        (*sections, *tables),
        () if shape is None else (difference_note(SHAPE, shape, str(first.provenance["model"])),),
        first,
        tuple(kept[1:]),
    )


def _stability(models: Sequence[SortedHeads]) -> Section:
    """Both readings of what share of heads keep their kind, and the average over fits, for each model."""
    columns = [_column(heads.model, is_first=heads is models[0]) for heads in models]
    rows = [
        row for heads, column in zip(models, columns, strict=True) for row in _stability_rows(heads, column)
    ]
    alone = [
        Row(f"heads, {name}", "share", Figure(share), None)
        for name, share in STABILITY.items()
        if name not in columns
    ]
    return Section(
        "stability",
        TITLES["stability"],
        Origin(MODEL, "pre-trained, and fine-tuned on three tasks", "table 1"),
        guan_kinds.origin_of(models),
        (*rows, *alone),
        heading="half left out of",
        interval="over rounds",
        notes=(
            f"Ours is the share of heads that are of one kind in all of {REPEATS} fits on random halves: the mean of "
            f"{ROUNDS} rounds beside their 5th and 95th percentile. No published figure is a whole number of 384 "
            "heads (95.98 % are 368.6), so the paper's seems to be an average; the last rows have the share of fits in "
            "which a head is of its usual kind.",
            "A model stands beside the paper's of the task in its name, or beside the pre-trained one where it is the "
            "first; if yours is fine-tuned on another task, compare it with all.",
        ),
        covers=("table 1",),
    )


def _column(model: str, *, is_first: bool) -> str:
    """Which of the paper's models ours stands beside: that of the task in its name; else the first is pre-trained."""
    named = [name for name in STABILITY if name.lower() in model.lower()]
    return named[0] if named else "pre-trained" if is_first else ""


def _stability_rows(heads: SortedHeads, column: str) -> list[Row]:
    """A model's stability, beside that of the paper's model in this column of its table."""
    kinds = heads.kinds
    by_heads = None if kinds.by_heads is None else _rounds(kinds.by_heads)
    by_texts = None if kinds.by_texts is None else _rounds(kinds.by_texts)
    published = Figure(STABILITY[column]) if column else None
    verdict = exceeds(by_heads, KEPT, "more than nine of ten heads keep their kind")
    name = heads.row(f"heads, {column}" if column else "heads")
    return [
        Row(name, "share", published, by_heads, verdict=verdict),
        Row(heads.row("texts"), "share", None, by_texts),
        *(
            Row(heads.row(f"{half}, mean over fits"), "share", None, _average(one))
            for half, one in (("heads", kinds.by_heads), ("texts", kinds.by_texts))
            if one is not None
        ),
    ]


def _rounds(stability: Stability) -> Figure:
    return Figure(stability.share, stability.low, stability.high)


def _average(stability: Stability) -> Figure:
    return Figure(1 - float(stability.changed.mean()) / REPEATS)
