"""Measures of all stacks of a model, filled together."""

from collections.abc import Sequence
from typing import Self

from headscope.capture import Capture
from headscope.errors import OptionError
from headscope.measures import Measure
from headscope.run.watch import Watch
from headscope.text.batching import TextBatch
from headscope.types import AttentionBatch, HeadGrid, LabelledArray, StackName


class Measures:
    """Every measure in every stack that it fits."""

    def __init__(
        self, kinds: Sequence[type[Measure]], grids: Sequence[HeadGrid], *, faithful: bool = False
    ) -> None:
        self.kinds = kinds
        self.grids = grids
        self.faithful = faithful
        self.by_stack: dict[StackName, list[Measure]] = {
            grid.stack: [kind.empty(grid, faithful=faithful) for kind in kinds if kind.fits(grid)]
            for grid in grids
        }

    @classmethod
    def of(cls, capture: Capture, kinds: Sequence[type[Measure]], *, faithful: bool = False) -> Self:
        """The measures for a model; raises OptionError where none fits it."""
        measures = cls(kinds, capture.stacks.grids, faithful=faithful)
        if not any(measures.by_stack.values()):
            names = ", ".join(kind.name for kind in kinds)
            raise OptionError(f"none of the measures asked for ({names}) fits {capture.model.name}")
        return measures

    def empty(self) -> Self:
        """The same measures, nothing seen."""
        return type(self)(self.kinds, self.grids, faithful=self.faithful)

    def update(self, watch: Watch, batch: TextBatch) -> None:
        """Show a batch to the model, and count what its heads do."""

        def see(stack: StackName, seen: AttentionBatch) -> None:
            for measure in self.by_stack[stack]:
                measure.update(seen)

        watch.run(batch, see)

    def merge(self, other: Self) -> None:
        """Count all that `other` has counted."""
        for stack, measures in self.by_stack.items():
            for measure, addition in zip(measures, other.by_stack[stack], strict=True):
                measure.merge(addition)

    def result(self) -> dict[str, dict[str, LabelledArray]]:
        """The arrays of every stack that any measure fits, by name."""
        results: dict[str, dict[str, LabelledArray]] = {}
        for stack, measures in self.by_stack.items():
            for measure in measures:
                for name, array in measure.result().items():
                    if name in results.setdefault(stack, {}):
                        raise OptionError(
                            f"two measures both give an array called {name!r}; leave one of them out"
                        )
                    results[stack][name] = array
        return results
