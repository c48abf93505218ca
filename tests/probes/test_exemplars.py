"""The case that shows each head best, against a look at every case."""

from itertools import permutations

import numpy as np
import pytest
import torch

from headscope.probes.exemplars import Exemplars, Spot, case_keys

LABELS = ["det", "obj", "rare"]
NOT = -float("inf")


class Seen:
    """Random cases: scores of few values, so that there are ties, and wrong guesses."""

    def __init__(self, seed: int, count: int = 40) -> None:
        rng = np.random.default_rng(seed)
        order = rng.permutation(count)
        self.texts, self.words = order // 4, order % 4
        self.labels = [LABELS[number] for number in rng.choice(3, count, p=[0.5, 0.45, 0.05])]
        score = np.round(rng.random((count, 2, 3)) * 4) / 4 - rng.integers(0, 2, (count, 1, 1))
        self.score = np.where(rng.random((count, 2, 3)) < 0.3, NOT, score)

    def add_to(self, exemplars: Exemplars, cases: slice = slice(None)) -> Exemplars:
        rows = exemplars.rows(self.labels[cases])
        keys = case_keys(torch.from_numpy(self.texts[cases]), torch.from_numpy(self.words[cases]))
        exemplars.add(rows, keys, torch.from_numpy(self.score[cases]).float())
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
    rows = exemplars.rows(["det"])
    keys = case_keys(torch.tensor([7]), torch.tensor([2]))
    exemplars.add(rows, keys, torch.tensor([[[0.5], [NOT]]]), (slice(None), 1))
    assert exemplars.spot("det", 0, 1, 0) == Spot(7, 2)
    for cell in ((1, 1, 0), (0, 0, 0), (0, 2, 0)):
        assert exemplars.spot("det", *cell) is None


def test_a_label_never_seen_or_never_right() -> None:
    exemplars = Exemplars(1)
    assert exemplars.spot("det", 0) is None
    rows = exemplars.rows(["det"])
    exemplars.add(rows, case_keys(torch.tensor([0]), torch.tensor([0])), torch.tensor([[NOT]]))
    assert exemplars.spot("det", 0) is None


def test_the_first_case_of_all_is_a_place_like_any_other() -> None:
    exemplars = Exemplars(1)
    rows = exemplars.rows(["det", "det"])
    keys = case_keys(torch.tensor([0, 1]), torch.tensor([0, 0]))
    exemplars.add(rows, keys, torch.tensor([[0.9], [0.2]]))
    assert exemplars.spot("det", 0) == Spot(0, 0)


def test_places_far_into_a_corpus() -> None:
    keys = case_keys(torch.tensor([3_000_000_000]), torch.tensor([1_000_000]))
    exemplars = Exemplars(1)
    exemplars.add(exemplars.rows(["x"]), keys, torch.tensor([[0.5]]))
    assert exemplars.spot("x", 0) == Spot(3_000_000_000, 1_000_000)


def test_a_model_that_computes_in_double_precision() -> None:
    seen = Seen(2)
    exemplars = Exemplars(2, 3)
    keys = case_keys(torch.from_numpy(seen.texts), torch.from_numpy(seen.words))
    exemplars.add(exemplars.rows(seen.labels), keys, torch.from_numpy(seen.score))
    assert_best(exemplars, seen)
