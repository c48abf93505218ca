"""Heads of two models paired one to one, in words and columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from headscope.facts.description import ArrayText, Column, Description, Table

PROBE = "match"

PAIRS = (
    Column("head_a", "head of A"),
    Column("head_b", "head of B"),
    Column("distance", "distance (nats)", "number", 3, "low", "high"),
    Column("floor", "untrained", "number", 3),
    Column("same_in_halves", "same in both halves"),
    Column("counterpart", "counterpart"),
)

DESCRIPTION = Description(
    PROBE,
    title="Which heads of two models match?",
    question="Heads of two models, A and B, are paired one to one so that the mean Jensen-Shannon divergence of their "
    "attention on the same texts is smallest. The baseline is the distance of A's head to the nearest head of an "
    "untrained network of B's shape. A pair is a counterpart if its whole 95% interval lies below that of the "
    "untrained network, and each half of the texts alone gives the same pair.",
    outlook="which heads match those of another model",
    group="Matching heads (match)",
    tables=(Table(PAIRS, "Pairs of heads, the nearest first", title="Pairs"),),
    arrays={
        "match_distance": ArrayText("Distance to its partner in the other model", "nats", "number"),
        "match_floor": ArrayText("Distance of its partner to an untrained network", "nats", "number"),
        "match_counterpart": ArrayText("Has a counterpart in the other model", "1 for yes", "number"),
    },
    texts="texts",
)


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
