"""How much single heads matter: from an atlas that says so, or from gradients on the same examples."""

import numpy as np

from headscope.atlas import Atlas
from headscope.edits.heads import Member
from headscope.errors import OptionError
from headscope.importance import gradient_importance
from headscope.models import Model
from headscope.models.stacks import Stacks
from headscope.tasks import Metric, Task
from headscope.tasks.metric import Array
from headscope.types import HeadId, StackName

Numbers = dict[Member, float]


def importance_in(atlas: Atlas, stacks: Stacks, _: Metric) -> Numbers | None:
    """The gradient importance of every head; None where the atlas lacks it."""
    if "head_importance" not in atlas:
        return None
    return _by_head({grid.stack: atlas.stack(grid.stack)["head_importance"].values for grid in stacks.grids})


def effects_in(atlas: Atlas, stacks: Stacks, metric: Metric) -> Numbers | None:
    """What editing each head alone does to a metric; None where the atlas has no such sweep."""
    if "ablation_change" not in atlas:
        return None
    arrays = {grid.stack: atlas.stack(grid.stack)["ablation_change"] for grid in stacks.grids}
    if any(metric.name not in array["metric"].values for array in arrays.values()):
        raise OptionError(
            f"the atlas has no changes of {metric.name}; leave it out, or sweep heads on this task"
        )
    return _by_head({stack: array.sel(metric=metric.name).values for stack, array in arrays.items()})


def importance_of(model: Model, task: Task, stacks: Stacks, *, progress: bool) -> Numbers:
    """The gradient importance of every head on a task's examples."""
    found = gradient_importance(model, task, progress=progress).arrays()
    return _by_head(
        {grid.stack: np.asarray(found[grid.stack]["head_importance"].values) for grid in stacks.grids}
    )


def _by_head(values: dict[StackName, Array]) -> Numbers:
    """By stack and head, of arrays (layer, head)."""
    return {
        (stack, HeadId(layer, head)): float(value)
        for stack, array in values.items()
        for (layer, head), value in np.ndenumerate(array)
    }
