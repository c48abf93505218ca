"""What papers read, and where what they find is kept: the data there are, and an atlas for each model.

Several papers can fill one study. A task belongs to one of its models, by the prediction head that it needs.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from headscope.atlas import Atlas, open_atlas
from headscope.errors import ModelError, OptionError, TextError
from headscope.measures import MEASURES
from headscope.models import Model, loaded
from headscope.passes.analyze import analyze
from headscope.tasks import Task, task_for, with_head
from headscope.tasks.base import TASKS
from headscope.text.annotated.coreference import CoreferenceCorpus
from headscope.text.annotated.roles import RoleCorpus
from headscope.text.annotated.treebank import Treebank
from headscope.text.corpus import Corpus
from headscope_papers.reproduce.table import Reproduction

ModelOrAtlas = Model | Atlas | str | os.PathLike[str]
BatchSize = int | Literal["auto"]

MAX_LENGTH = 128
"""Tokens in a segment, as in the papers."""

_TOGETHER = (("train", "test"), ("test", "train"), ("dev", "train"), ("choose", "treebank"))
"""Data that mean nothing without others."""
_DATA = ("text", "pairs", "treebank", "choose", "coreference", "train", "dev", "test", "roles")


@dataclass(frozen=True)
class TaskFiles:
    """A task by its name, with the files of its examples; it is made for the model that fits."""

    name: str
    files: tuple[Path, ...]

    @property
    def data(self) -> str:
        """What the files are called."""
        return ", ".join(file.name for file in self.files)


AnyTask = Task | TaskFiles
AnyTasks = AnyTask | Sequence[AnyTask] | None
"""What papers take as `task`: one, several, or none."""


@dataclass(frozen=True)
class Material:
    """The data that there are, of which every paper takes what it can use, and how they are read."""

    text: Corpus | None = None
    pairs: Corpus | None = None
    treebank: Treebank | None = None
    choose: Treebank | None = None
    coreference: CoreferenceCorpus | None = None
    train: Treebank | None = None
    dev: Treebank | None = None
    test: Treebank | None = None
    vectors: str | Path = "model"
    roles: RoleCorpus | None = None
    tasks: Sequence[AnyTask] = ()
    limit: int | None = None
    examples: int | None = None
    seed: int = 0
    k: int = 4
    """How many kinds of heads Guan et al. are compared by."""
    faithful: bool = False
    """Whether Clark et al. are compared by what their code does, quirks included."""
    max_length: int | None = None
    batch_size: BatchSize = "auto"
    progress: bool = False

    def __post_init__(self) -> None:
        for name, other in _TOGETHER:
            if name in self.given and other not in self.given:
                raise OptionError(f"{name} means nothing without {other}: --{name} needs --{other} FILE too")

    @property
    def given(self) -> tuple[str, ...]:
        """The names of the data that there are."""
        files = (name for name in _DATA if getattr(self, name) is not None)
        return (*files, "tasks") if self.tasks else tuple(files)

    @property
    def is_empty(self) -> bool:
        """Whether there are no data at all."""
        return not self.given

    @property
    def read(self) -> Corpus | None:
        """What heads are observed on: the texts, or else the pairs."""
        return self.pairs if self.text is None else self.text


@dataclass
class Study:
    """Models and what is known of each: the pre-trained one first, then those it is compared with.

    A step that was done for one paper is not done again for the next.
    """

    models: Sequence[Model]
    data: Material = Material()
    tell: Callable[[str], object] = lambda step: None
    """Called with the name of each step before it is done."""
    tasks: dict[int, Task] = field(init=False)
    """By the place of the model that does it."""
    atlases: list[Atlas | None] = field(init=False)
    _done: set[tuple[int, str]] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self.tasks = placed(self.data.tasks, self.models)
        self.atlases = [None] * len(self.models)

    @property
    def running(self) -> dict[str, Any]:
        """How texts go through a model, as everything takes it."""
        return {"batch_size": self.data.batch_size, "progress": self.data.progress}

    @property
    def options(self) -> dict[str, Any]:
        """What every probe takes."""
        return {"max_length": self.data.max_length, **self.running}

    @property
    def segments(self) -> dict[str, Any]:
        """The same for what reads running text, in segments as long as the papers'."""
        return {**self.options, "max_length": self.data.max_length or MAX_LENGTH}

    @property
    def filled(self) -> list[Atlas]:
        """The atlases of the models about which anything is known, in the order of the models."""
        return [atlas for atlas in self.atlases if atlas is not None]

    def measure(self, place: int, measures: Sequence[str]) -> None:
        """Observe the heads of the model at `place` on the texts, unless that was done for all these measures.

        A second reading repeats the first one's measures, since an atlas holds those of one reading.
        """
        data = self.data
        known = {name for done, name in self._done if done == place and name in MEASURES.names()}
        if data.read is None or set(measures) <= known:
            return
        wanted = sorted(known | set(measures))
        self._tell("measures", place)
        atlas = analyze(
            self.models[place],
            data.read,
            measures=wanted,
            limit=data.limit,
            faithful=data.faithful,
            distances="exact",
            **self.segments,
        )
        before = self.atlases[place]
        self.atlases[place] = atlas if before is None else atlas.with_probes_of(before)
        self._done |= {(place, name) for name in wanted}

    def add(self, place: int, step: str, run: Callable[[Model, Atlas | None], Atlas]) -> None:
        """Let `run` add to the atlas of the model at `place`, unless a step of this name was done for it."""
        if (place, step) in self._done:
            return
        self._tell(step, place)
        self.atlases[place] = run(self.models[place], self.atlases[place])
        self._done.add((place, step))

    def _tell(self, step: str, place: int) -> None:
        self.tell(f"{step}, {self.models[place].name}")


