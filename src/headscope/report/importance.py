"""Gradient importance on the page."""

from headscope.facts.agreement import agreement
from headscope.facts.findings.importance import agreement_words
from headscope.facts.slices import HeadValues, head_values
from headscope.facts.subject import Subject
from headscope.facts.sweeps import task_words
from headscope.facts.wording import amount, readable
from headscope.figures.importance import gradient_by_layer
from headscope.report.pictures import picture
from headscope.report.section import Section, Table

SIZE = (6.4, 3.4)
MOST_HEADS = 10


def importance_section(subject: Subject, _: int) -> Section:
    """Gradients by layer, the importance of every head, and whether ablation agrees."""
    options = subject.probes["importance"].get("options")
    options = options if isinstance(options, dict) else {}
    task = str(options.get("task", ""))
    does = task_words(task, options.get("does")) or "a task"
    picked = head_values(subject.atlas, "head_importance", stack=subject.stack)
    return Section(
        "importance",
        "Importance: what the loss says of attention",
        f"How much the loss of {does} would change with each attention weight (its gradient), "
        "and how fast it changes as a head's output is turned down. A large gradient says that it matters where a head "
        "looks; it speaks of small changes, and removing a head is not small.",
        [
            picture(
                lambda ax: gradient_by_layer(subject.atlas, stack=subject.stack, ax=ax),
                size=SIZE,
                title="Gradient of the loss by what is looked at",
                caption="The mean size of the loss's gradient with respect to attention weights, over all heads of a "
                "layer, with standard errors over texts. Where it is small, looking more or less at such tokens "
                "changes little.",
                is_wide=True,
            ),
        ],
        [_table(picked)],
        [agreement_words(one) for one in agreement(subject.atlas, stack=subject.stack)],
        {"Task": task} if task else {},
    )


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
