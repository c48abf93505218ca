"""Exact match and F1 of answers, as SQuAD's official scripts compute them (Rajpurkar et al. 2016, 2018)."""

import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise(text: str) -> str:
    """Lower case, without ASCII punctuation, English articles and spare white space."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(prediction: str, gold: str) -> float:
    """1 when the two are the same once normalised."""
    return float(normalise(prediction) == normalise(gold))


def word_f1(prediction: str, gold: str, *, impossible: bool = False) -> float:
    """F1 of the words the two share, once normalised.

    The scripts differ where nothing is left of one of them: 1.1 gives 0, 2.0 (`impossible`) gives 1 when
    nothing is left of both, which is how a question without answer is scored.
    """
    predicted, right = normalise(prediction).split(), normalise(gold).split()
    if impossible and not (predicted and right):
        return float(predicted == right)
    shared = sum((Counter(predicted) & Counter(right)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(predicted), shared / len(right)
    return 2 * precision * recall / (precision + recall)


def squad_scores(prediction: str, golds: Sequence[str], *, impossible: bool = False) -> tuple[float, float]:
    """Exact match and F1, each the best over the right answers.

    `impossible` is the script of version 2.0: right answers of which nothing is left are ignored, and where
    none remains, the right answer is to say nothing.
    """
    if impossible:
        golds = [gold for gold in golds if normalise(gold)] or [""]
    return (
        max(exact_match(prediction, gold) for gold in golds),
        max(word_f1(prediction, gold, impossible=impossible) for gold in golds),
    )
