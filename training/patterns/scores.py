"""How often the networks, and the one who labelled, are right."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.metrics import cohen_kappa_score, confusion_matrix, f1_score

from headscope.kinds.patterns import PATTERNS

TESTED = ("first", "more", "chance")
"""The draws on which the headline is measured; those that were labelled later were labelled to train on."""


def draw_of(row: dict[str, Any]) -> str:
    """The draw of a labelled map."""
    return str(row["sheet"]).split("-")[0]


def scores(rows: Sequence[dict[str, Any]], found: Sequence[str]) -> dict[str, Any]:
    """Macro-F1, F1 by class, accuracy and the confusion matrix (label, found) of maps that were held out."""
    labels = [str(row["label"]) for row in rows]
    each = f1_score(labels, found, labels=PATTERNS, average=None, zero_division=0)
    return {
        "maps": len(rows),
        "macro_f1": round(float(each.mean()), 4),
        "accuracy": round(float(np.mean(np.array(labels) == np.array(found))), 4),
        "f1": {name: round(float(value), 4) for name, value in zip(PATTERNS, each, strict=True)},
        "confusion": confusion_matrix(labels, found, labels=PATTERNS).tolist(),
    }


def all_scores(rows: Sequence[dict[str, Any]], found: Sequence[str]) -> dict[str, Any]:
    """The headline, and the same for parts of the maps."""

    def part(keep: Sequence[bool]) -> dict[str, Any]:
        return scores(
            [row for row, kept in zip(rows, keep, strict=True) if kept],
            [name for name, kept in zip(found, keep, strict=True) if kept],
        )

    tested = [draw_of(row) in TESTED for row in rows]
    hard = ["note" in row for row in rows]
    parts = {
        "tested": part(tested),
        "tested, not hard": part([kept and not doubt for kept, doubt in zip(tested, hard, strict=True)]),
        "tested, hard": part([kept and doubt for kept, doubt in zip(tested, hard, strict=True)]),
    }
    for draw in dict.fromkeys(draw_of(row) for row in rows):
        parts[f"draw {draw}"] = part([draw_of(row) == draw for row in rows])
    for fold in sorted({row["fold"] for row in rows}):
        parts[f"fold {fold}"] = part(
            [kept and row["fold"] == fold for row, kept in zip(rows, tested, strict=True)]
        )
    return parts


def agreement(first: Sequence[str], second: Sequence[str]) -> dict[str, Any]:
    """Percent agreement and Cohen's kappa of two labellings, overall and for each class against the rest."""
    pairs = list(zip(first, second, strict=True))
    found: dict[str, Any] = {
        "maps": len(pairs),
        "agreement": round(float(np.mean([one == other for one, other in pairs])), 4),
        "kappa": round(float(cohen_kappa_score(first, second)), 4),
        "by class": {},
    }
    for name in PATTERNS:
        ours, theirs = [one == name for one in first], [other == name for other in second]
        both, either = np.logical_and(ours, theirs).sum(), np.logical_or(ours, theirs).sum()
        found["by class"][name] = {
            "first": int(np.sum(ours)),
            "second": int(np.sum(theirs)),
            "both": int(both),
            "either": int(either),
            "kappa": round(float(cohen_kappa_score(ours, theirs)), 4) if either else None,
        }
    return found


def independent_agreement(rows: Sequence[dict[str, Any]], labels: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How far the labels and two labellers who knew only the rules agree, each against each.

    The maps were drawn alike from every class, so each counts as much as its class has maps among those that are
    tested on: the macro-F1 of a pair can then be read beside that of the networks.
    """
    by_map = {_map_of(row): row for row in labels}
    ours = [by_map[_map_of(row)] for row in rows]
    tested = Counter(row["label"] for row in labels if draw_of(row) in TESTED)
    drawn = Counter(row["label"] for row in ours)
    weights = np.array([tested[row["label"]] / drawn[row["label"]] for row in ours])
    hard = np.array(["note" in row for row in ours])
    named = {
        "labels": [row["label"] for row in ours],
        "first": [row["first"] for row in rows],
        "second": [row["second"] for row in rows],
    }
    found: dict[str, Any] = {}
    for one, other in combinations(named, 2):
        for part, keep in (("", np.full(len(rows), True)), (", not hard", ~hard), (", hard", hard)):
            first, second = (np.array(named[name])[keep] for name in (one, other))
            if keep.any():
                found[f"{one}, {other}{part}"] = _weighted(first, second, weights[keep])
    return found


def _weighted(first: Any, second: Any, weights: Any) -> dict[str, Any]:
    each = f1_score(first, second, labels=PATTERNS, average=None, zero_division=0, sample_weight=weights)
    return {
        "maps": len(first),
        "macro_f1": round(float(each.mean()), 4),
        "agreement": round(float(np.average(first == second, weights=weights)), 4),
        "kappa": round(float(cohen_kappa_score(first, second, sample_weight=weights)), 4),
        "f1": {name: round(float(value), 4) for name, value in zip(PATTERNS, each, strict=True)},
    }


def _map_of(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["model"], row["text"], row["layer"], row["head"]
