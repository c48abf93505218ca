"""Findings on what heads know: syntax, coreference, semantic roles; each beside what needs no attention."""

from collections.abc import Iterator, Sequence

from headscope.facts.findings.finding import Finding
from headscope.facts.probe_names import (
    OFFSET,
    direction_name,
    found_word,
    looks_back,
    mention_name,
    role_words,
    rule_in_sentence,
)
from headscope.facts.scores import ALL, FEW_CASES, HeadScore, Score, best_heads, compared, convincing
from headscope.facts.subject import Subject
from headscope.facts.wording import Part, count, interval, listed, sentence, share
from headscope.types import HeadId

MOST = 6


def syntax(subject: Subject) -> Iterator[Finding]:
    """The relations that a head finds clearly more often than a fixed offset does."""
    rows = _rows(subject, "dependency")
    for row, head in rows:
        offset = row.best_baseline
        if row.label == ALL and offset is not None:
            start: tuple[Part, ...] = (
                (
                    "Head ",
                    head,
                    " finds the syntactic head of a word, whatever the relation, more often than any fixed offset",
                )
                if row.is_above
                else (
                    "Over all relations no head is clearly above the best fixed offset; head ",
                    head,
                    " is the best",
                )
            )
            yield _finding(subject, "Syntax", row, sentence(start, f": {_beside(row, offset)}."))
    ranked = convincing([row for row, _ in rows])
    heads = {row.label: head for row, head in rows}
    for row in [row for row in ranked if row.is_above][:MOST]:
        offset = row.best_baseline
        if offset is not None:
            does = f" finds {found_word(row.label)}{_inward(row)}: {_beside(row, offset)}."
            yield _finding(subject, "Syntax", row, sentence("Head ", heads[row.label], does))
    yield from _tally(subject, "Syntax", ranked, "relation", rule_in_sentence(OFFSET))
    yield from _parsers(subject)


def coreference(subject: Subject) -> Iterator[Finding]:
    """How well a head finds what a mention refers to, beside rules."""
    for row, head in _rows(subject, "coreference"):
        best = row.best_baseline
        if row.has_few_cases or best is None:
            continue
        rules = listed([f"{share(one.value)} for {rule_in_sentence(one.name)}" for one in row.baselines])
        verdict = {
            "above": ", clearly above all of them",
            "below": f"; {rule_in_sentence(best.name)} is clearly better",
        }.get(row.verdict, "")
        does = f" finds the antecedent of {mention_name(row.label)}{_inward(row)}: {_measured(row)}, against {rules}"
        yield _finding(subject, "Coreference", row, sentence("Head ", head, f"{does}{verdict}."))


def roles(subject: Subject) -> Iterator[Finding]:
    """The roles between which and their predicate a head puts more attention than distance explains."""
    rows = _rows(subject, "relations")
    heads = {row.label: head for row, head in rows}
    for row in [row for row in convincing([row for row, _ in rows]) if row.is_above][:MOST]:
        way = f", {direction_name(row.direction)}" if row.direction else ""
        sure = interval(row.score.low, row.score.high)
        ties = (
            f" ties predicates to {role_words(row.label)}{way}: {share(row.score.value)} of attention more than "
            f"between other words as far apart (95% interval {sure}) in {_cases(row)}."
        )
        yield _finding(subject, "Roles", row, sentence("Head ", heads[row.label], ties))


def _rows(subject: Subject, probe: str) -> list[tuple[HeadScore, HeadId]]:
    """The rows of a probe that have a head, and the head; none when it was not run."""
    if probe not in subject.probes:
        return []
    rows = best_heads(subject.atlas, probe, stack=subject.stack)
    return [(row, row.head) for row in rows if row.head is not None]


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
    controls = [rows[name].score for name in others if name in rows and rows[name].is_baseline]
    yield Finding(
        "Syntax",
        subject.stack,
        (text,),
        best.score.value,
        interval=best.score.interval,
        control=max(controls, key=lambda control: control.value, default=None),
        verdict=compared(best.score, controls) if controls else None,
    )


def _tally(
    subject: Subject, topic: str, ranked: Sequence[HeadScore], what: str, baseline: str
) -> Iterator[Finding]:
    """In how many rows the best head is clearly above, and in which it is not."""
    if len(ranked) < 2:
        return
    clear = [row for row in ranked if row.is_above]
    text = f"Of {count(len(ranked), what)} with {FEW_CASES} cases or more, "
    text += f"{len(clear) or 'none'} {'have' if len(clear) > 1 else 'has'} a head clearly above {baseline}"
    unclear = [row.label for row in ranked if not row.is_above]
    text += f"; not {listed(unclear)}." if clear and 0 < len(unclear) <= MOST else "."
    yield Finding(topic, subject.stack, (text,), len(clear) / len(ranked))


def _finding(subject: Subject, topic: str, row: HeadScore, parts: tuple[Part, ...]) -> Finding:
    return Finding(
        topic,
        subject.stack,
        parts,
        row.score.value,
        heads=() if row.head is None else (row.head,),
        interval=row.score.interval,
        control=row.best_baseline,
        verdict=row.verdict,
    )


def _beside(row: HeadScore, baseline: Score) -> str:
    which = f" ({baseline.detail})" if baseline.detail else ""
    return f"{_measured(row)}, against {share(baseline.value)} for the {baseline.name}{which}"


def _measured(row: HeadScore) -> str:
    sure = interval(row.score.low, row.score.high)
    written = f" (95% interval {sure})" if sure else ""
    return f"{share(row.score.value)}{written} of {_cases(row)}"


def _cases(row: HeadScore) -> str:
    return "the cases" if row.cases is None else count(row.cases, "case")


def _inward(row: HeadScore) -> str:
    """Which way the head looks, where the word that asks is looked at."""
    if row.direction is None or not looks_back(row.direction):
        return ""
    return f" ({direction_name(row.direction)})"
