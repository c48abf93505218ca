"""Findings on how heads differ from those of another model."""

from collections.abc import Iterator

import numpy as np

from headscope.atlas.files import MOVED
from headscope.facts.analyses.two_models.comparisons import PROBE, other_model, thirds
from headscope.facts.findings.finding import Finding
from headscope.facts.subject import Subject
from headscope.facts.wording import count, heads_list, sentence
from headscope.types import HeadId


def changes(subject: Subject) -> Iterator[Finding]:
    """Which layers changed, and whether it is their own doing; by where heads look, and by what they move."""
    for ending in ("", MOVED):
        if subject.has(f"attention_change{ending}") and PROBE + ending in subject.probes:
            yield from _changes(subject, ending)


def _changes(subject: Subject, ending: str) -> Iterator[Finding]:
    change, probe = subject.array(f"attention_change{ending}"), PROBE + ending
    what = "what heads move" if ending else "attention"
    by_name = {str(name): change.sel(change=name).values for name in change.labels["change"]}
    values = by_name["cosine"]
    third, most = thirds(len(values)), int(values.argmax())
    text = (
        f"Beside {other_model(subject.probes[probe])}, {what} changed most in layer {most} (1 - cosine "
        f"{values[most]:.2f}); the last {count(third, 'layer')} by {values[-third:].mean():.2f}, the first by "
        f"{values[:third].mean():.2f}."
    )
    own = [by_name[f"cosine_input_{giver}"] for giver in "ab" if f"cosine_input_{giver}" in by_name]
    if own:
        ends = [f"{alone[-third:].mean():.3f} and {alone[:third].mean():.3f}" for alone in own]
        text += (
            f" By their own weights alone it would be {ends[0]} on the first model's hidden states, {ends[1]} on "
            "the second's."
        )
    error = float(subject.array(f"attention_change{ending}_stderr").sel(change="cosine").values[most])
    number = float(values[most]), error if np.isfinite(error) else None
    yield Finding.measured(subject, "Change", (text,), number, probe=probe)
    if subject.has(f"kind_transitions{ending}"):
        yield _changed_kind(subject, ending)


def _changed_kind(subject: Subject, ending: str) -> Finding:
    before, after = (
        subject.array(name + ending).transpose("layer", "head").values
        for name in ("kind_before", "kind_after")
    )
    heads = tuple(HeadId(int(layer), int(head)) for layer, head in np.argwhere(before != after))
    by = " by what they move" if ending else ""
    changed = f"{len(heads)} of {before.size} heads changed their kind{by}"
    parts = sentence(changed, (": ", *heads_list(heads)) if heads else "", ".")
    return Finding("Change", subject.stack, parts, len(heads) / before.size, heads=heads)
