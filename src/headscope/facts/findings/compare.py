"""Findings on how heads differ from those of another model."""

from collections.abc import Iterator

import numpy as np

from headscope.facts.findings.finding import Finding
from headscope.facts.subject import Subject
from headscope.facts.wording import count, heads_list, sentence
from headscope.types import HeadId


def changes(subject: Subject) -> Iterator[Finding]:
    """Which layers changed, and whether it is their own doing."""
    if not subject.has("attention_change") or "compare" not in subject.probes:
        return
    change = subject.array("attention_change")
    own = [f"cosine_input_{giver}" for giver in "ab" if f"cosine_input_{giver}" in change["change"].values]
    values = change.sel(change="cosine").values
    error = subject.array("attention_change_stderr").sel(change="cosine").values
    third = max(1, round(len(values) / 3))
    most = int(values.argmax())
    text = (
        f"Beside {other_model(subject)}, attention changed most in layer {most} (1 - cosine {values[most]:.2f}); the "
        f"last {count(third, 'layer')} by {values[-third:].mean():.2f}, the first by {values[:third].mean():.2f}."
    )
    if own:
        alone = [change.sel(change=name).values for name in own]
        parts = [f"{one[-third:].mean():.3f} and {one[:third].mean():.3f}" for one in alone]
        text += (
            f" By their own weights alone it would be {parts[0]} on the first model's hidden states, {parts[1]} on "
            "the second's."
        )
    stderr = float(error[most]) if np.isfinite(error[most]) else None
    yield Finding.measured(subject, "Change", (text,), (float(values[most]), stderr), probe="compare")
    if subject.has("kind_transitions"):
        yield _moved(subject)


def _moved(subject: Subject) -> Finding:
    before, after = (
        subject.array(name).transpose("layer", "head").values for name in ("kind_before", "kind_after")
    )
    heads = tuple(HeadId(int(layer), int(head)) for layer, head in np.argwhere(before != after))
    changed = f"{len(heads)} of {before.size} heads changed their kind"
    parts = sentence(changed, (": ", *heads_list(heads)) if heads else "", ".")
    return Finding("Change", subject.stack, parts, len(heads) / before.size, heads=heads)


def other_model(subject: Subject) -> str:
    """The model that this one was compared with."""
    options = subject.probes["compare"].get("options")
    return str(options.get("against")) if isinstance(options, dict) else "another model"
