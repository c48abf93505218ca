"""Kovaleva et al. 2019 with our figures beside the published ones."""

from collections.abc import Callable, Sequence
from functools import partial

from headscope.atlas import Atlas
from headscope.comparison import compare
from headscope.models import Model
from headscope.probes import FeaturesProbe, RelationsProbe
from headscope.probes.patterns import find_patterns
from headscope.text.annotated.roles import RoleCorpus
from headscope.text.annotated.treebank import Treebank
from headscope.text.corpus import Corpus
from headscope_papers.reproduce.kovaleva import patterns
from headscope_papers.reproduce.kovaleva.disabled import disable, disabled
from headscope_papers.reproduce.kovaleva.fine_tuning import change, cls_query, features
from headscope_papers.reproduce.kovaleva.roles import roles as role_heads
from headscope_papers.reproduce.paper import PublishedSection, published
from headscope_papers.reproduce.study import (
    AnyTasks,
    BatchSize,
    Material,
    ModelOrAtlas,
    Paper,
    Study,
    as_tasks,
)
from headscope_papers.reproduce.table import Reproduction, Section


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
    batch_size: BatchSize = "auto",
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
    data = Material(
        text=text,
        treebank=treebank,
        roles=roles,
        tasks=as_tasks(task),
        limit=limit,
        examples=examples,
        seed=seed,
        max_length=max_length,
        batch_size=batch_size,
        progress=progress,
    )
    return KOVALEVA.reproduction(model, data, against)


def _fill(study: Study) -> None:
    data = study.data
    texts = data.read if data.pairs is None else data.pairs
    places = range(len(study.models))

    def find(corpus: Corpus, limit: int | None, model: Model, atlas: Atlas | None) -> Atlas:
        return patterns.with_patterns(atlas, find_patterns(model, corpus, limit=limit, **study.segments))

    def score(place: int, treebank: Treebank, model: Model, atlas: Atlas | None) -> Atlas:
        against = study.models[0] if place else None  # a change is found text by text
        return FeaturesProbe(model, against=against, **study.options).score(treebank).to_atlas(atlas)

    def relate(roles: RoleCorpus, model: Model, atlas: Atlas | None) -> Atlas:
        return RelationsProbe(model, paper_filters=True, **study.options).fit_score(roles).to_atlas(atlas)

    own = {place: task.limited(data.examples).corpus() for place, task in study.tasks.items()}
    if texts is not None:
        for place in places:
            study.add(place, "patterns", partial(find, texts, data.limit))
    for own_place, task in study.tasks.items():
        for place in sorted({0, own_place}):
            step = f"patterns:{task.name}:{task.data}"
            study.add(place, step, partial(find, own[own_place], data.examples))
    shown = texts if texts is not None else next((task.corpus() for task in study.tasks.values()), None)
    if shown is not None:
        study.add(0, "pattern_maps", partial(patterns.with_maps, shown, study.segments["max_length"]))
    for place in places[1:]:
        _compare(study, place, own.get(place), texts)
    if data.treebank is not None:
        for place in places:
            study.add(place, "features", partial(score, place, data.treebank))
    if data.roles is not None:
        study.add(0, "relations", partial(relate, data.roles))
    for place, task in study.tasks.items():
        disable(study, place, task)


def _compare(study: Study, place: int, inputs: Corpus | None, texts: Corpus | None) -> None:
    """Compare a fine-tuned model with the pre-trained one, on its task's own inputs where it has a task."""
    data = study.data
    corpus, limit = (texts, data.limit) if inputs is None else (inputs, data.examples)
    if corpus is not None:
        options = {**study.segments, "limit": limit, "seed": data.seed}
        study.add(
            place,
            "compare",
            lambda model, atlas: compare(study.models[0], model, corpus, **options).to_atlas(atlas),
        )


def _compared(atlases: Sequence[Atlas], data: Material) -> Reproduction:
    paper = published("kovaleva2019")
    makers: dict[str, Callable[[PublishedSection, Sequence[Atlas]], Section]] = {
        "maps": patterns.maps,
        "patterns": patterns.patterns,
        "classifier": patterns.classifier,
        "roles": role_heads,
        "change": change,
        "features": features,
        "cls_query": cls_query,
        "disabled_heads": partial(disabled, kind="heads"),
        "disabled_layers": partial(disabled, kind="layers"),
    }
    return paper.beside([make(paper.sections[key], atlases) for key, make in makers.items()], atlases)


KOVALEVA = Paper("kovaleva2019", ("text", "treebank", "roles", "tasks"), _fill, _compared)
