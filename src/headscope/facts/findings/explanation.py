"""Findings on why heads do what they do."""

from collections.abc import Iterator
from typing import Any

from headscope.facts.explanations import CONTRASTS, EMBEDDINGS, REPLACED, best_neuron, cell, rows_of
from headscope.facts.findings.finding import Finding
from headscope.facts.scores import Score
from headscope.facts.slices import HeadValues, choices, head_values
from headscope.facts.subject import Subject
from headscope.facts.wording import amount, listed, sentence, share
from headscope.types import HeadId

TELLS = 0.8
"""The AUC from which on a head is named."""


def explanation(subject: Subject) -> Iterator[Finding]:
    """The head whose score fewest neurons carry, and the heads that need one thing and not the others."""
    if "explanation" not in subject.probes:
        return
    rows = rows_of(subject.atlas, subject.stack)
    yield from _fewest(subject, rows)
    for replaced in EMBEDDINGS:
        yield from _needs(subject, replaced)
    yield from _tells(subject)


def _fewest(subject: Subject, rows: list[dict[str, Any]]) -> Iterator[Finding]:
    known = [row for row in rows if best_neuron(row) is not None]
    if not known:
        return
    row = max(known, key=lambda one: cell(best_neuron(one)).value or 0.0)
    found, several = cell(best_neuron(row)), len(known) > 1
    random = cell(best_neuron(row, "score_random")).value
    beside = "" if random is None else f"; a neuron at random carries {share(random)}"
    best = row.get("best") or ["?"]
    head = HeadId.parse(str(row["head"]))
    most = f", the most of the {len(known)} heads that were explained" if several else ""
    carried = share(found.value or 0.0, found.stderr)
    parts = sentence(
        f"One neuron ({best[0]} of {row.get('neurons')}) carries {carried} of the score of head ",
        head,
        f"{most}{beside}.",
    )
    control = None if random is None else Score("a neuron at random", random)
    number = found.value or 0.0, found.stderr
    yield Finding.measured(subject, "Why", parts, number, [head], control=control, probe="explanation")


def _needs(subject: Subject, replaced: str) -> Iterator[Finding]:
    """The head that loses most without one kind of embedding, where it keeps most of itself without the others."""
    others = _by_label(subject, "pattern_left", "replaced", EMBEDDINGS)
    losing = others.pop(replaced, None)
    if losing is None or not others:
        return
    heads = [
        head
        for head in reversed(losing.order())
        if losing.at(head)[0] < 0.5 and all(one.at(head)[0] > 0.5 for one in others.values())
    ]
    if not heads:
        return
    value, error = losing.at(heads[0])
    kept = listed([f"{share(*one.at(heads[0]))} without {REPLACED[name]}" for name, one in others.items()])
    left = share(value, error) if value > 0 else "nothing"
    needs = f" needs {REPLACED[replaced]}: {left} of its pattern is left without them, {kept}."
    if len(heads) > 1:
        needs += f" {len(heads)} heads lose more than half so, and less than half otherwise."
    parts = sentence("Head ", heads[0], needs)
    yield Finding.measured(subject, "Why", parts, (value, error), heads, probe="explanation")


def _tells(subject: Subject) -> Iterator[Finding]:
    """The head whose score best tells each contrast, where it does so well."""
    for contrast, picked in _by_label(subject, "score_auc", "contrast", tuple(CONTRASTS)).items():
        head = picked.order()[0]
        value, error = picked.at(head)
        if value < TELLS:
            continue
        tells = f" best tells {CONTRASTS[contrast]}: AUC {amount(value, error, units='')}, where 0.50 tells nothing."
        parts = sentence("The score of head ", head, tells)
        yield Finding.measured(
            subject,
            "Why",
            parts,
            (value, error),
            [head],
            units="AUC",
            control=Score("no difference", 0.5),
            probe="explanation",
        )


def _by_label(subject: Subject, measure: str, dim: str, labels: tuple[str, ...]) -> dict[str, HeadValues]:
    """The numbers under each label that has any: a model without segments has none for those."""
    known = choices(subject.array(measure), dim) if subject.has(measure) else []
    return {
        label: head_values(subject.atlas, measure, select={dim: label}, stack=subject.stack)
        for label in labels
        if label in known
    }
