"""Heads of two models paired one to one: distances, floor, ceiling, and which pairs are counterparts."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import linear_sum_assignment

from headscope.atlas import Results
from headscope.errors import OptionError
from headscope.facts.analyses.two_models.matching import DESCRIPTION, MatchSummary
from headscope.models import Model
from headscope.probes.result import ProbeResult, Row
from headscope.stats.intervals import mean_interval
from headscope.types import Array, HeadGrid, HeadId, LabelledArray, StackName


def paired(distance: Array) -> dict[int, int]:
    """One column for each row (or one row for each column, where there are fewer), the sum smallest (Hungarian)."""
    return dict(zip(*(places.tolist() for places in linear_sum_assignment(distance)), strict=True))


@dataclass(frozen=True)
class StackMatch:
    """One stack of both models; heads are counted through its layers."""

    grid_a: HeadGrid
    grid_b: HeadGrid
    distance: Array  # (head of A, head of B) mean over texts, nats
    stderr: Array  # (head of A, head of B) over texts
    halves: Array  # (half, head of A, head of B) mean over half of the texts
    untrained: Array  # (head of A, head of an untrained network)
    untrained_stderr: Array
    texts: int

    @cached_property
    def pairs(self) -> dict[int, int]:
        """Head of A to head of B, both counted through the layers."""
        return paired(self.distance)

    @property
    def partners(self) -> dict[HeadId, HeadId]:
        """The head of A that each head of B is paired with."""
        return {self.grid_b.head(b): self.grid_a.head(a) for a, b in self.pairs.items()}

    @cached_property
    def rows(self) -> list[Row]:
        """A row for each pair, the nearest first."""
        halves = [paired(half) for half in self.halves]
        nearest = self.untrained.argmin(1)
        rows = []
        for a, b in sorted(self.pairs.items(), key=lambda pair: float(self.distance[pair])):
            low, high = mean_interval(float(self.distance[a, b]), float(self.stderr[a, b]), self.texts)
            floor = float(self.untrained[a, nearest[a]])
            floor_low, _ = mean_interval(floor, float(self.untrained_stderr[a, nearest[a]]), self.texts)
            same = all(half.get(a) == b for half in halves)
            rows.append(
                {
                    "head_a": str(self.grid_a.head(a)),
                    "head_b": str(self.grid_b.head(b)),
                    "distance": float(self.distance[a, b]),
                    "stderr": float(self.stderr[a, b]),
                    "low": max(0.0, low),
                    "high": high,
                    "floor": floor,
                    "same_in_halves": same,
                    "counterpart": same and high < floor_low,
                }
            )
        return rows

    def arrays(self) -> dict[str, LabelledArray]:
        """What goes into the atlas of B; nan and no name for heads without a partner."""
        words = {
            "distance": ("mean Jensen-Shannon divergence of both", "nats"),
            "distance_stderr": ("standard error over texts of match_distance", "nats"),
            "floor": ("of its partner to the nearest head of an untrained network", "nats"),
            "counterpart": ("1 where the pair is clear of floor and halves", "1"),
        }
        coords, shape = self.grid_b.coords, self.grid_b.shape
        names: Array = np.full(shape, "", dtype=object)
        numbers = {key: np.full(shape, np.nan) for key in words}
        for row in self.rows:
            head = HeadId.parse(row["head_b"])
            names[head.layer, head.head] = row["head_a"]
            for key, values in numbers.items():
                values[head.layer, head.head] = row[key.removeprefix("distance_")]
        partner = LabelledArray.of(names, coords, "the head of the other model that it is paired with")
        return {
            "match_head": partner,
            **{f"match_{key}": LabelledArray.of(numbers[key], coords, *words[key]) for key in words},
        }


@dataclass(frozen=True)
class Matching(ProbeResult):
    """Which head of `model_a` each head of the model that this is a result about is."""

    description = DESCRIPTION

    model_a: Model
    stacks: Mapping[StackName, StackMatch]

    def stack(self, name: str | None = None) -> StackMatch:
        """One stack; the first by default."""
        return self.stacks[self.stack_of(self.stacks, name)]

    def partners_of(self, first: Model, second: Model) -> dict[StackName, dict[HeadId, HeadId]]:
        """The head of A that each head of B is paired with, by stack; raises OptionError for other models."""
        for mine, theirs in ((self.model_a, first), (self.model, second)):
            if mine.weights_hash != theirs.weights_hash:
                raise OptionError(
                    f"the match is of {mine.name}, not of {theirs.name}; match the models you compare"
                )
        return {stack: found.partners for stack, found in self.stacks.items()}

    def summary(self, *, stack: str | None = None) -> MatchSummary:
        """What is to be said of one stack."""
        found = self.stack(stack)
        return MatchSummary(
            self.model_a.name,
            self.model.name,
            found.rows,
            len(found.distance),
            found.distance.shape[1],
            found.grid_b.stack if len(self.stacks) > 1 else "",
        )

    def table(self, *, stack: str | None = None) -> list[Row]:
        """A row for each pair, the nearest first."""
        return self.stack(stack).rows

    def intervals(self) -> str | None:
        """What intervals are over."""
        return f"over {self.stack().texts:,} texts"

    def arrays(self) -> Results:
        """Partner, distance, floor and verdict of every head."""
        return {stack: found.arrays() for stack, found in self.stacks.items()}
