"""Findings on why heads do what they do."""

from collections.abc import Iterable, Iterator

from headscope.facts.analyses.explanations import CONTRASTS, EMBEDDINGS, PROBE, explained_heads
from headscope.facts.findings.finding import Finding
from headscope.facts.scores import Score
from headscope.facts.slices import HeadValues, known_values
from headscope.facts.subject import Subject
from headscope.facts.wording import amount, listed, sentence, share
from headscope.types import HeadId

TELLS = 0.8
"""The AUC from which on a head is named."""


def explanation(subject: Subject) -> Iterator[Finding]:
    """The head whose score fewest neurons carry, and the heads that need one thing and not the others."""
    if PROBE not in subject.probes:
        return
    yield from _fewest(subject)
    for replaced in EMBEDDINGS:
        yield from _needs(subject, replaced)
    yield from _tells(subject)


def _fewest(subject: Subject) -> Iterator[Finding]:
    known = [row for row in explained_heads(subject.atlas, subject.stack) if row.carried]
    if not known:
        return
    row = max(known, key=lambda row: row.carried[0].score.number)
    score, random = row.carried[0].score, row.carried[0].score_random.value
    beside = "" if random is None else f"; a neuron at random carries {share(random)}"
    most = f", the most of the {len(known)} heads that were explained" if len(known) > 1 else ""
    head = HeadId.parse(row.head)
    carried = share(score.number, score.stderr)
    parts = sentence(
        f"One neuron ({row.best[0]} of {row.neurons}) carries {carried} of the score of head ",
        head,
        f"{most}{beside}.",
    )
    control = None if random is None else Score("a neuron at random", random)
    number = score.number, score.stderr
    yield Finding.measured(subject, "Why", parts, number, [head], control=control, probe=PROBE)


def _needs(subject: Subject, replaced: str) -> Iterator[Finding]:
    """The head that loses most without one kind of embedding, where it keeps most of itself without the others."""
    others = _by_label(subject, "pattern_left", "replaced", EMBEDDINGS)
    losing = others.pop(replaced, None)
    if losing is None or not others:
        return
    heads = [
        head
        for head in reversed(losing.order())
        if losing.at(head)[0] < 0.5 and all(other.at(head)[0] > 0.5 for other in others.values())
    ]
    if not heads:
        return
    value, error = losing.at(heads[0])
    kept = listed(
        [f"{share(*other.at(heads[0]))} without {EMBEDDINGS[name]}" for name, other in others.items()]
    )
    left = share(value, error) if value > 0 else "nothing"
    needs = f" needs {EMBEDDINGS[replaced]}: {left} of its pattern is left without them, {kept}."
    if len(heads) > 1:
        needs += f" {len(heads)} heads lose more than half of their pattern without them, and less without the others."
    parts = sentence("Head ", heads[0], needs)
    yield Finding.measured(subject, "Why", parts, (value, error), heads, probe=PROBE)


def _tells(subject: Subject) -> Iterator[Finding]:
    """The head whose score best tells each contrast, where it does so well."""
    for contrast, picked in _by_label(subject, "score_auc", "contrast", CONTRASTS).items():
        head = picked.order()[0]
        value, error = picked.at(head)
        if value < TELLS:
            continue
        tells = (
            f" best tells {CONTRASTS[contrast]}: AUC {amount(value, error, units='')}, where 0.50 is chance."
        )
        parts = sentence("The score of head ", head, tells)
        control = Score("no difference", 0.5)
        yield Finding.measured(
            subject, "Why", parts, (value, error), [head], units="AUC", control=control, probe=PROBE
        )


def _by_label(subject: Subject, measure: str, dim: str, labels: Iterable[str]) -> dict[str, HeadValues]:
    """The numbers under each label that has any: a model without segments has none for those."""
    picked = {label: known_values(subject.atlas, subject.stack, measure, {dim: label}) for label in labels}
    return {label: values for label, values in picked.items() if values is not None}
