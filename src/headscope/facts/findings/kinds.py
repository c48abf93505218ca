"""Findings on kinds of heads, and on what their maps look like."""

from collections.abc import Iterator

from headscope.facts.analyses.kinds import PROBE, counted, how_sure
from headscope.facts.findings.finding import Finding
from headscope.facts.subject import Subject
from headscope.facts.wording import listed, share


def kinds(subject: Subject) -> Iterator[Finding]:
    """How many heads are of which kind, and whether to believe it."""
    if PROBE not in subject.derived:
        return
    facts = subject.derived[PROBE]["stacks"][subject.stack]
    rows = subject.atlas.table(PROBE, stack=subject.stack)
    text = f"{counted(rows, facts['k'])} {how_sure(facts)}".rstrip()
    yield Finding("Kinds", subject.stack, (text,), max(float(row["share"]) for row in rows))


def patterns(subject: Subject) -> Iterator[Finding]:
    """How common each pattern is in the model."""
    if not subject.has("pattern_share_whole"):
        return
    whole, errors = subject.array("pattern_share_whole"), subject.array("pattern_share_whole_stderr")
    shares = dict(zip(whole["pattern"].values.tolist(), whole.values.tolist(), strict=True))
    ranked = sorted(shares, key=lambda name: -shares[name])
    text = f"Of all attention maps {listed([f'{share(shares[name])} {name}' for name in ranked])}."
    most = shares[ranked[0]], float(errors.sel(pattern=ranked[0]))
    yield Finding.measured(subject, "Patterns", (text,), most, probe="patterns")
