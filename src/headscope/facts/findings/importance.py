"""Findings on what the loss says of attention, and whether ablation agrees."""

from collections.abc import Iterator

import numpy as np

from headscope.facts.analyses.importance import agreement
from headscope.facts.findings.finding import Finding
from headscope.facts.scores import NOTHING, Score, compared
from headscope.facts.slices import head_values
from headscope.facts.subject import Subject
from headscope.facts.vocabulary import key_name
from headscope.facts.wording import heads_list, sentence


def importance(subject: Subject) -> Iterator[Finding]:
    """Which heads the loss hangs on, how much it minds attention to [SEP], and whether ablation agrees."""
    if not subject.has("head_importance"):
        return
    picked = head_values(subject.atlas, "head_importance", stack=subject.stack)
    order = picked.order()
    if not order:
        return
    value, error = picked.at(order[0])
    parts = sentence(
        f"By gradient, the loss depends most on {'head' if len(order) == 1 else 'heads'} ",
        heads_list(order[:5]),
        ": turning head ",
        order[0],
        f" down changes it at a rate of {value:.3g}{'' if error is None else f' ± {error:.2g}'} {picked.units}.",
    )
    number, units = (value, error), picked.units
    yield Finding.measured(subject, "Importance", parts, number, order[:5], units=units, probe="importance")
    yield from _separators(subject)
    for agreed in agreement(subject.atlas, stack=subject.stack)[:1]:
        rho = Score("Spearman's correlation", agreed.rho, agreed.low, agreed.high)
        yield Finding(
            "Importance",
            subject.stack,
            (str(agreed),),
            agreed.rho,
            interval=rho.interval,
            control=NOTHING,
            verdict=compared(rho, (NOTHING,)),
        )


def _separators(subject: Subject) -> Iterator[Finding]:
    """Attention to [SEP] that the loss does not mind is taken for doing nothing (Clark et al. 2019, section 3.2)."""
    means = subject.array("gradient_layer")
    sep, other = (means.sel(role=role).values for role in ("sep", "other"))
    layers = len(sep)
    half = layers // 2
    if half < 1 or not (np.isfinite(sep).all() and np.isfinite(other).all() and (other > 0).all()):
        return
    early, late = (float((sep / other)[part].mean()) for part in (slice(half), slice(half, None)))
    name = key_name(subject.atlas, subject.stack, "sep")
    text = (
        f"In the upper half of the layers the gradient of attention to {name} is {late:.2f} times that of attention to "
        f"everything else, in the lower half {early:.2f} times."
    )
    yield Finding("Importance", subject.stack, (text,), late)
