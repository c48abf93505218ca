"""Which edge is removed in a case, and which one beside it as a control."""

import numpy as np

from headscope.types import Array
from headscope.usage.examples import Case

Words = tuple[int, int]
"""A word that looks and a word that is looked at."""


def relation_edge(case: Case, weights: Array, *, inward: bool, causal: bool) -> Words | None:
    """The edge of the case's relation as the head looks along it; None where the head cannot.

    `inward`: the governor looks at the dependent. Where nobody says which words the relation is between, it is the
    strongest edge (word, word) at the word in which a pair differs.
    """
    if case.dependent is None or case.governor is None:
        return _strongest(weights, case.changed or 0)
    edge = (case.governor, case.dependent) if inward else (case.dependent, case.governor)
    return None if causal and edge[1] > edge[0] else edge


def _strongest(weights: Array, word: int) -> Words | None:
    touching = np.full_like(weights, -np.inf)
    touching[word], touching[:, word] = weights[word], weights[:, word]
    touching[word, word] = -np.inf
    touching[np.isnan(touching)] = -np.inf
    query, key = np.unravel_index(int(touching.argmax()), weights.shape)
    return (int(query), int(key)) if touching[query, key] > 0 else None


def control_edge(weights: Array, edge: Words, case: Case) -> Words | None:
    """Another edge of the same distance, nearest in weight and not of the relation; None where there is none."""
    query, key = edge
    distance, words = key - query, len(weights)
    taken = {edge, *case.same, *((governor, dependent) for dependent, governor in case.same)}
    others = [
        (place, place + distance)
        for place in range(max(0, -distance), min(words, words - distance))
        if (place, place + distance) not in taken and np.isfinite(weights[place, place + distance])
    ]
    return min(others, key=lambda other: abs(weights[other] - weights[edge]), default=None)
