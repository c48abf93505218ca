"""Guan et al. 2020 with our figures beside the published ones: kinds of heads, and what they are worth to a task.

The kinds of each model are fitted by itself, so that those of two models need not be the same.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from headscope.atlas import Atlas
from headscope.errors import HeadscopeWarning
from headscope.facts.wording import capital, count
from headscope.figures import feature_boxes, feature_map, kind_examples, kinds_by_layer
from headscope.figures.style.theme import layer_size
from headscope.figures.texts.maps import examples_size
from headscope.kinds.kinds import PUBLISHED_SHARES, HeadKinds, head_types
from headscope.kinds.map import FEWEST_HEADS
from headscope.kinds.stability import REPEATS, ROUNDS
from headscope.models import Model
from headscope.text.corpus import Corpus
from headscope_papers.reproduce import ours as read
from headscope_papers.reproduce.guan.effects import effects, masks, swept, with_effects
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
from headscope_papers.reproduce.table import Drawing, Figure, Grid, Origin, Reproduction, Row, Section

PUBLISHED = published("guan2020")
FEATURES, EXAMPLES = "distance_features", "example_map"
OWN = 0.1
"""A kind is one of its own from this share of heads on; every published share is above it."""
KEPT = 0.9
"""Kinds are stable when more heads than this keep theirs; every published share is above it."""


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
    data = Material(
        text=text,
        tasks=as_tasks(task),
        limit=limit,
        examples=examples,
        seed=seed,
        k=k,
        max_length=max_length,
        batch_size=batch_size,
        progress=progress,
    )
    return GUAN.reproduction(model, data, against)


def _fill(study: Study) -> None:
    """Nothing without a text, by which heads are sorted into kinds."""
    if study.data.read is None:
        return

    def sort(model: Model, atlas: Atlas | None) -> Atlas:
        assert atlas is not None  # it was measured before
        return _sorted(atlas, study.data).to_atlas(atlas)

    for place in range(len(study.models)):
        study.measure(place, [FEATURES, EXAMPLES])
        study.add(place, "types", sort)
    if study.tasks:
        place, task = min(study.tasks.items(), key=lambda item: item[1].name != "qa")
        study.add(place, f"effects:{task.name}", partial(with_effects, study, task))


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
        "examples": examples,
        "shares": shares,
        "stability": stability,
        "number": number,
        "map": neighbours,
        "features": features,
        "layers": layers,
    }
    parts, tested = PUBLISHED.sections, swept(kept)
    sections = [make(parts[key], models) if models else parts[key].left_out() for key, make in makers.items()]
    sections += [effects(parts["effects"], tested), masks(parts["masks"], tested)]
    return PUBLISHED.beside(sections, kept)


@dataclass(frozen=True)
class SortedHeads:
    """A model's heads in their kinds."""

    atlas: Atlas
    kinds: HeadKinds
    is_only: bool
    """Whether this is the only model, so that rows need not name it."""

    @property
    def model(self) -> str:
        """The model's name."""
        return read.model_name(self.atlas)

    @property
    def ending(self) -> str:
        """What rows of this model end in."""
        return "" if self.is_only else f", {self.model}"

    @property
    def origin(self) -> Origin:
        """The model and the texts it was measured on."""
        return read.measured_by(self.atlas, self.kinds.features.stack)

    def drawing(
        self,
        section: PublishedSection,
        key: str,
        picture: Callable[..., Axes],
        size: tuple[float, float] | None = None,
    ) -> Drawing:
        """A picture of this model."""
        names, stack = {"model": self.model}, self.kinds.features.stack
        return section.drawing(key, picture, self.atlas, stack=stack, size=size, names=names)


Models = Sequence[SortedHeads]


def examples(section: PublishedSection, models: Models) -> Section:
    """Maps of the heads that lie nearest to the centres of their kinds."""
    shown = [heads for heads in models if EXAMPLES in heads.atlas]
    if not shown:
        return section.left_out()
    drawings = [
        heads.drawing(section, "kinds", kind_examples, examples_size(len(heads.kinds.names)))
        for heads in shown
    ]
    return section.filled(_origin(shown), drawings=drawings)


def shares(section: PublishedSection, models: Models) -> Section:
    """The shares of the four published kinds, and of kinds that fit none of their names."""
    rows, remarks = [], []
    for heads in models:
        ours = {
            str(kind["type"]): Figure(kind["share"], detail=count(kind["heads"], "head"))
            for kind in heads.kinds.table()
        }
        for name, share in PUBLISHED_SHARES.items():
            is_own = heads.kinds.shares.get(name, 0.0) >= OWN
            is_found = is_own if heads.kinds.separation.is_clear else None  # not for slices of one cloud
            figures: dict[str, Any] = {"ours": ours.get(name), "published": Figure(share)}
            rows.append(section.row("published", than=is_found, ending=heads.ending, kind=name, **figures))
        for name, figure in ours.items():
            if name not in PUBLISHED_SHARES:
                rows.append(section.row("other", figure, ending=heads.ending, kind=name))
        remarks += [
            _sentence(note) if heads.is_only else f"{heads.model}: {note}." for note in heads.kinds.notes
        ]
    if len(models) > 1:
        remarks.append(section.remark("several"))
    return section.filled(_origin(models), rows, remarks=remarks, k=models[0].kinds.clusters.k)


