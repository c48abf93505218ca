"""Which model a task is for: several tasks and models are matched by the prediction head that each task needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headscope.errors import ModelError, OptionError, TextError
from headscope.models import Model
from headscope.tasks import Task, task_for, with_head
from headscope.tasks.base import TASKS


@dataclass(frozen=True)
class TaskFiles:
    """A task by its name, with the files of its examples; it is made for the model that fits."""

    name: str
    files: tuple[Path, ...]

    @property
    def data(self) -> str:
        """What the files are called."""
        return ", ".join(file.name for file in self.files)


@dataclass(frozen=True)
class PlacedTask:
    """A task, and the place of its model among those of a study."""

    place: int
    task: Task


AnyTask = Task | TaskFiles
AnyTasks = AnyTask | Sequence[AnyTask] | None
"""What papers take as `task`: one, several, or none."""


def as_tasks(tasks: AnyTasks) -> list[AnyTask]:
    """The tasks as a list."""
    if tasks is None:
        return []
    return [tasks] if isinstance(tasks, Task | TaskFiles) else list(tasks)


def placed(tasks: AnyTasks, models: Sequence[Model]) -> list[PlacedTask]:
    """Each task with its model: the first that fits and has no task yet, fine-tuned ones before the pre-trained one.

    An atlas keeps one sweep of a kind, so no model gets two tasks. A task fits a model that has the prediction head
    it needs and, for classification, its labels. Raises OptionError, with the reasons, for a task that fits none.
    """
    order = [*range(1, len(models)), 0]
    taken: dict[int, AnyTask] = {}
    found = []
    for task in as_tasks(tasks):
        reasons: dict[str, str] = {}
        for place in order:
            model = models[place]
            if place in taken:
                reasons[model.name] = f"has the task {taken[place].name} on {taken[place].data} already"
                continue
            try:
                made = _made(task, model)
            except (ModelError, TextError) as error:
                if len(models) == 1:
                    raise
                reasons[model.name] = str(error)
                continue
            taken[place] = task
            found.append(PlacedTask(place, made))
            break
        else:
            told = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
            raise OptionError(
                f"the task {task.name} on {task.data} fits no model ({told}); give one that was fine-tuned for it as "
                "against (--against)"
            )
    return found


def _made(task: AnyTask, model: Model) -> Task:
    """The task for a model; raises where the model cannot do it."""
    headed = with_head(model, TASKS.get(task.name).head)
    made = task if isinstance(task, Task) else task_for(task.name, task.files, headed)
    made.check(headed)
    return made
