"""The kinds of a model's heads: from an atlas that has them, or sorted on the task's own texts."""

from headscope.ablation.plan import Kinds
from headscope.atlas import Atlas
from headscope.capture import Capture
from headscope.edits import HeadSet
from headscope.errors import AtlasError, OptionError
from headscope.kinds import head_types
from headscope.measures import MEASURES
from headscope.models.stacks import Stacks
from headscope.run.measured import Measures
from headscope.run.one_pass import run_pass, whole
from headscope.run.watch import Watch
from headscope.tasks import TaskBatch, TaskBatches
from headscope.types import HeadId

_FEATURES = "distance_features"


def kinds_in(atlas: Atlas, stacks: Stacks, *, k: int = 4) -> Kinds:
    """The heads of each kind in an atlas; sorted on the spot where it has the features only."""
    if not any("head_type" in atlas.stack(stack) for stack in atlas.stacks):
        if not any(_FEATURES in atlas.stack(stack) for stack in atlas.stacks):
            raise AtlasError(
                f"the atlas has no kinds of heads, nor the {_FEATURES} to sort them by; make one with: headscope "
                f"analyze MODEL --text FILE --measures {_FEATURES} -o ATLAS, or leave --atlas (atlas=) out"
            )
        atlas = head_types(atlas, k=k).to_atlas(atlas)
    stack = next(stack for stack in atlas.stacks if "head_type" in atlas.stack(stack))
    arrays = atlas.stack(stack)
    grid = next((grid for grid in stacks.grids if grid.stack == stack), None)
    labels = arrays["head_type"].transpose("layer", "head").values.astype(str)  # (layer, head)
    if grid is None or labels.shape != (grid.layers, grid.heads):
        raise OptionError(
            f"the atlas has {labels.shape[0]} x {labels.shape[1]} heads in its {stack}, which is not this model"
        )
    order = [str(name) for name in arrays["head_type_centre"]["type"].values]
    return {
        name: HeadSet.of(
            (grid.stack, HeadId(layer, head))
            for layer in range(grid.layers)
            for head in range(grid.heads)
            if labels[layer, head] == name
        )
        for name in order
        if (labels == name).any()
    }


def features_of(capture: Capture, batches: TaskBatches) -> Atlas:
    """An atlas of the distance features of all heads on a task's own inputs."""
    features = Measures([MEASURES.get(_FEATURES)], capture.stacks.grids)
    if not any(features.by_stack.values()):
        raise OptionError(f"no stack of {capture.model.name} has {_FEATURES} to sort its heads by")
    watch = Watch(capture)

    def count(part: Measures, batch: TaskBatch) -> None:
        part.update(watch, batch.text)

    run_pass(whole(batches), features, count, batches=iter)
    return Atlas.build(features.result(), provenance={})
