"""Texts with random cases, and what every head answers, looked up one by one."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from tests.helpers.attention import Text, batches, random_texts
from tests.helpers.treebanks import by_words

from headscope.probes.halves import SCORE, SELECT
from headscope.probes.observe import Tally
from headscope.probes.pointing.cases import Case, Pointing
from headscope.probes.words import words_present
from headscope.text.words import WordText
from headscope.types import HeadGrid

LABELS = ("det", "obj", "rare")
BASELINES = 3


@dataclass(frozen=True)
class Asked:
    """A text with its cases, and the maps it is shown with."""

    text: Text
    cases: tuple[Case, ...]
    half: int
    number: int
    document: int = 0

    @property
    def content(self) -> WordText:
        return WordText.of([f"w{number}" for number in range(max(self.text.word) + 1)])

    @property
    def name(self) -> str:
        return f"text {self.number}"

    def where(self, word: int) -> str:
        return f"file:{100 * self.number + word}"

    @cached_property
    def maps(self) -> dict[bool, NDArray[np.float64]]:
        """(layer, head, word, word), by loops, plain and faithful."""
        places = [
            [place for place, own in enumerate(self.text.word) if own == word]
            for word in range(len(self.content))
        ]
        layers = [layer[None] for layer in self.text.maps]
        return {faithful: by_words(layers, places, faithful=faithful) for faithful in (False, True)}


def random_items(grid: HeadGrid, lengths: Sequence[int], *, seed: int) -> list[Asked]:
    """Cases with one or several right answers, some of them with candidates of their own."""
    rng = np.random.default_rng(seed)
    items = []
    for number, text in enumerate(random_texts(grid, list(lengths), seed=seed)):
        words = max(text.word) + 1
        cases = []
        for asking in rng.permutation(words)[: words // 2 + 1].tolist() if words > 1 else ():
            others = [word for word in range(words) if word != asking]
            right = tuple(
                rng.choice(others, min(len(others), int(rng.integers(1, 3))), replace=False).tolist()
            )
            some = tuple(sorted({*right, *rng.choice(others, len(others) // 2 + 1).tolist()}))
            cases.append(
                Case(
                    str(rng.choice(LABELS, p=[0.6, 0.35, 0.05])),
                    asking,
                    right,
                    candidates=some if rng.random() < 0.5 else None,
                    baselines=tuple(bool(hit) for hit in rng.integers(0, 2, BASELINES)),
                )
            )
        items.append(Asked(text, tuple(cases), SELECT if rng.random() < 0.4 else SCORE, number))
    return items


def answers(
    item: Asked, case: Case, *, faithful: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """(direction, layer, head) the chosen word, and the attention it has."""
    maps = item.maps[faithful]
    allowed = range(len(item.content)) if case.candidates is None else case.candidates
    guess = np.zeros((2, *maps.shape[:2]), dtype=int)
    confidence = np.zeros((2, *maps.shape[:2]))
    for layer, head in np.ndindex(maps.shape[:2]):
        for direction, row in enumerate((maps[layer, head, case.asking], maps[layer, head, :, case.asking])):
            best = max((word for word in allowed if word != case.asking), key=lambda word: row[word])
            guess[direction, layer, head], confidence[direction, layer, head] = best, row[best]
    return guess, confidence


def show(grid: HeadGrid, items: Sequence[Asked], tally: Tally[Pointing], *, extra: int = 0) -> None:
    """One batch, as the observer would show it."""
    part = tally.empty()
    for number, batch in enumerate(batches(grid, [item.text for item in items], extra=extra)):
        if number == 0:
            part.begin(items, words_present(batch.queries), batch.queries)
        part.update(batch)
    tally.merge(part)


def is_right(guess: NDArray[np.int64], confidence: NDArray[np.float64], case: Case) -> NDArray[np.bool_]:
    """(direction, layer, head) whether the chosen word is right."""
    return np.isin(guess, case.right) & (confidence > 0)
