"""The answer to "which head looks along these arrows?", in words and columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headscope.facts.description import described_in
from headscope.facts.wording import count, interval, share
from headscope.stats.correction import SIGNIFICANT

DESCRIPTION = described_in(__file__)


@dataclass(frozen=True)
class Answer:
    """What was found in one stack."""

    best: Mapping[str, Any]
    """The row of the best head: head, attention, others, score, p_value."""
    others: int
    """How many more heads are significant."""
    heads: int
    draws: int
    held_out: float
    """Score of the head that is best on the other texts, mean over the texts that were left out."""
    low: float
    high: float
    rounds: int
    """How many texts, and so rounds, there are."""
    stack: str = ""
    """Its name where there are several."""

    @property
    def is_found(self) -> bool:
        """Whether any head scores more than targets at random explain."""
        return float(self.best["p_value"]) < SIGNIFICANT

    @property
    def sentences(self) -> tuple[str, ...]:
        """The answer, then how it holds on texts that took no part in the choice."""
        row = self.best
        place = f" of the {self.stack}" if self.stack else ""
        gives = f"gives the target {share(row['attention'])} of its attention, other words at that distance "
        gives += share(row["others"])
        if not self.is_found:
            return (
                f"No head{place} does this. The best, {row['head']}, {gives}; with random targets {row['p_value']:.1%} "
                f"of {self.draws:,} draws have a head that scores as much.",
            )
        p_value = "< 0.001" if row["p_value"] < 0.001 else f"= {row['p_value']:.3f}"
        also = f" {count(self.others, 'more head')} {'is' if self.others == 1 else 'are'} above chance."
        return (
            f"Head {row['head']}{place} does this: it {gives} (p {p_value}, corrected for {self.heads} heads)."
            f"{also if self.others else ''}",
            f"Chosen on all texts but one and scored on that one: difference {share(self.held_out)} "
            f"({interval(self.low, self.high)}) over {self.rounds:,} texts; {row['head']} is chosen "
            f"{row['chosen']:,} times.",
        )
