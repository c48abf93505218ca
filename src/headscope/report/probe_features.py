"""Sections on classes of words that get attention, and on parsers made of all heads together."""

from collections.abc import Mapping, Sequence
from typing import Any

from headscope import figures
from headscope.facts.probe_names import chart_title, row_name
from headscope.facts.scores import best_heads, number
from headscope.facts.subject import Subject
from headscope.facts.vocabulary import class_name
from headscope.facts.wording import interval
from headscope.figures.dots import dots_size, shown_rows
from headscope.report.pictures import Picture, picture
from headscope.report.probe_table import plain, plain_table
from headscope.report.section import Part, Section, Table

Row = Mapping[str, Any]


def features(subject: Subject, heads: int) -> Section:
    """How much attention nouns, verbs and other classes get."""
    rows = subject.atlas.table("features", stack=subject.stack)
    parts = [Part("Heads that look most at each class", tables=_feature_tables(subject, rows))]
    changed = _change_table(subject, rows)
    if changed is not None:
        about = (
            "The head that changed most, with an interval wide enough for all heads and classes that were "
            "looked at: the largest of many changes is always large."
        )
        parts.append(Part("What changed between the models", about, tables=[changed]))
    return Section(
        "probe-features",
        "Words that get attention: nouns, verbs, subjects, negation",
        "How much attention a class of words gets: that of its most attended token in a text, from all "
        "tokens on average, then the mean over the texts that have the class. A class with many words has a "
        "better chance of one that is attended, so compare it with the control, as many tokens drawn at "
        "random, and with even attention. The preference is free of that: 1 is none. The head named for a "
        f"class is the highest of {heads} on these same texts, which flatters it a little.",
        parts=[part for part in parts if part.tables or part.pictures],
    )


def _feature_tables(subject: Subject, rows: Sequence[Row]) -> list[Table]:
    known = {"feature", "queries", "head", "attention", "preference_head", "preference"}
    if not rows or not known <= set(rows[0]):
        table = plain_table(rows, "What each class of words gets")
        return [table] if table is not None else []
    captions = {
        "all": "From all tokens",
        "cls": "From [CLS] in the last layer alone, where classifiers read",
    }
    columns = ("Class", "Texts", "Head", "Attention", "Control", "Evenly", "Head by preference", "Preference")
    return [
        Table(
            captions.get(queries, f"From {queries}"),
            columns,
            tuple(_feature_row(subject, row) for row in rows if str(row.get("queries")) == queries),
        )
        for queries in dict.fromkeys(str(row.get("queries")) for row in rows)
    ]


def _feature_row(subject: Subject, row: Row) -> tuple[str, ...]:
    return (
        class_name(subject.atlas, subject.stack, str(row.get("feature"))),
        plain(row.get("texts")),
        plain(row.get("head")),
        _percent(row, "attention"),
        _percent(row, "control"),
        _percent(row, "uniform"),
        plain(row.get("preference_head")),
        _times(row, "preference"),
    )


def _change_table(subject: Subject, rows: Sequence[Row]) -> Table | None:
    """What a second model gives, and the head that changed most; None for one model."""
    if not any("change" in row for row in rows):
        return None
    found = []
    for row in rows:
        low, high = number(row.get("change_low")), number(row.get("change_high"))
        sure = {True: "yes", False: "no"}.get(bool(row.get("change_sure")), "–")
        found.append(
            (
                class_name(subject.atlas, subject.stack, str(row.get("feature")))
                + (", from [CLS]" if row.get("queries") == "cls" else ""),
                f"{plain(row.get('head'))}: {_percent(row, 'attention')}",
                f"{plain(row.get('head_against'))}: {_percent(row, 'attention', '_against')}",
                plain(row.get("change_head")),
                _points(number(row.get("change"))),
                "–" if low is None or high is None else f"{_points(low)} to {_points(high)}",
                sure,
            )
        )
    columns = ("Class", "Most, first model", "Most, second model", "Changed most", "By", "Interval", "Sure")
    return Table("Attention in both models, and the change in points of attention", columns, tuple(found))


def _percent(row: Row, quantity: str, model: str = "") -> str:
    """A share of attention with its error; `model` is how the columns of the second one end."""
    value, error = number(row.get(f"{quantity}{model}")), number(row.get(f"{quantity}_stderr{model}"))
    if value is None:
        return "–"
    return f"{value:.1%}" + ("" if error is None else f" ± {100 * error:.1f}")


def _times(row: Row, key: str) -> str:
    value, error = number(row.get(key)), number(row.get(f"{key}_stderr"))
    if value is None:
        return "–"
    return f"{value:.2f}" + ("" if error is None else f" ± {error:.2f}")


def _points(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:+.1f}"


def parser(subject: Subject, heads: int) -> Section:
    """How much syntax all heads together hold."""
    rows = best_heads(subject.atlas, "parser", stack=subject.stack)
    table = _parser_table(subject.atlas.table("parser", stack=subject.stack))
    parts = []
    if rows:
        parts.append(Part("At a glance", pictures=[_parser_chart(subject, len(shown_rows(rows)))]))
    if table is not None:
        parts.append(Part("Scores", tables=[table]))
    return Section(
        "probe-parser",
        "Parsing: how much syntax all heads together hold",
        "A small parser chooses the head of every word by the weighted sum of all heads' attention in both "
        f"directions; only the weights of the {heads} heads are learned, on other sentences than those scored "
        "here. With word vectors the weights depend on the two words. What needs no attention stands beside "
        "it, and so do the same parsers on a model of the same shape with random weights: what these reach "
        "is not knowledge of the model.",
        parts=parts,
    )


def _parser_table(rows: Sequence[Row]) -> Table | None:
    """The scores in per cent, and whatever else the probe tells about each parser."""
    caption = "Share of words with the right head (UAS)"
    if not any("uas" in row for row in rows):
        return plain_table(rows, caption)
    shares = {key: title for key, title in _SHARES.items() if any(key in row for row in rows)}
    told = ("parser", "uas", "uas_stderr", "low", "high", "interval_over", "interval_count", *shares)
    others = plain_table([{key: row[key] for key in row if key not in told} for row in rows], "")
    more = others or Table("", (), ((),) * len(rows))
    return Table(
        caption,
        ("Parser", "Right", "95% interval", *shares.values(), *more.columns),
        tuple(
            (
                row_name("parser", str(row.get("parser"))),
                _percent(row, "uas"),
                interval(number(row.get("low")), number(row.get("high"))) or "–",
                *(_percent(row, key) for key in shares),
                *cells,
            )
            for row, cells in zip(rows, more.rows, strict=True)
        ),
        is_figures=True,
    )


_SHARES = {"uas_headed": "Without roots", "dev_uas": "On dev"}
"""Other shares of right words that the probe tells about a parser."""


def _parser_chart(subject: Subject, rows: int) -> Picture:
    return picture(
        lambda ax: figures.relation_accuracy(subject.atlas, "parser", stack=subject.stack, ax=ax),
        size=dots_size(rows),
        title=chart_title("parser"),
        caption="A dot is the share of words whose head is found (UAS), its bar the 95% interval.",
        is_wide=True,
        least=0.8,
    )
