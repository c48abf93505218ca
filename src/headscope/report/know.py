"""Findings on what heads know: syntax, coreference, semantic roles; each beside what needs no attention."""

from collections.abc import Iterator, Sequence

from headscope.figures.probe_words import direction_name, looks_back, mention_name
from headscope.figures.scores import ALL, FEW_CASES, BestHead, Score, best_heads
from headscope.report.finding import Finding, Subject
from headscope.report.probe_heads import convincing, is_clear
from headscope.report.relation_words import found_word, role_words
from headscope.report.wording import count, interval, listed, share

MOST = 6
_RULES = {
    "nearest mention": "the nearest mention",
    "nearest with the same head word": "the nearest with the same head word",
    "rules": "a cascade of rules",
}


def syntax(subject: Subject) -> Iterator[Finding]:
    """The relations that a head finds clearly more often than a fixed offset does."""
    rows = _rows(subject, "dependency")
    for row in rows:
        offset = row.best_baseline
        if row.label == ALL and offset is not None:
            start = (
                f"Head {row.head} finds the syntactic head of a word, whatever the relation, more often than any fixed "
                "offset"
                if row.is_above(offset)
                else f"Over all relations no head is clearly above the best fixed offset; head {row.head} is the best"
            )
            yield _finding(subject, "Syntax", f"{start}: {_beside(row, offset)}.", row)
    ranked = convincing(rows)
    for row in [row for row in ranked if is_clear(row)][:MOST]:
        offset = row.best_baseline
        if offset is not None:
            yield _finding(
                subject,
                "Syntax",
                f"Head {row.head} finds {found_word(row.label)}{_inward(row)}: {_beside(row, offset)}.",
                row,
            )
    yield from _tally(subject, "Syntax", ranked, "relation", "the best fixed offset")
    yield from _parsers(subject)


def coreference(subject: Subject) -> Iterator[Finding]:
    """How well a head finds what a mention refers to, beside rules."""
    for row in _rows(subject, "coreference"):
        if row.has_few_cases or not row.baselines:
            continue
        rules = listed([f"{share(one.value)} for {_RULES.get(one.name, one.name)}" for one in row.baselines])
        best = row.best_baseline
        verdict = ", clearly above all of them" if is_clear(row) else ""
        if (
            best is not None
            and best.low is not None
            and row.score.high is not None
            and row.score.high < best.low
        ):
            verdict = f"; {_RULES.get(best.name, best.name)} is clearly better"
        yield _finding(
            subject,
            "Coreference",
            f"Head {row.head} finds the antecedent of {mention_name(row.label)}{_inward(row)}: {_measured(row)}, "
            f"against {rules}{verdict}.",
            row,
        )


def roles(subject: Subject) -> Iterator[Finding]:
    """The roles between which and their predicate a head puts more attention than distance explains."""
    ranked = convincing(_rows(subject, "relations"))
    for row in [row for row in ranked if is_clear(row)][:MOST]:
        way = f", {direction_name(row.direction)}" if row.direction else ""
        sure = interval(row.score.low, row.score.high)
        yield _finding(
            subject,
            "Roles",
            f"Head {row.head} ties predicates to {role_words(row.label)}{way}: {share(row.score.value)} of "
            f"attention more than between other words as far apart (95% interval {sure}) in {_cases(row)}.",
            row,
        )


def _rows(subject: Subject, probe: str) -> list[BestHead]:
    """The rows of a probe that have a head; none when it was not run."""
    if probe not in subject.probes:
        return []
    return [row for row in best_heads(subject.atlas, probe, stack=subject.stack) if row.head is not None]


def _parsers(subject: Subject) -> Iterator[Finding]:
    """What all heads together know of syntax."""
    if "parser" not in subject.probes:
        return
    rows = {row.label: row for row in best_heads(subject.atlas, "parser", stack=subject.stack)}
    best = rows.get("attention")
    if best is None:
        return
    others = {
        "attention_words": "with word vectors",
        "best_offset": "for the best fixed offset",
        "distances_words": "for distances and word vectors",
        "random_attention": "for the same parser on a model with random weights",
    }
    beside = [f"{share(rows[name].score.value)} {words}" for name, words in others.items() if name in rows]
    text = f"A parser that only weighs the heads' attention gets {share(best.score.value)} of words right"
    sure = interval(best.score.low, best.score.high)
    text += f" (95% interval {sure})" if sure else ""
    text += f", against {listed(beside)}." if beside else "."
    yield Finding(subject.stack, "Syntax", text, (), best.score.value, None)


def _tally(
    subject: Subject, topic: str, ranked: Sequence[BestHead], what: str, baseline: str
) -> Iterator[Finding]:
    """In how many rows the best head is clearly above, and in which it is not."""
    if len(ranked) < 2:
        return
    clear = [row for row in ranked if is_clear(row)]
    text = f"Of {count(len(ranked), what)} with {FEW_CASES} cases or more, "
    text += f"{len(clear) or 'none'} {'have' if len(clear) > 1 else 'has'} a head clearly above {baseline}"
    unclear = [row.label for row in ranked if not is_clear(row)]
    text += f"; not {listed(unclear)}." if clear and 0 < len(unclear) <= MOST else "."
    yield Finding(subject.stack, topic, text, (), len(clear) / len(ranked), None)


def _finding(subject: Subject, topic: str, text: str, row: BestHead) -> Finding:
    heads = () if row.head is None else (row.head,)
    return Finding(subject.stack, topic, text, heads, row.score.value, None)


def _beside(row: BestHead, baseline: Score) -> str:
    which = f" ({baseline.detail})" if baseline.detail else ""
    return f"{_measured(row)}, against {share(baseline.value)} for the {baseline.name}{which}"


def _measured(row: BestHead) -> str:
    sure = interval(row.score.low, row.score.high)
    written = f" (95% interval {sure})" if sure else ""
    return f"{share(row.score.value)}{written} of {_cases(row)}"


def _cases(row: BestHead) -> str:
    return "the cases" if row.cases is None else count(row.cases, "case")


def _inward(row: BestHead) -> str:
    """Which way the head looks, where the word that asks is looked at."""
    if row.direction is None or not looks_back(row.direction):
        return ""
    return f" ({direction_name(row.direction)})"
