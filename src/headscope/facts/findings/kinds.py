"""Findings on kinds of heads, and on heads that are almost the same."""

from collections.abc import Iterator
from typing import Any

from headscope.facts.findings.finding import Finding
from headscope.facts.subject import Subject
from headscope.facts.wording import count, heads_list, listed, share


def kinds(subject: Subject) -> Iterator[Finding]:
    """How many heads are of which kind, and whether to believe it."""
    if "types" not in subject.derived:
        return
    facts = subject.derived["types"]["stacks"][subject.stack]
    rows = sorted(subject.atlas.table("types", stack=subject.stack), key=lambda row: -row["heads"])
    counted = listed([f"{row['heads']} {row['type']}" for row in rows])
    text = f"Sorted into {facts['k']} kinds by where they look, the heads are {counted}. {how_sure(facts)}"
    yield Finding("Kinds", subject.stack, (text,), float(rows[0]["share"]))


def how_sure(facts: dict[str, Any]) -> str:
    """Whether kinds are well separated, and how many heads keep theirs when half of the data is left out."""
    if not facts["well_separated"]:
        return "These kinds are not well separated: read them as slices of one cloud."
    kept = [_kept(facts, half) for half, mean in facts["stability"].items() if mean is not None]
    if not kept:
        return ""
    return f"Do heads keep their kind in ten fits on half of the data? In the mean of several rounds {listed(kept)}."


def _kept(facts: dict[str, Any], half: str) -> str:
    """How many heads keep their kind, and whether that is called stable."""
    if "stability_mean" in facts:  # an atlas of an older headscope, whose `stability` is the median
        worst = share(facts["stability_worst"][half])
        return f"{share(facts['stability_mean'][half])} do on half of the {half} (in the worst round {worst})"
    low, high = facts["stability_low"][half], facts["stability_high"][half]
    verdict = "stable" if facts["stable"][half] else "not stable"
    return (
        f"{share(facts['stability'][half])} do on half of the {half} ({verdict}; in nine of ten rounds "
        f"{100 * low:.1f} to {share(high)})"
    )


def near_identical(subject: Subject) -> str:
    """Which heads look at texts almost alike, in a sentence."""
    groups = subject.likeness.groups()
    heads = sum(map(len, groups))
    if not groups:
        return "No two heads are closer than 0.05 nats: none is redundant by this measure."
    largest = "".join(map(str, heads_list(groups[0], most=8)))
    return (
        f"{count(heads, 'head')} are in {count(len(groups), 'group')} of near-identical ones, no two of a group "
        f"farther apart than 0.05 nats; the largest is {largest}."
    )
