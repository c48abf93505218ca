"""Measures of all stacks of a model, filled together, by where heads look and by what they move."""

from collections.abc import Sequence
from typing import Self, get_args

from headscope.accumulator import merge_together
from headscope.atlas.files import MOVED, moved_arrays
from headscope.attention import ChosenRows, Derive, Reduction, StackReads, Weighting
from headscope.errors import OptionError
from headscope.measures import Measure
from headscope.passes.profile import MODEL, OFF, Profile
from headscope.text.batching import TextBatch
from headscope.trace import Capture
from headscope.trace.watch import Watch, sides_of
from headscope.types import HeadGrid, LabelledArray, StackName, Weigh

WEIGHTINGS: tuple[Weighting, ...] = get_args(Weighting)


class Measures:
    """Every measure in every stack that it fits; those that are about attention once for each way to weigh it."""

    def __init__(
        self,
        kinds: Sequence[type[Measure]],
        grids: Sequence[HeadGrid],
        *,
        weigh: Weigh = "looked",
    ) -> None:
        self.kinds = kinds
        self.grids = grids
        self.weigh: Weigh = weigh
        looks = [kind for kind in kinds if weigh != "moved" or not kind.weighable]
        moves = [kind for kind in kinds if weigh != "looked" and kind.weighable]
        self.by_stack: dict[StackName, list[Measure]] = self._started(looks)
        self.moved_by_stack: dict[StackName, list[Measure]] = self._started(moves)

    def _started(self, kinds: Sequence[type[Measure]]) -> dict[StackName, list[Measure]]:
        return {grid.stack: [kind.empty(grid) for kind in kinds if kind.fits(grid)] for grid in self.grids}

    @classmethod
    def of(
        cls,
        capture: Capture,
        kinds: Sequence[type[Measure]],
        *,
        weigh: Weigh = "looked",
    ) -> Self:
        """The measures for a model; raises OptionError where none fits it."""
        measures = cls(kinds, capture.stacks.grids, weigh=weigh)
        if not any((*measures.by_stack.values(), *measures.moved_by_stack.values())):
            names = ", ".join(kind.name for kind in kinds)
            raise OptionError(f"none of the measures asked for ({names}) fits {capture.model.name}")
        return measures

    def empty(self) -> Self:
        """The same measures, nothing seen."""
        return type(self)(self.kinds, self.grids, weigh=self.weigh)

    def after(self, counted: Self) -> None:
        """Know what was `counted` so far; see `accumulator.Following`."""
        for mine, theirs in (
            (self.by_stack, counted.by_stack),
            (self.moved_by_stack, counted.moved_by_stack),
        ):
            for stack, measures in mine.items():
                for measure, earlier in zip(measures, theirs[stack], strict=True):
                    measure.after(earlier)

    def held_rows(self, length: int) -> int:
        """How many rows of a text of that length are held of all layers until the last."""
        ways = ((self.by_stack, False), (self.moved_by_stack, True))
        return sum(
            max(
                (measure.held_rows(length, moved=moved) for own in by_stack.values() for measure in own),
                default=0,
            )
            for by_stack, moved in ways
        )

    def derives(self) -> list[Derive]:
        """What measures derive of tokens."""
        ways = ((self.by_stack, False), (self.moved_by_stack, True))
        found = {
            function: None
            for by_stack, moved in ways
            for measures in by_stack.values()
            for measure in measures
            for function in measure.derives(moved=moved)
        }
        return list(found)

    def update(self, watch: Watch, batch: TextBatch, profile: Profile = OFF) -> None:
        """Show a batch to the model, and count what its heads do; a `profile` is told where the time goes."""
        with profile.timed(MODEL):
            reduced = watch.reduced(
                batch, {grid.stack: self._reads(batch, grid.stack) for grid in self.grids}
            )
        for (stack, weighting), attention in reduced.items():
            ending = MOVED if weighting == "value" else ""
            for measure in self._counted_by(weighting)[stack]:
                with profile.timed(measure.name + ending):
                    measure.update(attention)

    def _counted_by(self, weighting: Weighting) -> dict[StackName, list[Measure]]:
        return self.by_stack if weighting == "attention" else self.moved_by_stack

    def _reads(self, batch: TextBatch, stack: StackName) -> StackReads:
        """What the measures of a stack read of a batch."""
        sides = sides_of(batch, stack)
        reductions: dict[Weighting, tuple[Reduction, ...]] = {}
        rows: list[ChosenRows] = []
        for weighting in WEIGHTINGS:
            if measures := self._counted_by(weighting)[stack]:
                reads = dict.fromkeys(reduction for measure in measures for reduction in measure.reads)
                reductions[weighting] = tuple(reads)
                for measure in measures:
                    rows += measure.wanted(*sides, moved=weighting == "value")
        return StackReads(reductions, tuple(rows))

    def merge(self, other: Self) -> None:
        """Count all that `other` has counted."""
        together: list[tuple[Measure, Measure]] = []
        for mine, theirs in ((self.by_stack, other.by_stack), (self.moved_by_stack, other.moved_by_stack)):
            for stack, measures in mine.items():
                for measure, addition in zip(measures, theirs[stack], strict=True):
                    if type(measure).merge is Measure.merge:
                        together.append((measure, addition))
                    else:
                        measure.merge(addition)
        merge_together(together)

    def result(self) -> dict[str, dict[str, LabelledArray]]:
        """The arrays of every stack that any measure fits, by name."""
        results: dict[str, dict[str, LabelledArray]] = {}
        for stack, looked in self.by_stack.items():
            arrays = [measure.result() for measure in looked]
            arrays += [moved_arrays(measure.result()) for measure in self.moved_by_stack[stack]]
            for name, array in (pair for named in arrays for pair in named.items()):
                if name in results.setdefault(stack, {}):
                    raise OptionError(
                        f"two measures both give an array called {name!r}; leave one of them out"
                    )
                results[stack][name] = array
        return results
