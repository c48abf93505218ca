"""Kinds of heads in words: the columns of their table, how sure they are, and which heads are almost the same."""

from collections.abc import Mapping, Sequence
from typing import Any

from headscope.facts.description import Column
from headscope.facts.scores import Verdict
from headscope.facts.wording import amount, count, heads_list, interval, listed, share
from headscope.kinds.kind_names import GROUPS
from headscope.kinds.likeness import THRESHOLD, Likeness
from headscope.stats.permutation import GroupTest

PROBE = "types"
SURE = 0.01
"""Below this p, layers are said to hold heads that are more, or less, alike."""

COLUMNS = (
    Column("type", "kind"),
    Column("heads"),
    Column("share", format="percent"),
    Column("published", "BERT-large, SQuAD", "percent"),
    *(Column(group, format="percent", digits=0) for group in GROUPS),
    Column("certainty", format="number", digits=2),
)
"""Of the table of kinds; the groups are where the attention of a kind's centre goes."""


def kind_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of the table of kinds with the groups as columns."""
    return [{**row, **row["attention"]} for row in rows]


def counted(rows: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> str:
    """How many heads are of which kind, the most common first, by the facts of the clustering."""
    by = "what they move" if facts.get("weigh") == "moved" else "where they look"
    ranked = sorted(rows, key=lambda row: -row["heads"])
    counts = listed([f"{row['heads']} {row['type']}" for row in ranked])
    rest = " once the first token is left out" if "first_token" in facts else ""
    return f"Sorted into {facts['k']} kinds by {by}{rest}, the heads are {counts}."


def recommended(facts: Mapping[str, Any]) -> str:
    """The number of kinds to take, where any is good."""
    return str(facts["recommended_k"]) if facts["has_structure"] else "none"


def stability(facts: Mapping[str, Any]) -> str:
    """How many heads keep their kind in ten fits on half of the data, for either sort of half; empty when not known."""
    return listed([_kept(facts, half) for half, mean in facts["stability"].items() if mean is not None])


def _kept(facts: Mapping[str, Any], half: str) -> str:
    mean, low, high, worst = (
        facts[name][half] for name in ("stability", "stability_low", "stability_high", "stability_worst")
    )
    verdict = "stable" if facts["stable"][half] else "not stable"
    return (
        f"{share(mean)} on half of the {half} ({verdict}; {interval(low, high)} in nine of ten rounds, "
        f"{share(worst)} in the worst)"
    )


def how_sure(facts: Mapping[str, Any]) -> str:
    """Whether kinds are well separated, and how many heads keep theirs when half of the data is left out."""
    if not facts["well_separated"]:
        return "These kinds are not well separated: read them as slices of a continuum."
    kept = stability(facts)
    return f"Heads that keep their kind in ten fits: {kept}." if kept else ""


def layers_alike(test: GroupTest, units: str) -> tuple[str, Verdict]:
    """Whether heads of one layer are more alike than chance has it, in a sentence and as a verdict."""
    verdict: Verdict = "below" if test.p_value < SURE else "above" if test.p_farther < SURE else "unclear"
    words = {"below": "more alike", "above": "less alike", "unclear": "not clearly more alike"}[verdict]
    p_value = test.p_farther if verdict == "above" else test.p_value
    text = (
        f"Heads of one layer are {words} than heads assigned to layers at random (p = {p_value:.2g}): "
        f"{amount(test.within, units=units, digits=3)} apart on average, against {test.between:,.3f} between layers."
    )
    return text, verdict


def near_identical(likeness: Likeness, *, threshold: float = THRESHOLD) -> str:
    """Which heads look at texts almost alike, in a sentence."""
    groups = likeness.groups(threshold=threshold)
    if not groups:
        return f"No two heads are closer than {threshold:g} nats: none is redundant by this measure."
    largest = "".join(map(str, heads_list(groups[0], most=8)))
    return (
        f"{count(sum(map(len, groups)), 'head')} are in {count(len(groups), 'group')} of near-identical ones, no two "
        f"of a group farther apart than {threshold:g} nats; the largest is {largest}."
    )
