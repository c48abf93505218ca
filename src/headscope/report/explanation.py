"""Why heads do what they do, on the page: the section, and what is found."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from headscope import figures
from headscope.figures.explanation import CONTRASTS, MOST_HEADS, REPLACED, cell, left_size, rows_of
from headscope.figures.slices import HeadValues, choices, head_values
from headscope.report.finding import Finding, Subject
from headscope.report.grids import array_of, grid, key_of
from headscope.report.pictures import Picture, picture
from headscope.report.section import Part, Section, Table
from headscope.report.wording import amount, listed, share
from headscope.types import HeadId

SIZE = (4.6, 3.2)
SHOWN = 4
"""Of how many heads the shares are drawn."""
TELLS = 0.8
"""The AUC from which on a head is named."""
_PARTS = ("token", "position", "segment")


def explanation_section(subject: Subject, _: int) -> Section:
    """What carries scores, what scores tell apart, and what of the patterns is left."""
    rows = rows_of(subject.atlas, subject.stack)
    return Section(
        "explanation",
        "Why heads do it: what carries their scores",
        "A head's score is a sum over its neurons of query times key. The share of the best few neurons is what they "
        "carry of how much the score varies over keys; they were chosen on one half of the texts and scored on the "
        "other. What is left of a pattern says how near the head's map stays when embeddings are replaced by their "
        "mean everywhere: 1 is the same map, 0 no better than even attention. The parts do not add up to 1, and in "
        "deep layers they act through all layers below.",
        [*_carried(subject, rows), *_left(subject, rows)],
        [_table(rows)] if rows else [],
        parts=_grids(subject),
    )


def explanation(subject: Subject) -> Iterator[Finding]:
    """The head whose score fewest neurons carry, and the heads that need one thing and not the others."""
    if "explanation" not in subject.probes:
        return
    rows = rows_of(subject.atlas, subject.stack)
    yield from _fewest(subject, rows)
    for replaced in _PARTS:
        yield from _needs(subject, replaced)
    yield from _tells(subject)


def _fewest(subject: Subject, rows: list[dict[str, Any]]) -> Iterator[Finding]:
    known = [row for row in rows if _first(row) is not None]
    if not known:
        return
    row = max(known, key=lambda one: cell(_first(one)).value or 0.0)
    found, several = cell(_first(row)), len(known) > 1
    random = cell(_first(row, "score_random")).value
    beside = "" if random is None else f"; a neuron at random carries {share(random)}"
    best = row.get("best") or ["?"]
    head = HeadId.parse(str(row["head"]))
    most = f", the most of the {len(known)} heads that were explained" if several else ""
    text = (
        f"One neuron ({best[0]} of {row.get('neurons')}) carries {share(found.value or 0.0, found.stderr)} of the "
        f"score of head {head}{most}{beside}."
    )
    yield Finding(subject.stack, "Why", text, (head,), found.value or 0.0, found.stderr)


def _needs(subject: Subject, replaced: str) -> Iterator[Finding]:
    """The head that loses most without one kind of embedding, where it keeps most of itself without the others."""
    others = _by_label(subject, "pattern_left", "replaced", _PARTS)
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
    text = f"Head {heads[0]} needs {REPLACED[replaced]}: {left} of its pattern is left without them, {kept}."
    if len(heads) > 1:
        text += f" {len(heads)} heads lose more than half so, and less than half otherwise."
    yield Finding(subject.stack, "Why", text, tuple(heads), value, error)


def _tells(subject: Subject) -> Iterator[Finding]:
    """The head whose score best tells each contrast, where it does so well."""
    for contrast, picked in _by_label(subject, "score_auc", "contrast", tuple(CONTRASTS)).items():
        head = picked.order()[0]
        value, error = picked.at(head)
        if value < TELLS:
            continue
        told = amount(value, error, units="")
        text = f"The score of head {head} best tells {CONTRASTS[contrast]}: AUC {told}, where 0.50 tells nothing."
        yield Finding(subject.stack, "Why", text, (head,), value, error, "AUC")


def _by_label(subject: Subject, measure: str, dim: str, labels: tuple[str, ...]) -> dict[str, HeadValues]:
    """The numbers under each label that has any: a model without segments has none for those."""
    known = choices(array_of(subject, measure), dim) if subject.has(measure) else []
    return {
        label: head_values(subject.atlas, measure, select={dim: label}, stack=subject.stack)
        for label in labels
        if label in known
    }


def _first(row: dict[str, Any], key: str = "score") -> object:
    """What the one best neuron carries; None where nothing is known."""
    carries = row.get("carries") or [{}]
    found = carries[0].get(key)
    return found if cell(found).value is not None else None


def _carried(subject: Subject, rows: list[dict[str, Any]]) -> list[Picture]:
    """Of the heads whose best neuron carries the most."""
    known = sorted(
        (row for row in rows if _first(row) is not None), key=lambda row: -(cell(_first(row)).value or 0.0)
    )
    return [_shares(subject, row) for row in known[:SHOWN]]


def _shares(subject: Subject, row: dict[str, Any]) -> Picture:
    head = str(row["head"])
    best = ", ".join(map(str, row.get("best") or []))
    return picture(
        lambda ax: figures.explanation(subject.atlas, head, stack=subject.stack, ax=ax),
        size=SIZE,
        title=f"What carries the score of head {head}",
        caption="How much of the score's variance over keys the best 1, 2, 4 and 8 neurons carry, with standard "
        f"errors over texts, beside as many at random. Best first: {best}.",
        key=key_of(subject, f"explanation-{head}"),
    )


def _left(subject: Subject, rows: list[dict[str, Any]]) -> list[Picture]:
    known = [
        row for row in rows if any(cell(one.get("left")).value is not None for one in row.get("left") or [])
    ]
    if not known:
        return []
    return [
        picture(
            lambda ax: figures.pattern_left(subject.atlas, stack=subject.stack, ax=ax),
            size=left_size(min(MOST_HEADS, len(known))),
            title="What is left of the pattern",
            caption="A row a head, those first that lose most without something. At the solid line the whole pattern "
            "is left; at the dashed line and below it the map is no nearer than even attention.",
            key=key_of(subject, "explanation-left"),
            is_wide=True,
        )
    ]


def _grids(subject: Subject) -> list[Part]:
    """Maps over all heads, where many were explained."""
    if not subject.has("pattern_left") or not subject.has("score_share"):
        return []
    left, carried = choices(array_of(subject, "pattern_left"), "replaced"), array_of(subject, "score_share")
    if np.isfinite(carried.values).any(axis=-1).sum() < 2 * MOST_HEADS:
        return []
    pictures = [
        grid(subject, "score_share", {"neurons": count}, "") for count in choices(carried, "neurons")[:1]
    ]
    pictures += [grid(subject, "pattern_left", {"replaced": name}, "") for name in _PARTS if name in left]
    return [Part("Every head", pictures=pictures, is_folded=True)]


def _table(rows: list[dict[str, Any]]) -> Table:
    shown = sorted(rows, key=lambda row: -(cell(_first(row)).value or 0.0))[:MOST_HEADS]
    return Table(
        "What carries the score and what is left of the pattern, with standard errors over texts"
        + (
            ""
            if len(rows) <= MOST_HEADS
            else f"; the {MOST_HEADS} of {len(rows)} heads whose best neuron carries most"
        ),
        ("Head", "Best neuron", "Best 8", "Random 8", *(f"Left without {REPLACED[name]}" for name in _PARTS)),
        tuple(_cells(row) for row in shown),
        is_figures=True,
    )


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    carries, left = (
        row.get("carries") or [{}],
        {str(one.get("replaced")): one for one in row.get("left") or []},
    )
    found = [
        cell(carries[0].get("score")),
        cell(carries[-1].get("score")),
        cell(carries[-1].get("score_random")),
        *(cell(left.get(name, {}).get("left")) for name in _PARTS),
    ]
    return (
        str(row.get("head")),
        *("–" if one.value is None else amount(one.value, one.stderr, units="") for one in found),
    )
