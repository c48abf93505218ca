"""Gradient importance on the page: the section, and what is found."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from headscope.figures.grid import grid_size
from headscope.figures.importance import gradient_by_layer, importance_grid, key_name, readable
from headscope.figures.slices import HeadValues, head_values
from headscope.importance import Agreement, agreement
from headscope.report.ablation import TASKS
from headscope.report.finding import Finding, Subject
from headscope.report.grids import array_of, key_of
from headscope.report.pictures import picture
from headscope.report.section import Section, Table
from headscope.report.wording import amount, heads_list

SIZE = (6.4, 3.4)
MOST_HEADS = 10

_CHANGES = {"worse": "how much worse it gets", "either way": "for better or worse"}


def importance_section(subject: Subject, _: int) -> Section:
    """Gradients by layer, the importance of every head, and whether ablation agrees."""
    options = subject.probes["importance"].get("options")
    task = str(options.get("task", "")) if isinstance(options, dict) else ""
    picked = _importance(subject)
    return Section(
        "importance",
        "Importance: what the loss says of attention",
        f"How much the loss of {TASKS.get(task, 'a task')} would change with each attention weight (its gradient), and "
        "how fast it changes as a head's output is turned down. A large gradient says that it matters where a head "
        "looks; it speaks of small changes, and removing a head is not small.",
        [
            picture(
                lambda ax: gradient_by_layer(subject.atlas, stack=subject.stack, ax=ax),
                size=SIZE,
                title="Gradient of the loss by what is looked at",
                caption="The mean size of the loss's gradient with respect to attention weights, over all heads of a "
                "layer, with standard errors over texts. Where it is small, looking more or less at such tokens "
                "changes little.",
                key=key_of(subject, "importance-layers"),
                is_wide=True,
            ),
            picture(
                lambda ax: importance_grid(subject.atlas, stack=subject.stack, ax=ax),
                size=grid_size(*picked.values.shape),
                title="Importance of every head, by gradient",
                caption="The stronger the colour, the faster the loss changes, for better or worse, as the head is "
                "turned down; the mean over texts.",
                key=key_of(subject, "importance-grid"),
            ),
        ],
        [_table(picked)],
        [_agrees(one) for one in agreement(subject.atlas, stack=subject.stack)],
        {"Task": task} if task else {},
    )


def importance(subject: Subject) -> Iterator[Finding]:
    """Which heads the loss hangs on, how much it minds attention to [SEP], and whether ablation agrees."""
    if not subject.has("head_importance"):
        return
    picked = _importance(subject)
    order = picked.order()
    if not order:
        return
    value, error = picked.at(order[0])
    text = (
        f"By gradient, the loss hangs most on {_heads(order[:5])}: turning head {order[0]} down changes it at a rate "
        f"of {value:.3g}{'' if error is None else f' ± {error:.2g}'} {picked.units}."
    )
    yield Finding(subject.stack, "Importance", text, tuple(order[:5]), value, error, picked.units)
    yield from _separators(subject)
    for one in agreement(subject.atlas, stack=subject.stack)[:1]:
        yield Finding(subject.stack, "Importance", _agrees(one), (), one.rho, None)


def _separators(subject: Subject) -> Iterator[Finding]:
    """Attention to [SEP] that the loss does not mind is taken for doing nothing (Clark et al. 2019, section 3.2)."""
    means = array_of(subject, "gradient_layer")
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
    yield Finding(subject.stack, "Importance", text, (), late, None)


def _agrees(one: Agreement) -> str:
    edited = {
        "zero": "removing heads",
        "uniform": "making heads look evenly",
        "mean": "replacing heads by their mean",
    }
    other = "" if one.same_data else ", on other data,"
    return (
        f"Importance by gradient and what {edited.get(one.edit, 'editing heads')} one by one{other} does to "
        f"{one.metric} ({_CHANGES[one.change]}) "
        f"correlate by {one.rho:.2f} (Spearman; 95 % interval {one.low:.2f} to {one.high:.2f}, p {one.p:.2g}, "
        f"{one.heads} heads)."
    )


def _heads(heads: list[Any]) -> str:
    return f"{'head' if len(heads) == 1 else 'heads'} {heads_list(heads)}"


def _importance(subject: Subject) -> HeadValues:
    return head_values(subject.atlas, "head_importance", stack=subject.stack)


def _table(picked: HeadValues) -> Table:
    order = picked.order()[:MOST_HEADS]
    factor, unit = readable(picked.at(order[0])[0] if order else 0.0, picked.units)
    rows = []
    for head in order:
        value, error = picked.at(head)
        told = amount(factor * value, None if error is None else factor * error, units="")
        rows.append((str(head), told))
    return Table(
        f"The most important heads by gradient, in {unit}, with standard errors over texts",
        ("Head", "Importance"),
        tuple(rows),
        is_figures=True,
    )
