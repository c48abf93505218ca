"""The answer to "which head looks along these arrows?", in words and columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headscope.facts.description import ArrayText, Column, Description, Table
from headscope.facts.wording import count, interval, share
from headscope.stats.correction import SIGNIFICANT

HEADS = (
    Column("head"),
    Column("attention", "to the target", "percent"),
    Column("others", "to other words", "percent"),
    Column("score", "difference", "percent", low="low", high="high"),
    Column("p_value", "p", "p_value"),
    Column("chosen", "best in rounds"),
)

DESCRIPTION = Description(
    "find",
    title="Which head looks along these arrows?",
    question="Arrows go from one word to another. A head's score is the attention that the first word gives the "
    "second, minus the mean of what it gives to other words on the same side at about the same distance. p is the "
    "share of random choices of targets among those words in which any of the {heads} heads scores as much. In each "
    "round one text is left out and the best head chosen on the others.",
    outlook="which heads look along given arrows",
    group="Arrows (find)",
    tables=(Table(HEADS, "The best heads", title="Heads"),),
    arrays={
        "find_score": ArrayText(
            "Attention along the arrows, minus other words at that distance", "difference of attention"
        ),
        "find_attention": ArrayText("Attention along the arrows"),
        "find_p": ArrayText("p of attention along the arrows", "p", "number"),
    },
    texts="texts",
)


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
