"""What is known of a model's heads before a sweep: their kinds, and how much each matters alone."""

from collections.abc import Mapping

import numpy as np

from headscope.ablation.plan import Kinds
from headscope.atlas import Atlas
from headscope.edits import HeadSet
from headscope.edits.heads import Member
from headscope.edits.rank import labelled
from headscope.errors import AtlasError, OptionError
from headscope.kinds.kinds import head_types
from headscope.measures import MEASURES
from headscope.passes.measure_set import Measures
from headscope.passes.run_pass import run_pass
from headscope.tasks import TaskBatch, TaskBatches
from headscope.tasks.base import BATCHES_A_SHARD
from headscope.trace import Capture
from headscope.trace.architecture import Stacks
from headscope.trace.watch import Watch
from headscope.types import Array, HeadId, StackName

_FEATURES = "distance_features"


def kinds_in(atlas: Atlas, stacks: Stacks, *, k: int = 4) -> Kinds:
    """The heads of each kind in an atlas; sorted on the spot where it has the features only."""
    if "head_type" not in atlas:
        if _FEATURES not in atlas:
            raise AtlasError(
                f"the atlas has no kinds of heads, nor the {_FEATURES} to sort them by; make one with: headscope "
                f"analyze MODEL --text FILE --measures {_FEATURES} -o ATLAS, or leave --atlas (atlas=) out"
            )
        atlas = head_types(atlas, k=k).to_atlas(atlas)
    stack = next(stack for stack in atlas.stacks if "head_type" in atlas.stack(stack))
    grid = next((grid for grid in stacks.grids if grid.stack == stack), None)
    if grid is None:
        raise OptionError(f"the atlas has kinds of heads in its {stack}, which this model does not have")
    arrays = atlas.stack(stack)
    used = set(arrays["head_type"].values.astype(str).ravel())
    return {
        name: HeadSet.of((grid.stack, head) for head in labelled(atlas, grid, "type", name))
        for name in map(str, arrays["head_type_centre"]["type"].values)
        if name in used
    }


def features_of(capture: Capture, batches: TaskBatches) -> Atlas:
    """An atlas of the distance features of all heads on a task's own inputs."""
    features = Measures([MEASURES.get(_FEATURES)], capture.stacks.grids)
    if not any(features.by_stack.values()):
        raise OptionError(f"no stack of {capture.model.name} has {_FEATURES} to sort its heads by")
    watch = Watch(capture)

    def count(part: Measures, batch: TaskBatch) -> None:
        part.update(watch, batch.text)

    run_pass(batches, features, count, batches=iter, least=BATCHES_A_SHARD)
    return Atlas.build(features.result(), provenance={})


def numbers_in(
    atlas: Atlas | None, stacks: Stacks, name: str, metric: str | None = None
) -> dict[Member, float] | None:
    """A number of every head by an array of the atlas, for a `metric` where it has several; None where it lacks it."""
    if atlas is None or name not in atlas:
        return None
    arrays = {grid.stack: atlas.stack(grid.stack)[name] for grid in stacks.grids}
    if metric is not None:
        if any(metric not in array["metric"].values for array in arrays.values()):
            raise OptionError(
                f"the atlas has no changes of {metric}; leave it out, or sweep heads on this task"
            )
        arrays = {stack: array.sel(metric=metric) for stack, array in arrays.items()}
    return by_head({stack: array.values for stack, array in arrays.items()})


def by_head(values: Mapping[StackName, Array]) -> dict[Member, float]:
    """By stack and head, of arrays (layer, head)."""
    return {
        (stack, HeadId(layer, head)): float(value)
        for stack, array in values.items()
        for (layer, head), value in np.ndenumerate(array)
    }
