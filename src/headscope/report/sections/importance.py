"""Gradient importance on the page."""

from headscope.facts.analyses.importance import agreement, head_table
from headscope.facts.subject import Subject, options_of
from headscope.figures.importance import gradient_by_layer
from headscope.report.pictures import stack_picture
from headscope.report.section import Section, Table

SIZE = (6.4, 3.4)


def importance_section(subject: Subject) -> Section:
    """Gradients by layer, the importance of every head, and whether ablation agrees."""
    options = options_of(subject.probes["importance"])
    task = str(options.get("task", ""))
    does = options.get("does") or task or "a task"
    heads = head_table(subject.atlas, subject.stack)
    return Section(
        "importance",
        "Which attention does the loss depend on?",
        f"How much the loss of {does} would change with each attention weight (its gradient), and how fast it changes "
        "as a head's output is turned down. A large gradient means that it matters where a head looks. Gradients "
        "describe small changes, and removing a head is not small.",
        [
            stack_picture(
                subject,
                gradient_by_layer,
                size=SIZE,
                title="Gradient of the loss by what is looked at",
                caption="The mean size of the loss's gradient with respect to attention weights, over all heads of a "
                "layer, with standard errors over texts. Where it is small, looking more or less at such tokens "
                "changes little.",
            ),
        ],
        [Table(heads.caption, heads.columns, heads.rows, is_figures=True)],
        [str(agreed) for agreed in agreement(subject.atlas, stack=subject.stack)],
        {"Task": task} if task else {},
    )
