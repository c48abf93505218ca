"""What a search found: every head's score, its p value, and how the best head holds on texts left out."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headscope.atlas import Results
from headscope.facts.analyses.search import DESCRIPTION, Answer
from headscope.probes.result import ProbeResult, Row
from headscope.stats.correction import SIGNIFICANT
from headscope.stats.intervals import mean_interval
from headscope.stats.permutation import p_value
from headscope.types import Array, HeadGrid, HeadId, LabelledArray, StackName

SHOWN = 10
"""How many heads the table has."""


@dataclass(frozen=True)
class StackSearch:
    """One stack: the numbers of every text and head."""

    grid: HeadGrid
    attention: Array  # (text, layer and head) given to the targets
    scores: Array  # (text, layer and head) less that given to other words
    drawn: Array  # (draw, layer and head) mean score with targets at random

    @cached_property
    def score(self) -> Array:
        """(layer and head,) mean over texts."""
        mean: Array = self.scores.mean(0)
        return mean

    @cached_property
    def stderr(self) -> Array:
        """(layer and head,) standard error over texts."""
        error: Array = self.scores.std(0, ddof=1) / np.sqrt(len(self.scores))
        return error

    @cached_property
    def p_values(self) -> Array:
        """(layer and head,) how often any head scores as much with random targets."""
        highest = self.drawn.max(1)
        return np.array([p_value(highest, float(score)) for score in self.score])

    @cached_property
    def chosen(self) -> Array:
        """(text,) the head that is best on all other texts."""
        others = self.scores.sum(0) - self.scores  # (text, layer and head)
        best: Array = others.argmax(1)
        return best

    @property
    def held_out(self) -> tuple[float, float, float]:
        """Score of the chosen head on the text that took no part in the choice: mean and 95 % interval."""
        values = self.scores[np.arange(len(self.scores)), self.chosen]
        stderr = float(values.std(ddof=1) / np.sqrt(len(values)))
        return (float(values.mean()), *mean_interval(float(values.mean()), stderr, len(values)))

    @property
    def best(self) -> HeadId | None:
        """The best head; None where targets at random explain its score."""
        row = int(self.score.argmax())
        return self.grid.head(row) if self.p_values[row] < SIGNIFICANT else None

    def rows(self) -> list[Row]:
        """All heads, the best first."""
        lows, highs = mean_interval(self.score, self.stderr, len(self.scores))
        attention = self.attention.mean(0)
        rounds = np.bincount(self.chosen, minlength=len(self.score))
        return [
            {
                "head": str(self.grid.head(place)),
                "attention": float(attention[place]),
                "others": float(attention[place] - self.score[place]),
                "score": float(self.score[place]),
                "low": float(lows[place]),
                "high": float(highs[place]),
                "p_value": float(self.p_values[place]),
                "chosen": int(rounds[place]),
            }
            for place in np.argsort(-self.score, kind="stable").tolist()
        ]

    def arrays(self) -> dict[str, LabelledArray]:
        """What goes into the atlas."""
        along = "attention along the arrows"
        texts = {
            "find_score": (self.score, f"{along} minus that to other words at the same distance"),
            "find_score_stderr": (self.stderr, "standard error over texts of find_score"),
            "find_attention": (self.attention.mean(0), along),
            "find_p": (self.p_values, "how often any head scores as much with random targets"),
        }
        return {
            name: LabelledArray.of(values.reshape(self.grid.shape), self.grid.coords, words)
            for name, (values, words) in texts.items()
        }


@dataclass(frozen=True)
class Search(ProbeResult):
    """Which heads look along arrows, stack by stack."""

    description = DESCRIPTION

    stacks: Mapping[StackName, StackSearch]

    def stack(self, name: str | None = None) -> StackSearch:
        """One stack; the first by default."""
        return self.stacks[self.stack_of(self.stacks, name)]

    @property
    def best(self) -> HeadId | None:
        """The head of the first stack that does this; None when none does."""
        return self.stack().best

    def answer(self, *, stack: str | None = None) -> Answer:
        """What is to be said of one stack."""
        found = self.stack(stack)
        rows = found.rows()
        significant = sum(row["p_value"] < SIGNIFICANT for row in rows)
        return Answer(
            rows[0],
            max(0, significant - 1),
            len(rows),
            len(found.drawn),
            *found.held_out,
            rounds=len(found.scores),
            stack=found.grid.stack if len(self.stacks) > 1 else "",
        )

    def heads(self, *, stack: str | None = None) -> list[Row]:
        """A row for each head, the best first."""
        return self.stack(stack).rows()

    def table(self, *, stack: str | None = None) -> list[Row]:
        """The best heads."""
        return self.heads(stack=stack)[:SHOWN]

    def intervals(self) -> str | None:
        """What intervals are over."""
        return f"over {len(self.stack().scores):,} texts"

    def arrays(self) -> Results:
        """Score, error, attention and p of every head."""
        return {stack: found.arrays() for stack, found in self.stacks.items()}
