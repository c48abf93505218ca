"""The case that shows each head best, against a look at every case."""

from itertools import permutations

import numpy as np
import pytest
import torch

from headscope.probes.pointing.cases import Case, Pointing
from headscope.probes.pointing.tally import Exemplars, Spot
from headscope.text.words import WordText

LABELS = ["det", "obj", "rare"]
NOT = -float("inf")
EASY, HARD = 10, 40
"""How many words a text has that is easy to read, or hard."""


def cases(
    places: list[tuple[int, int]], labels: list[str], words: list[int] | None = None
) -> list[tuple[Pointing, Case]]:
    """Cases of texts of so many words, each the text's number and the asking word."""
    contents = [WordText.of(["w"] * length) for length in words or [EASY] * len(places)]
    return [
        (Pointing(content, (), 0, "", str, number=text), Case(label, word, (0,)))
        for (text, word), label, content in zip(places, labels, contents, strict=True)
    ]


def looked(exemplars: Exemplars, label: str, *scores: tuple[int, int, float]) -> Exemplars:
    """Cases of one label and cell: the text's number, the asking word, the confidence."""
    exemplars.begin(cases([place[:2] for place in scores], [label] * len(scores)))
    confidence = torch.tensor([[score] for *_, score in scores])
    exemplars.add(confidence.clamp_min(0), confidence > NOT)
    return exemplars


class Seen:
    """Random cases: scores of few values, so that there are ties, and wrong guesses."""

    def __init__(self, seed: int, count: int = 40) -> None:
        rng = np.random.default_rng(seed)
        order = rng.permutation(count)
        self.texts, self.words = order // 4, order % 4
        self.labels = [LABELS[number] for number in rng.choice(3, count, p=[0.5, 0.45, 0.05])]
        self.confidence = np.round(rng.random((count, 2, 3)) * 4) / 4
        self.words_of_text = np.where(rng.integers(0, 2, count), HARD, EASY)
        self.is_right = rng.random((count, 2, 3)) >= 0.3
        penalty = (self.words_of_text == HARD)[:, None, None]
        self.score = np.where(self.is_right, self.confidence - penalty, NOT)

    def add_to(
        self, exemplars: Exemplars, some: slice = slice(None), dtype: torch.dtype = torch.float
    ) -> Exemplars:
        places = [
            (int(text), int(word)) for text, word in zip(self.texts[some], self.words[some], strict=True)
        ]
        exemplars.begin(cases(places, self.labels[some], self.words_of_text[some].tolist()))
        exemplars.add(
            torch.from_numpy(self.confidence[some]).to(dtype), torch.from_numpy(self.is_right[some])
        )
        return exemplars

    def best(self, label: str, *cell: int) -> Spot | None:
        """The highest score; of equals, the first text, and in it the first word."""
        rows = [
            (-self.score[(number, *cell)], self.texts[number], self.words[number])
            for number, own in enumerate(self.labels)
            if own == label and self.score[(number, *cell)] > NOT
        ]
        return Spot(*map(int, min(rows)[1:])) if rows else None


def assert_best(exemplars: Exemplars, seen: Seen) -> None:
    for label in LABELS:
        for cell in np.ndindex(2, 3):
            assert exemplars.spot(label, *cell) == seen.best(label, *cell)


@pytest.mark.parametrize("seed", range(6))
def test_the_best_case_of_every_label_and_cell(seed: int) -> None:
    seen = Seen(seed)
    assert_best(seen.add_to(Exemplars(2, 3)), seen)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_parts_merge_in_any_order(order: tuple[int, ...]) -> None:
    seen = Seen(9)
    parts = [seen.add_to(Exemplars(2, 3), part) for part in (slice(0, 13), slice(0, 0), slice(13, None))]
    merged = parts[0].empty()
    for number in order:
        merged.merge(parts[number])
    assert_best(merged, seen)


def test_batches_one_after_the_other() -> None:
    seen = Seen(10)
    exemplars = Exemplars(2, 3)
    for start in (20, 0, 40, 10, 30):
        seen.add_to(exemplars, slice(start, start + 10))
    assert_best(exemplars, seen)


def test_layers_are_seen_one_by_one() -> None:
    exemplars = Exemplars(2, 3, 1)
    exemplars.begin(cases([(7, 2)], ["det"]))
    exemplars.add(torch.tensor([[[0.5], [0.5]]]), torch.tensor([[[True], [False]]]), (slice(None), 1))
    assert exemplars.spot("det", 0, 1, 0) == Spot(7, 2)
    for cell in ((1, 1, 0), (0, 0, 0), (0, 2, 0)):
        assert exemplars.spot("det", *cell) is None


def test_a_label_never_seen_or_never_right() -> None:
    exemplars = Exemplars(1)
    assert exemplars.spot("det", 0) is None
    assert looked(exemplars, "det", (0, 0, NOT)).spot("det", 0) is None


def test_the_first_case_of_all_is_a_place_like_any_other() -> None:
    assert looked(Exemplars(1), "det", (0, 0, 0.9), (1, 0, 0.2)).spot("det", 0) == Spot(0, 0)


def test_places_far_into_a_corpus() -> None:
    far = (3_000_000_000, 1_000_000)
    assert looked(Exemplars(1), "x", (*far, 0.5)).spot("x", 0) == Spot(*far)


def test_a_model_that_computes_in_double_precision() -> None:
    seen = Seen(2)
    assert_best(seen.add_to(Exemplars(2, 3), dtype=torch.double), seen)
