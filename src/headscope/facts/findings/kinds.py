"""Findings on kinds of heads, and on what their maps look like."""

from collections.abc import Iterator

from headscope.atlas.files import MOVED
from headscope.facts.analyses.kinds import PROBE, counted, how_sure
from headscope.facts.findings.finding import Finding
from headscope.facts.subject import Subject
from headscope.facts.wording import listed, share


def kinds(subject: Subject) -> Iterator[Finding]:
    """How many heads are of which kind, and whether to believe it."""
    for probe in (PROBE, f"{PROBE}{MOVED}"):
        if probe in subject.derived:
            facts = subject.derived[probe]["stacks"][subject.stack]
            rows = subject.atlas.table(probe, stack=subject.stack)
            text = f"{counted(rows, facts)} {how_sure(facts)}".rstrip()
            yield Finding("Kinds", subject.stack, (text,), max(float(row["share"]) for row in rows))


def patterns(subject: Subject) -> Iterator[Finding]:
    """How common each pattern is in the model."""
    for ending, maps in (("", "attention maps"), (MOVED, "maps of what heads move")):
        name = f"pattern_share_whole{ending}"
        if subject.has(name):
            whole, errors = subject.array(name), subject.array(f"{name}_stderr")
            shares = dict(zip(map(str, whole.labels["pattern"]), whole.values.tolist(), strict=True))
            ranked = sorted(shares, key=lambda name: -shares[name])
            text = f"Of all {maps} {listed([f'{share(shares[name])} {name}' for name in ranked])}."
            most = shares[ranked[0]], errors.number(pattern=ranked[0])
            yield Finding.measured(subject, "Patterns", (text,), most, probe=f"patterns{ending}")
