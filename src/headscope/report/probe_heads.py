"""Sections on single heads that know something: syntax, coreference, semantic roles."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headscope import figures
from headscope.facts.probe_names import (
    NEAREST,
    RULES,
    SAME_WORD,
    chart_title,
    direction_name,
    mention_name,
    role_words,
)
from headscope.facts.scores import FEW_CASES, HeadScore, Score, best_heads, convincing
from headscope.facts.subject import Subject
from headscope.facts.wording import count, interval, share
from headscope.figures.dots import dots_size, shown_rows
from headscope.report.at_work import at_work
from headscope.report.pictures import Picture, picture
from headscope.report.section import Part, Section, Table


@dataclass(frozen=True)
class _Kind:
    """How the section of a probe is worded."""

    probe: str
    label_title: str
    labels: str  # what a row is about, in the plural
    caption: str  # of the chart


def dependency(subject: Subject, heads: int) -> Section:
    """Which head finds the head of a word, relation by relation."""
    kind = _Kind(
        "dependency",
        "Relation",
        "relations",
        "A dot is a share of right guesses, its bar the 95% interval. Filled: the best head of the relation. "
        "Hollow: the best fixed offset. Only where the bars are apart does the head know more than a "
        "distance.",
    )
    introduction = (
        "A head's guess for the syntactic head of a word is the other word that the word looks at most "
        "(dependent to head), or the one that looks at it most (head to dependent). Punctuation and roots do "
        "not ask. Beside every head stands what needs no attention: the best fixed offset, such as always "
        "guessing the next word."
    )
    return _section(
        subject,
        kind,
        title="Syntax: which head finds which relation",
        introduction=f"{introduction} {_chosen(subject, kind, heads)}",
        columns=(
            "Cases",
            "Best head",
            "Looks from",
            "Right",
            "95% interval",
            "Best offset",
            "Right",
            "95% interval",
            "Head above offset",
        ),
        cells=_dependency_cells,
    )


def _dependency_cells(row: HeadScore) -> tuple[str, ...]:
    offset = row.best_baseline
    return (
        *_head_cells(row),
        *_share_cells(row.score),
        "–" if offset is None else offset.detail,
        *(("–", "–") if offset is None else _share_cells(offset)),
        _verdict(row),
    )


def coreference(subject: Subject, heads: int) -> Section:
    """Which head finds what a mention refers to."""
    kind = _Kind(
        "coreference",
        "Mention",
        "kinds of mention",
        "A dot is a share of right guesses, its bar the 95% interval. Filled: the best head. Hollow: rules "
        "that know the words but look at no attention.",
    )
    introduction = (
        "A mention asks with its head word for an earlier mention of the same thing. Among the head words of "
        "all earlier mentions in the text, the head's guess is the one that the asking word looks at most "
        "(mention to antecedent), or that looks at it most (antecedent to mention). Beside it stand three "
        "rules without attention: the nearest mention, the nearest with the same head word, and a cascade of "
        "string match, number, gender and person."
    )
    return _section(
        subject,
        kind,
        title="Coreference: which head finds what a mention refers to",
        introduction=f"{introduction} {_chosen(subject, kind, heads)}",
        columns=(
            "Cases",
            "Best head",
            "Looks from",
            "Right",
            "95% interval",
            "Nearest",
            "Same word",
            "Rules",
            "95% interval",
            "Head above all",
        ),
        cells=_coreference_cells,
        name=mention_name,
    )


def _coreference_cells(row: HeadScore) -> tuple[str, ...]:
    known = {one.name: one for one in row.baselines}
    nearest, matched = (share(known[name].value) if name in known else "–" for name in (NEAREST, SAME_WORD))
    rules = _share_cells(known[RULES]) if RULES in known else ("–", "–")
    return (*_head_cells(row), *_share_cells(row.score), nearest, matched, *rules, _verdict(row))


def relations(subject: Subject, heads: int) -> Section:
    """Which head ties a predicate to its arguments."""
    kind = _Kind(
        "relations",
        "Role",
        "roles",
        "A dot is the attention between a predicate and its argument less that between other words of the "
        "same sentence that stand as far apart, its bar the 95% interval. At 0 the head does not care about "
        "the role.",
    )
    introduction = (
        "How much attention passes between a predicate and its argument: the strongest between any of their "
        "words, from predicate to argument or from argument to predicate, as a mean over pairs. The control "
        "is the same for all other places in the sentence at which such a pair would stand as far apart. A "
        "head that only looks a fixed distance away has a difference of 0."
    )
    attention = {
        str(row.get("role")): (row.get("attention"), row.get("control"))
        for row in subject.atlas.table("relations", stack=subject.stack)
    }

    def cells(row: HeadScore) -> tuple[str, ...]:
        numbers = (
            f"{one:.1%}" if isinstance(one, float) else "–" for one in attention.get(row.label, (None, None))
        )
        return (*_head_cells(row), *numbers, *_share_cells(row.score))

    return _section(
        subject,
        kind,
        title="Roles: which head ties a predicate to its arguments",
        introduction=f"{introduction} {_chosen(subject, kind, heads)}",
        columns=("Cases", "Best head", "Looks from", "Attention", "Control", "Difference", "95% interval"),
        cells=cells,
        name=role_words,
    )


def _section(
    subject: Subject,
    kind: _Kind,
    *,
    title: str,
    introduction: str,
    columns: tuple[str, ...],
    cells: Callable[[HeadScore], tuple[str, ...]],
    name: Callable[[str], str] = str,
) -> Section:
    rows = best_heads(subject.atlas, kind.probe, stack=subject.stack)
    enough = [row for row in rows if not row.has_few_cases]
    few = [row for row in rows if row.has_few_cases]
    ranked = convincing(rows)

    def table(found: Sequence[HeadScore], caption: str) -> Table:
        written = tuple((name(row.label), *cells(row)) for row in found)
        return Table(caption, (kind.label_title, *columns), written, is_figures=True)

    parts = []
    if rows:
        parts.append(Part("At a glance", pictures=[_chart(subject, kind, rows)]))
    if enough:
        parts.append(
            Part(
                "Best heads",
                tables=[table(enough, f"The best head of all {kind.labels}, the frequent first")],
            )
        )
    if few:
        told = f"{len(few)} {kind.labels} with fewer than {FEW_CASES} cases, which say little"
        parts.append(Part(told, tables=[table(few, f"Fewer than {FEW_CASES} cases")], is_folded=True))
    parts += at_work(subject, kind.probe, [row.label for row in ranked])
    return Section(f"probe-{kind.probe}", title, introduction, parts=parts)


def _chart(subject: Subject, kind: _Kind, rows: Sequence[HeadScore]) -> Picture:
    return picture(
        lambda ax: figures.relation_accuracy(subject.atlas, kind.probe, stack=subject.stack, ax=ax),
        size=dots_size(len(shown_rows(rows))),
        title=chart_title(kind.probe),
        caption=kind.caption,
        is_wide=True,
        least=0.8,
    )


def _chosen(subject: Subject, kind: _Kind, heads: int) -> str:
    """How the best heads were chosen, and what that does to their numbers."""
    facts = subject.probes[kind.probe]
    options = facts.get("options")
    on = options.get("chosen_on") if isinstance(options, dict) else None
    many = f"The best head of each row is the best of {count(2 * heads, 'candidate')} ({heads} heads, two directions)"
    if not on:
        return f"{many}, and the best of many looks better than it is."
    split = str(on).startswith("half of")
    known = options.get("chosen_on_hash") if isinstance(options, dict) else None
    if not split and (known == facts.get("data_hash") if known else on == facts.get("data")):
        return f"{many}, chosen on the very texts it is scored on, which flatters it."
    return (
        f"{many}, chosen on {on}. Its number is from texts that took no part in the choice, so the choice does not "
        "flatter it; the more rows there are, the more of them still lie outside their interval by chance."
    )


def _head_cells(row: HeadScore) -> tuple[str, str, str]:
    """How many cases, the best head, and which way it looks."""
    return (
        "–" if row.cases is None else f"{row.cases:,}",
        "–" if row.head is None else str(row.head),
        "–" if row.direction is None else direction_name(row.direction),
    )


def _share_cells(score: Score) -> tuple[str, str]:
    return share(score.value), _span(score)


def _span(score: Score) -> str:
    return interval(score.low, score.high) or "–"


_VERDICTS = {"above": "clearly", "below": "clearly not", "unclear": "not clearly", "too few": "too few cases"}
"""Whether the head is above what needs no attention."""


def _verdict(row: HeadScore) -> str:
    return _VERDICTS[row.verdict] if row.baselines else "–"
