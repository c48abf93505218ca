"""Findings on what attention maps look like."""

from collections.abc import Iterator

from headscope.facts.findings.finding import Finding
from headscope.facts.subject import Subject
from headscope.facts.wording import listed, sentence, share


def patterns(subject: Subject) -> Iterator[Finding]:
    """How common each pattern is in the model."""
    arrays = subject.atlas.stack(subject.stack)
    if "pattern_share_whole" not in arrays:
        return
    whole, error = arrays["pattern_share_whole"], arrays["pattern_share_whole_stderr"]
    ranked = sorted(whole["pattern"].values.tolist(), key=lambda name: -float(whole.sel(pattern=name)))
    told = [f"{share(float(whole.sel(pattern=name)))} {name}" for name in ranked]
    most = float(whole.sel(pattern=ranked[0]))
    parts = sentence(f"Of all attention maps {listed(told)}.")
    yield Finding.measured(
        subject, "Patterns", parts, (most, float(error.sel(pattern=ranked[0]))), probe="patterns"
    )
