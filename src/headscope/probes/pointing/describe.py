"""How to speak of probes that point: what they all have in common."""

from collections.abc import Mapping

from headscope.facts.description import (
    ArrayText,
    Baseline,
    Column,
    Description,
    EveryHead,
    Sentences,
    Table,
)

GUESSES = "share of right guesses"
CAPTION = (
    "A dot is a share of right guesses, its bar the 95% interval. Filled: the best head. "
    "Hollow: what needs no attention."
)


def pointing_description(
    name: str,
    *,
    title: str,
    question: str,
    subject: str,
    label: str,
    labels: str,
    finds: str,
    directions: tuple[str, str],
    baselines: tuple[Baseline, ...],
    sentences: Sentences,
    row: str = "",
    any_case: str = "any word",
    beside: tuple[Column, ...] = (),
    above: str = "above",
    names: Mapping[str, str] | None = None,
    group: str = "",
    texts: str = "sentences",
    chart: str = "",
    chart_caption: str = "",
) -> Description:
    """The description of a probe in which the head of a row guesses a word.

    `label` is the column and dimension of what rows are about, `labels` that in the plural, `finds` what a map of
    heads shows ("Finding the head of {}"). `beside` are the columns of the baselines, each its share by default.
    """
    shares = tuple(Column(rule.value, rule.name, "percent", 1, rule.low, rule.high) for rule in baselines)
    return Description(
        name,
        title=title,
        question=question,
        subject=subject,
        group=group,
        label=label,
        labels=labels,
        names=names or {},
        value="accuracy",
        value_name=GUESSES,
        baselines=baselines,
        is_choice=True,
        tables=(_best_heads(labels, Column(label, row or label.replace("_", " ")), beside or shares, above),),
        chart=chart or f"Best head of all {labels}",
        chart_caption=chart_caption or CAPTION,
        arrays=_arrays(name, finds, any_case),
        every_head=_of_every_head(name),
        directions=directions,
        texts=texts,
        sentences=sentences,
    )


def _best_heads(labels: str, first: Column, beside: tuple[Column, ...], above: str) -> Table:
    """The best head of every row, its score, and what it is held against."""
    columns = (
        first,
        Column("cases", "cases"),
        Column("head", "best head"),
        Column("direction", "direction", "direction"),
        Column("accuracy", "right", "percent", low="low", high="high"),
        *beside,
        Column("verdict", f"head {above}", "verdict"),
        Column("used", "used by the model"),
    )
    return Table(columns, f"The best head of all {labels}, the frequent first")


def _of_every_head(name: str) -> EveryHead:
    """Where the shares of right guesses of all heads stand."""
    whole, rules = f"{name}_overall", f"{name}_baseline"
    return EveryHead(f"{name}_accuracy", name, overall=whole, value_name=GUESSES, baseline=rules)


def _arrays(name: str, finds: str, any_case: str) -> dict[str, ArrayText]:
    """What the shares by label, and those over all cases, are called."""
    return {
        f"{name}_accuracy": ArrayText(finds, GUESSES, "guesses"),
        f"{name}_overall": ArrayText(finds.replace("{}", any_case), GUESSES, "guesses"),
    }
