"""Guan et al. 2020 with our figures beside the published ones."""

import warnings
from collections.abc import Sequence
from functools import partial

from headscope.atlas import Atlas
from headscope.errors import HeadscopeWarning
from headscope.kinds import HeadKinds, head_types
from headscope.models import Model
from headscope.reproduce.guan import kinds
from headscope.reproduce.guan.effects import effects, masks, swept, with_effects
from headscope.reproduce.guan.kinds import EXAMPLES, FEATURES, SortedHeads
from headscope.reproduce.guan.kinds import GUAN as PUBLISHED
from headscope.reproduce.study import (
    AnyTasks,
    BatchSize,
    Material,
    ModelOrAtlas,
    Paper,
    Study,
    as_models,
    as_tasks,
)
from headscope.reproduce.table import Reproduction
from headscope.text.corpus import Corpus


def guan2020(
    model: ModelOrAtlas,
    *,
    against: ModelOrAtlas | Sequence[ModelOrAtlas] | None = None,
    text: Corpus | None = None,
    limit: int | None = None,
    k: int = 4,
    seed: int = 0,
    max_length: int | None = None,
    task: AnyTasks = None,
    examples: int | None = None,
    batch_size: BatchSize = "auto",
    progress: bool = False,
) -> Reproduction:
    """The kinds of heads of Guan et al. 2020 for a model: shares, stability, layers, and their worth to a task.

    `model` is analysed on `text` (the first `limit` segments of it), or is an atlas with `distance_features`, and then
    without a text; so is each model `against` it, such as fine-tuned ones, with kinds of its own. With a `task`
    (`examples` of it) the kinds of the model that it fits are pruned, made uniform and masked, for tables 2 and 3; of
    atlases their sweeps are read. Of several tasks it is questions, as in the paper. The atlases of the result have the
    kinds in them.
    """
    data = Material(text=text, tasks=as_tasks(task), limit=limit, examples=examples, seed=seed, k=k)
    return GUAN.reproduction(
        as_models(model, against), data, max_length=max_length, batch_size=batch_size, progress=progress
    )


def _fill(study: Study, data: Material) -> None:
    """Nothing without a text, by which heads are sorted into kinds."""
    if data.read is None:
        return

    def sort(model: Model, atlas: Atlas | None) -> Atlas:
        assert atlas is not None  # it was measured before
        return _sorted(atlas, data).to_atlas(atlas)

    for place in range(len(study.models)):
        study.measure(place, data, [FEATURES, EXAMPLES])
        study.add(place, "types", sort)
    for tested in sorted(study.tasks, key=lambda tested: tested.task.name != "qa")[:1]:
        step = partial(with_effects, tested.task.limited(data.examples), study.running)
        study.add(tested.place, f"effects:{tested.task.name}", step)


def _sorted(atlas: Atlas, data: Material) -> HeadKinds:
    # Its warnings are notes of the first section.
    with warnings.catch_warnings(action="ignore", category=HeadscopeWarning):
        return head_types(atlas, k=data.k, seed=data.seed)


def _compared(atlases: Sequence[Atlas], data: Material) -> Reproduction:
    kept = list(atlases)
    models: list[SortedHeads] = []
    for place, atlas in enumerate(atlases):
        if FEATURES in atlas:
            heads = _sorted(atlas, data)
            kept[place] = heads.to_atlas(atlas)
            models.append(SortedHeads(kept[place], heads, is_only=len(atlases) == 1))
    makers = {
        "examples": kinds.examples,
        "shares": kinds.shares,
        "stability": kinds.stability,
        "number": kinds.number,
        "map": kinds.neighbours,
        "features": kinds.features,
        "layers": kinds.layers,
    }
    told, tested = PUBLISHED.sections, swept(kept)
    sections = [make(told[key], models) if models else told[key].left_out() for key, make in makers.items()]
    sections += [effects(told["effects"], tested), masks(told["masks"], tested)]
    return PUBLISHED.beside(sections, kept)


GUAN = Paper("guan2020", ("text",), _fill, _compared, one_task=True)
