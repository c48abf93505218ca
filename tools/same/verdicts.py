"""The table of verdicts: all that an atlas claims of heads, one row a claim, in one shape for all analyses.

A changed number may be rounding; a changed verdict is a changed result. The likeliest loss when results are laid out
anew is one of these (another family of tests, the wrong half of the texts, a control that is no longer there).
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from headscope.atlas import Atlas
from headscope.facts.analyses.probes import head_scores, tests_made
from headscope.facts.analyses.sweeps import SWEEP_KINDS, sweep_facts
from headscope.facts.analyses.uses import uses_of
from headscope.facts.analyses.writes import head_writes
from headscope.facts.card import cards
from headscope.facts.description import descriptions
from headscope.facts.findings import findings
from headscope.facts.head_arrays import head_arrays
from headscope.facts.scores import HeadScore, row_score
from headscope.types import HeadId

NAN = math.nan


class Verdict(NamedTuple):
    """One claim. Numbers that a claim does not have are nan; `against` is the strongest baseline it is held against."""

    stack: str
    analysis: str
    label: str
    head: str
    direction: str
    value: float
    low: float = NAN
    high: float = NAN
    against: float = NAN
    p: float = NAN
    tests: float = NAN
    outcome: str = ""

    @property
    def claim(self) -> tuple[str, ...]:
        """What the verdict is about: rows of two tables with the same claim are compared."""
        return self[:5]


def verdicts(atlas: Atlas) -> list[Verdict]:
    """All claims of an atlas, stack by stack."""
    return [
        verdict
        for stack in atlas.stacks
        for source in (best_heads, every_head, sweep_edits, relations_used, effects, searched, said, on_cards)
        for verdict in source(atlas, stack)
    ]


def best_heads(atlas: Atlas, stack: str) -> Iterator[Verdict]:
    """The rows of the probes' tables: heads that were chosen on other texts, or the best of all."""
    for probe, described in descriptions(atlas).items():
        for row in atlas.table(probe, stack=stack) if described.value else ():
            if score := row_score(row, described):
                yield scored(stack, f"{probe} table", score)


def every_head(atlas: Atlas, stack: str) -> Iterator[Verdict]:
    """Every head and label that a probe scored, corrected for the choice among all of them."""
    for head in heads_of(atlas, stack):
        for described, score in head_scores(atlas, stack, head):
            tests = tests_made(atlas, stack, described)
            yield scored(stack, f"{described.name} heads", score)._replace(tests=tests)


def scored(stack: str, analysis: str, score: HeadScore) -> Verdict:
    """A score of a head beside the strongest of its baselines."""
    best = score.best_baseline
    return Verdict(
        stack,
        analysis,
        score.label,
        str(score.head or ""),
        score.direction or "",
        score.score.value,
        number(score.score.low),
        number(score.score.high),
        NAN if best is None else best.value,
        outcome=f"{score.verdict}{', stands out' if score.stands_out else ''}",
    )


def sweep_edits(atlas: Atlas, stack: str) -> Iterator[Verdict]:
    """Every edit of an ablation and every metric; p is the one that the verdict rests on, after correction."""
    for name in SWEEP_KINDS:
        if name not in atlas.probes.get("ablation", {}).get("sweeps", {}):
            continue
        sweep = sweep_facts(atlas, name, stack=stack)
        for row in sweep.rows:
            for metric, change in row["change"].items():
                low, high = row["interval"][metric]
                yield Verdict(
                    stack,
                    f"ablation {name}: {metric}",
                    str(row["name"]),
                    row["heads"][0] if len(row["heads"]) == 1 else "",
                    "",
                    change,
                    number(low),
                    number(high),
                    p=number(row["adjusted_p"][metric]),
                    tests=(sweep.tests or {}).get(metric, NAN),
                    outcome="significant" if row["significant"][metric] else "not significant",
                )


def relations_used(atlas: Atlas, stack: str) -> Iterator[Verdict]:
    """Whether the model uses the relations that its heads find."""
    for use in uses_of(atlas, stack):
        yield Verdict(
            stack,
            "uses",
            use.relation,
            use.head,
            use.direction,
            use.difference,
            use.low,
            use.high,
            use.random,
            use.p_value,
            use.tests,
            use.verdict,
        )


def effects(atlas: Atlas, stack: str) -> Iterator[Verdict]:
    """What heads write into the output, beside their output at another position."""
    all_heads = heads_of(atlas, stack)
    for head in all_heads:
        written = head_writes(
            head_arrays(atlas, stack, head), atlas.sample_size("direct_effect"), heads=len(all_heads)
        )
        for effect in written.effects if written else ():
            score = effect.score
            yield Verdict(
                stack,
                "writes",
                effect.target,
                str(head),
                "",
                score.value,
                number(score.low),
                number(score.high),
                effect.control.value,
                tests=len(all_heads),
                outcome=effect.verdict,
            )


def searched(atlas: Atlas, stack: str) -> Iterator[Verdict]:
    """Heads that follow arrows somebody drew."""
    for row in atlas.table("find", stack=stack):
        yield Verdict(
            stack,
            "find",
            f"chosen {row['chosen']} times",
            str(row["head"]),
            "",
            row["score"],
            number(row["low"]),
            number(row["high"]),
            row["others"],
            row["p_value"],
        )


def said(atlas: Atlas, stack: str) -> Iterator[Verdict]:
    """The findings: what report, explorer and `show` say in sentences."""
    topics: dict[str, int] = {}
    for finding in findings(atlas, stack=stack):
        place = topics[finding.topic] = topics.get(finding.topic, 0) + 1
        low, high = finding.interval or (NAN, NAN)
        yield Verdict(
            stack,
            "findings",
            f"{finding.topic} {place}",
            " ".join(map(str, finding.heads)),
            "",
            finding.value,
            number(low),
            number(high),
            NAN if finding.control is None else finding.control.value,
            outcome=finding.verdict or "",
        )


def on_cards(atlas: Atlas, stack: str) -> Iterator[Verdict]:
    """What the card of each head claims, in its order."""
    for card in cards(atlas, stack):
        for place, claim in enumerate(card.claims):
            yield Verdict(
                stack,
                "cards",
                f"{place}: {claim.probe or 'attends to'} {claim.label or claim.text.partition(':')[0]}",
                str(card.head),
                "",
                claim.score.value,
                number(claim.score.low),
                number(claim.score.high),
                claim.control.value,
                tests=claim.doing,
            )


def heads_of(atlas: Atlas, stack: str) -> Sequence[HeadId]:
    """All heads of a stack."""
    layers, heads = atlas.shape(stack) or (0, 0)
    return [HeadId(layer, head) for layer in range(layers) for head in range(heads)]


def number(value: Any) -> float:
    """A number, nan for what is missing."""
    return NAN if value is None else float(value)