@dataclass(frozen=True)
class Paper:
    """How a paper is compared with models: what it needs of the data, and what it makes of them."""

    name: str
    needs: tuple[str, ...]
    """The data of which it needs at least one."""
    fill: Callable[[Study], None]
    """Finds out about the study's models what the paper says of its own, as far as there are data."""
    compared: Callable[[Sequence[Atlas], Material], Reproduction]
    """Everything that the atlases have figures for: of the pre-trained model, and of fine-tuned ones after it."""

    one_task: bool = False
    """Whether it takes one task only: questions, as in the paper, where there are any."""

    def check(self, data: Material) -> None:
        """Raise OptionError where there are no data that the paper can use."""
        if not set(self.needs) & set(data.given):
            names = f"{'at least one of ' if len(self.needs) > 1 else ''}{', '.join(self.needs)}"
            raise OptionError(
                f"there is nothing to compare; give {names} (--{self.needs[0]} FILE), or an atlas in place of the model"
            )

    def reproduction(
        self,
        model: ModelOrAtlas,
        data: Material,
        against: ModelOrAtlas | Sequence[ModelOrAtlas] | None = None,
    ) -> Reproduction:
        """The paper beside a model, models `against` it and the data, or beside atlases without any."""
        others = [against] if isinstance(against, Model | Atlas | str | os.PathLike) else against or ()
        models = [model, *others]
        if ready := ready_atlases(models, data):
            return self.compared(ready, data)
        self.check(data)
        if self.one_task:
            data = replace(data, tasks=sorted(data.tasks, key=lambda task: task.name != "qa")[:1])
        study = Study(all_loaded(models), data)
        self.fill(study)
        return self.compared(study.filled, data)


def all_loaded(models: Iterable[ModelOrAtlas]) -> list[Model]:
    """The models, loaded where they were named."""
    named = (model for model in models if not isinstance(model, Atlas))
    return [loaded(model) for model in named]


def ready_atlases(models: Sequence[ModelOrAtlas], data: Material) -> list[Atlas] | None:
    """The atlases, if these were given; None where models were. Raises for a mixture, and for atlases with data."""
    atlases = [
        model if isinstance(model, Atlas) else open_atlas(model)
        for model in models
        if isinstance(model, Atlas) or (not isinstance(model, Model) and Path(model).suffix == ".nc")
    ]
    if not atlases:
        return None
    if len(atlases) < len(models):
        raise OptionError("model and against must all be models, or all be atlases")
    if data.given:
        raise OptionError(
            f"{', '.join(data.given)} cannot be read with an atlas, which holds results and no model; give the model "
            "instead, or add to the atlas first with: headscope probe ... -o ATLAS"
        )
    return atlases


def as_tasks(tasks: AnyTasks) -> tuple[AnyTask, ...]:
    """One task, several or none, as they are."""
    if tasks is None:
        return ()
    return (tasks,) if isinstance(tasks, Task | TaskFiles) else tuple(tasks)


def placed(tasks: AnyTasks, models: Sequence[Model]) -> dict[int, Task]:
    """Each task by the place of its model: the first that fits and has no task yet, fine-tuned ones before the first.

    An atlas keeps one sweep of a kind, so no model gets two tasks. A task fits a model that has the prediction head
    it needs and, for classification, its labels. Raises OptionError, with the reasons, for a task that fits none.
    """
    ready: dict[int, Task] = {}
    for task in as_tasks(tasks):
        reasons = []
        for place in (*range(1, len(models)), 0):
            model, other = models[place], ready.get(place)
            try:
                if other is not None:
                    raise ModelError(f"has the task {other.name} on {other.data} already")
                headed = with_head(model, TASKS.get(task.name).head)
                fitting = task if isinstance(task, Task) else task_for(task.name, task.files, headed)
                fitting.check(headed)
            except (ModelError, TextError) as error:
                if len(models) == 1:
                    raise
                reasons.append(f"{model.name}: {error}")
            else:
                ready[place] = fitting
                break
        else:
            raise OptionError(
                f"the task {task.name} on {task.data} fits no model ({'; '.join(reasons)}); give one that was "
                "fine-tuned for it as against (--against)"
            )
    return ready
