"""Kovaleva et al. 2019 with our figures beside the published ones."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

from headscope.atlas import Atlas
from headscope.comparison import compare
from headscope.errors import OptionError
from headscope.models import Model
from headscope.probes import FeaturesProbe, RelationsProbe
from headscope.probes.patterns import find_patterns
from headscope.reproduce.gather import MAX_LENGTH, ModelOrAtlas, Study, listed, loaded, ready_atlases
from headscope.reproduce.kovaleva import disabled
from headscope.reproduce.kovaleva import features as kinds_of_words
from headscope.reproduce.kovaleva import patterns as five_patterns
from headscope.reproduce.kovaleva import published as paper
from headscope.reproduce.kovaleva.change import change
from headscope.reproduce.kovaleva.heads import roles as role_heads
from headscope.reproduce.table import Reproduction, difference_note
from headscope.reproduce.tasks import AnyTasks, PlacedTask, as_tasks, placed
from headscope.text.annotated.roles import RoleCorpus
from headscope.text.annotated.treebank import Treebank
from headscope.text.corpus import Corpus


def kovaleva2019(
    model: ModelOrAtlas,
    *,
    against: ModelOrAtlas | Sequence[ModelOrAtlas] | None = None,
    text: Corpus | None = None,
    treebank: Treebank | None = None,
    roles: RoleCorpus | None = None,
    task: AnyTasks = None,
    limit: int | None = None,
    examples: int | None = None,
    max_length: int | None = None,
    batch_size: int | Literal["auto"] = "auto",
    seed: int = 0,
    progress: bool = False,
) -> Reproduction:
    """The sections of Kovaleva et al. 2019 for a model and fine-tuned ones `against` it, as far as there are data.

    `text` (texts or pairs, the first `limit` of them) gives the patterns, and with `against` what fine-tuning changed;
    `treebank` attention to kinds of words, `roles` heads for semantic roles. Each `task` (`examples` of it) belongs to
    the first model that can do it and has none yet, fine-tuned ones first: its heads and layers are disabled, and its
    patterns and its change by fine-tuning are found on the task's own inputs. With atlases as `model` and `against`
    everything is read from them, and no data can be given.
    """
    data: dict[str, Any] = {"text": text, "treebank": treebank, "roles": roles, "task": as_tasks(task)}
    models = [model, *listed(against)]
    if ready := ready_atlases(models, data):
        return compared(ready)
    if not any(value is not None and value != [] for value in data.values()):
        raise OptionError("there is nothing to compare; give at least one of text, treebank, roles, task")
    study = Study([loaded(one) for one in models], max_length, batch_size, progress)
    tasks = placed(task, study.models)
    fill(
        study,
        text=text,
        treebank=treebank,
        roles=roles,
        tasks=tasks,
        limit=limit,
        examples=examples,
        seed=seed,
    )
    return compared(study.filled)


def fill(
    study: Study,
    *,
    text: Corpus | None = None,
    treebank: Treebank | None = None,
    roles: RoleCorpus | None = None,
    tasks: Sequence[PlacedTask] = (),
    limit: int | None = None,
    examples: int | None = None,
    seed: int = 0,
) -> None:
    """Find out about the study's models what the paper says of its own, as far as there are data."""
    places = range(len(study.models))
    if text is not None:
        for place in places:
            study.add(place, "patterns", partial(_patterns, study, text, limit))
    for each in tasks:
        step = f"patterns:{each.task.name}:{each.task.data}"
        inputs = each.task.limited(examples).corpus()
        for place in sorted({0, each.place}):
            study.add(place, step, partial(_patterns, study, inputs, examples))
    shown = text if text is not None else next((each.task.corpus() for each in tasks), None)
    if shown is not None:
        length = study.max_length or MAX_LENGTH
        study.add(0, "pattern_maps", partial(five_patterns.with_maps, shown, length))
    _compare(study, text, tasks, limit=limit, examples=examples, seed=seed)
    if treebank is not None:
        for place in places:
            study.add(place, "features", partial(_features, study, treebank, place))
    if roles is not None:
        study.add(0, "relations", partial(_relations, study, roles))
    for each in tasks:
        disabled.disable(study, each, examples)


def compared(atlases: Sequence[Atlas]) -> Reproduction:
    """Everything that the atlases have figures for: of the pre-trained model, and of fine-tuned ones after it."""
    found = list(atlases)
    first, *others = found
    sections = [
        five_patterns.maps(found),
        five_patterns.patterns(found),
        five_patterns.classifier(),
        role_heads(found),
        change(found),
        kinds_of_words.features(found),
        kinds_of_words.cls_query(found),
        disabled.heads(found),
        disabled.layers(found),
    ]
    if not any(section.ours for section in sections if section.key != "classifier"):
        raise OptionError(
            "the atlas has nothing that Kovaleva et al. 2019 measured; make one with: headscope patterns, compare, "
            "probe relations, probe features, ablate"
        )
    shape = next((shape for atlas in found for stack in atlas.stacks if (shape := atlas.shape(stack))), None)
    notes = () if shape is None else (difference_note(paper.SHAPE, shape, str(first.provenance["model"])),)
    return Reproduction(
        "kovaleva2019", paper.CITATION, sections, notes, first, tuple(others), dict(paper.NOT_COVERED)
    )


def _reading(study: Study, limit: int | None) -> dict[str, Any]:
    """How texts are read."""
    return {**study.options, "limit": limit, "max_length": study.max_length or MAX_LENGTH}


def _patterns(study: Study, text: Corpus, limit: int | None, model: Model, atlas: Atlas | None) -> Atlas:
    return five_patterns.with_patterns(atlas, find_patterns(model, text, **_reading(study, limit)))


def _compare(
    study: Study,
    text: Corpus | None,
    tasks: Sequence[PlacedTask],
    *,
    limit: int | None,
    examples: int | None,
    seed: int,
) -> None:
    """Compare every fine-tuned model with the pre-trained one, on its task's own inputs where it has a task."""
    own = {each.place: each.task.limited(examples).corpus() for each in tasks}
    for place in range(1, len(study.models)):
        texts, most = (own[place], examples) if place in own else (text, limit)
        if texts is not None:
            options = {**_reading(study, most), "seed": seed}
            study.add(place, "compare", partial(_compared, study.models[0], texts, options))


def _compared(
    first: Model, texts: Corpus, options: dict[str, Any], model: Model, atlas: Atlas | None
) -> Atlas:
    return compare(first, model, texts, **options).to_atlas(atlas)


def _features(study: Study, treebank: Treebank, place: int, model: Model, atlas: Atlas | None) -> Atlas:
    """Of a fine-tuned model with the change from the pre-trained one, text by text."""
    against = study.models[0] if place else None
    return FeaturesProbe(model, against=against, **study.options).score(treebank).to_atlas(atlas)


def _relations(study: Study, roles: RoleCorpus, model: Model, atlas: Atlas | None) -> Atlas:
    probe = RelationsProbe(model, paper_filters=True, **study.options)
    return probe.fit_score(roles).to_atlas(atlas)