def stability(section: PublishedSection, models: Models) -> Section:
    """Both readings of what share of heads keep their kind, and the average over fits, for each model."""
    rows: list[Row] = []
    columns: set[str] = set()
    for heads in models:
        column = _column(heads.model, is_first=heads is models[0])
        rows += _stability(section, heads, column)
        columns.add(column)
    rows += [
        section.row("alone", None, published=Figure(share), column=name)
        for name, share in PUBLISHED.facts["stability"].items()
        if name not in columns
    ]
    return section.filled(_origin(models), rows, repeats=REPEATS, rounds=ROUNDS)


def number(section: PublishedSection, models: Models) -> Section:
    """Whether four is the right number of kinds for a model, and whether they are more than slices of one cloud."""
    rows: list[Row] = []
    for heads in models:
        kinds, ending = heads.kinds, heads.ending
        suits = kinds.recommended_k == len(PUBLISHED_SHARES) if kinds.facts()["has_structure"] else None
        p_value, is_clear = Figure(kinds.separation.p_value), kinds.separation.is_clear
        advised = Figure(kinds.recommended_k, detail="advised")
        rows += [
            section.row("number", advised, suits, ending=ending),
            section.row("cloud", p_value, is_clear, ending=ending, k=kinds.clusters.k),
            *(
                section.row("silhouette", Figure(value), ending=ending, k=k)
                for k, value in kinds.silhouettes.items()
            ),
        ]
    return section.filled(_origin(models), rows)


def neighbours(section: PublishedSection, models: Models) -> Section:
    """All heads on a plane, beside those with like distance features."""
    enough = [heads for heads in models if len(heads.kinds.features.values) >= FEWEST_HEADS]
    drawings = [heads.drawing(section, "map", feature_map) for heads in enough]
    return section.filled(_origin(models), drawings=drawings)


def features(section: PublishedSection, models: Models) -> Section:
    """Where each kind looks: the largest part of its attention, and all 21 features as boxes."""
    rows = []
    for heads in models:
        for kind in heads.kinds.table():
            group, share = max(kind["attention"].items(), key=lambda item: item[1])
            ours = Figure(share, detail=section.remarks[group])
            rows.append(section.row("kind", ours, ending=heads.ending, kind=kind["type"]))
    drawings = [heads.drawing(section, "boxes", feature_boxes) for heads in models]
    return section.filled(_origin(models), rows, drawings=drawings)


def layers(section: PublishedSection, models: Models) -> Section:
    """How many heads of each kind every layer has."""
    depth = max(heads.kinds.features.layers for heads in models)
    lines: dict[str, list[int]] = {}
    drawings = []
    for heads in models:
        counts = heads.kinds.by_layer  # (layer, kind)
        counts = np.pad(counts, ((0, depth - len(counts)), (0, 0)))  # a shallower model has none further up
        names = heads.kinds.names
        lines |= {f"{name}{heads.ending}": counts[:, kind].tolist() for kind, name in enumerate(names)}
        size = layer_size(heads.kinds.features.layers, 3.0)
        drawings.append(heads.drawing(section, "layers", kinds_by_layer, size))
    grid = Grid("heads by layer", tuple(map(str, range(depth))), lines)
    return section.filled(_origin(models), drawings=drawings, grid=grid)


def _origin(models: Models) -> Origin:
    return read.joined([heads.origin for heads in models])


def _column(model: str, *, is_first: bool) -> str:
    """Which of the paper's models ours stands beside: that of the task in its name; else the first is pre-trained."""
    named = [name for name in PUBLISHED.facts["stability"] if name.lower() in model.lower()]
    return named[0] if named else "pre-trained" if is_first else ""


def _stability(section: PublishedSection, heads: SortedHeads, column: str) -> Iterable[Row]:
    """A model's stability, beside that of the paper's model in this column of its table."""
    readings = {"heads": heads.kinds.by_heads, "texts": heads.kinds.by_texts}
    rounds = {
        half: None if kept is None else Figure(kept.share, kept.low, kept.high)
        for half, kept in readings.items()
    }
    beside = Figure(PUBLISHED.facts["stability"][column]) if column else None
    name, ending = f", {column}" if column else "", heads.ending
    yield section.row("heads", rounds["heads"], KEPT, published=beside, ending=ending, column=name)
    yield section.row("texts", rounds["texts"], ending=ending)
    for half, kept in readings.items():
        if kept is not None:
            average = Figure(1 - float(kept.changed.mean()) / REPEATS)
            yield section.row("mean", average, ending=ending, half=half)


def _sentence(note: str) -> str:
    return f"{note}." if note.startswith("k = ") else f"{capital(note)}."


GUAN = Paper("guan2020", ("text",), _fill, _compared, one_task=True)
