"""Heads of two models paired one to one, in words and columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from headscope.facts.description import described_in

DESCRIPTION = described_in(__file__)


@dataclass(frozen=True)
class MatchSummary:
    """What is to be said of all pairs of one stack."""

    model_a: str
    model_b: str
    rows: Sequence[dict[str, Any]]
    heads_a: int
    heads_b: int
    stack: str = ""
    """Its name where there are several."""

    @property
    def counts(self) -> dict[str, int]:
        """How many pairs there are, of which sort."""
        return {
            "pairs": len(self.rows),
            "counterparts": sum(row["counterpart"] for row in self.rows),
            "same_in_halves": sum(row["same_in_halves"] for row in self.rows),
            "same_place": sum(row["head_a"] == row["head_b"] for row in self.rows),
        }

    @property
    def sentences(self) -> tuple[str, ...]:
        """How many heads have a counterpart, then distances, floor and ceiling."""
        counts = self.counts
        pairs = counts["pairs"]
        place = f" ({self.stack})" if self.stack else ""
        distance, floor = (median(row[key] for row in self.rows) for key in ("distance", "floor"))
        lines = [
            f"{counts['counterparts']} of {self.heads_a} heads of {self.model_a} have a counterpart in "
            f"{self.model_b}{place}; {counts['same_place']} of the {pairs} pairs have the same layer and number.",
            f"Median distance {distance:.3f} nats; floor {floor:.3f}, to the nearest head of an untrained network; "
            f"ceiling {counts['same_in_halves']} of {pairs}, the pairs that both halves of the texts agree on.",
        ]
        if self.heads_a != self.heads_b:
            more, name = (
                abs(self.heads_a - self.heads_b),
                self.model_a if self.heads_a > self.heads_b else self.model_b,
            )
            lines.append(f"{more} heads of {name} have no partner, as it has more heads.")
        return tuple(lines)
