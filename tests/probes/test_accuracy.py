"""Shares of right guesses: their sums, their error over texts, their interval."""

import math
from itertools import permutations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tests.helpers.treebanks import cluster_error

from headscope.probes.accuracy import DOCUMENT_GROUPS, Accuracy, Cases, DocumentAccuracy, interval

Sample = tuple[list[int], list[str], NDArray[np.bool_]]


def sample(seed: int, *, texts: int = 12, cells: tuple[int, ...] = (2, 3)) -> Sample:
    """Texts with a few or many cases, whose guesses are right together more often than apart."""
    rng = np.random.default_rng(seed)
    owner = [text for text in range(texts) for _ in range(rng.integers(0, 7))]
    labels = [str(rng.choice(["det", "obj", "rare"], p=[0.6, 0.35, 0.05])) for _ in owner]
    easy = rng.random((texts, *cells))
    right = rng.random((len(owner), *cells)) < easy[owner]
    return owner, labels, right


def counted(owner: list[int], labels: list[str], right: NDArray[np.bool_]) -> Accuracy:
    accuracy = Accuracy(*right.shape[1:])
    accuracy.add(accuracy.begin(owner, labels), torch.from_numpy(right))
    return accuracy


def of_label(data: Sample, label: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    owner, labels, right = data
    chosen = np.array([one == label for one in labels])
    return np.array(owner)[chosen], right[chosen].astype(float)


def assert_same(one: Accuracy, other: Accuracy) -> None:
    assert set(one.labels) == set(other.labels)
    for label in one.labels:
        assert one.count(label) == other.count(label)
        np.testing.assert_array_equal(one.shares(label), other.shares(label))
        np.testing.assert_array_equal(one.stderr(label), other.stderr(label))


def test_cases_of_one_text_and_label_belong_together() -> None:
    cases = Cases.of([0, 0, 1, 0, 1], [5, 5, 5, 7, 5])
    assert cases.group.tolist() == [0, 0, 1, 2, 1]
    assert cases.row.tolist() == [5, 5, 7]


def test_known_values() -> None:
    """Text 0: two of three right. Text 1: none of one. The share is 2/4, and not the mean of 2/3 and 0."""
    accuracy = counted([0, 0, 0, 1], ["det"] * 4, np.array([[True], [True], [False], [False]]))
    assert accuracy.count("det") == 4
    assert accuracy.shares("det").tolist() == [0.5]
    # Residuals: 2 - 0.5 * 3 and 0 - 0.5 * 1, both a half; (0.25 + 0.25) / 4 ** 2 * 2 / (2 - 1).
    assert accuracy.stderr("det")[0] == pytest.approx(math.sqrt(0.5 / 16 * 2))


def test_texts_of_one_case_each_give_the_textbook_error() -> None:
    right = np.random.default_rng(1).random((50, 1)) < 0.7
    accuracy = counted(list(range(50)), ["x"] * 50, right)
    assert accuracy.stderr("x")[0] == pytest.approx(right.std(ddof=1) / math.sqrt(50))


@pytest.mark.parametrize("seed", range(5))
def test_shares_and_errors_against_numpy(seed: int) -> None:
    data = sample(seed)
    accuracy = counted(*data)
    for label in ("det", "obj"):
        texts, right = of_label(data, label)
        assert accuracy.count(label) == len(right)
        np.testing.assert_allclose(accuracy.shares(label), right.mean(0))
        np.testing.assert_allclose(accuracy.stderr(label), cluster_error(right, texts))


def test_the_error_is_that_of_drawing_texts_anew() -> None:
    """A bootstrap over texts, as the numbers mean it: other texts might have been in the file."""
    data = sample(3, texts=300, cells=(2,))
    texts, right = of_label(data, "det")
    names = np.unique(texts)
    sums = np.stack([right[texts == name].sum(0) for name in names])
    sizes = np.array([(texts == name).sum() for name in names])
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(names), size=(3000, len(names)))
    shares = sums[drawn].sum(1) / sizes[drawn].sum(1, keepdims=True)
    np.testing.assert_allclose(counted(*data).stderr("det"), shares.std(0), rtol=0.06)
    independent = np.sqrt(right.mean(0) * (1 - right.mean(0)) / len(right))
    assert (counted(*data).stderr("det") > 1.2 * independent).all()  # the sample is one where it matters


def test_labels_that_are_not_there() -> None:
    accuracy = counted(*sample(0))
    assert accuracy.count("none") == 0
    assert np.isnan(accuracy.shares("none")).all()
    assert np.isnan(accuracy.stderr("none")).all()
    assert accuracy.shares("none").shape == accuracy.stderr("none").shape == (2, 3)
    assert "none" not in accuracy.labels


@pytest.mark.parametrize(("right", "cases"), [(1, 2), (1, 5), (8, 10), (1, 7), (3, 3)])
def test_one_text_has_no_error(right: int, cases: int) -> None:
    accuracy = counted([3] * cases, ["x"] * cases, np.arange(cases)[:, None] < right)
    assert accuracy.shares("x").tolist() == [right / cases]
    assert np.isnan(accuracy.stderr("x")).all()


def test_all_right_has_no_spread() -> None:
    accuracy = counted([0, 1, 1, 2], ["x"] * 4, np.ones((4, 1), dtype=bool))
    assert accuracy.shares("x").tolist() == [1.0]
    assert accuracy.stderr("x").tolist() == [0.0]


@pytest.mark.parametrize(("right", "cases"), [(1, 7), (2, 7), (1, 3), (1, 5)])
def test_an_error_is_never_the_root_of_a_rounding(right: int, cases: int) -> None:
    """The same share in every text: the spread is 0 but for rounding, which with sevenths falls below it."""
    owner = [text for text in range(3) for _ in range(cases)]
    accuracy = counted(owner, ["x"] * 3 * cases, np.tile(np.arange(cases)[:, None] < right, (3, 1)))
    assert 0 <= accuracy.stderr("x")[0] < 1e-6


def test_layers_are_counted_one_by_one() -> None:
    owner, labels, right = sample(2, cells=(2, 3, 4))
    whole = counted(owner, labels, right)
    by_layer = Accuracy(2, 3, 4)
    cases = by_layer.begin(owner, labels)
    for layer in (2, 0, 1):
        by_layer.add(cases, torch.from_numpy(right[:, :, layer]), (slice(None), layer))
    assert_same(by_layer, whole)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_parts_merge_in_any_order(order: tuple[int, ...]) -> None:
    """Three parts, one of them empty; the texts of a part are its own, and labels come up in any order."""
    owner, labels, right = sample(4)
    whole = counted(owner, labels, right)
    cut = owner.index(5)
    parts = [
        counted(owner[:cut], labels[:cut], right[:cut]),
        Accuracy(2, 3),
        counted(owner[cut:], labels[cut:], right[cut:]),
    ]
    merged = whole.empty()
    assert not merged.labels
    for number in order:
        merged.merge(parts[number])
    assert_same(merged, whole)


def test_batches_add_up_and_an_empty_one_adds_nothing() -> None:
    owner, labels, right = sample(4)
    whole = counted(owner, labels, right)
    cut = owner.index(5)
    accuracy = Accuracy(2, 3)
    for part in (slice(0, cut), slice(0, 0), slice(cut, None)):
        accuracy.add(accuracy.begin(owner[part], labels[part]), torch.from_numpy(right[part]))
    assert_same(accuracy, whole)


def test_merging_changes_only_the_one_merged_into() -> None:
    first, second = counted(*sample(1)), counted(*sample(2))
    before = second.right.clone()
    first.merge(second)
    first.merge(second)
    assert torch.equal(second.right, before)
    assert first.count("det") == counted(*sample(1)).count("det") + 2 * second.count("det")


# Intervals: published or well known values of Wilson's


@pytest.mark.parametrize(
    ("share", "cases", "low", "high"),
    [
        (81 / 263, 263, 0.2553, 0.3662),  # Newcombe (1998), table I, method 3
        (15 / 148, 148, 0.0624, 0.1605),
        (0 / 20, 20, 0.0000, 0.1611),
        (1 / 29, 29, 0.0061, 0.1718),
        (5 / 10, 10, 0.2366, 0.7634),
        (1.0, 1, 0.2065, 1.0),
        (0.0, 1, 0.0, 0.7935),
    ],
)
def test_wilson(share: float, cases: int, low: float, high: float) -> None:
    assert interval(share, math.nan, cases) == pytest.approx((low, high), abs=5e-5)
    assert interval(share, 0.0, cases) == pytest.approx((low, high), abs=5e-5)


def test_an_error_twice_as_large_is_a_quarter_of_the_cases() -> None:
    independent = math.sqrt(0.3 * 0.7 / 400)
    assert interval(0.3, 2 * independent, 400) == pytest.approx(interval(0.3, math.nan, 100))
    assert interval(0.3, independent, 400) == pytest.approx(interval(0.3, math.nan, 400))


def test_a_small_error_does_not_make_more_cases_than_there_are() -> None:
    assert interval(0.5, 1e-9, 10) == interval(0.5, math.nan, 10)


def test_large_samples_come_to_two_standard_errors() -> None:
    low, high = interval(0.4, 0.002, 10**6)
    assert (low, high) == pytest.approx((0.4 - 1.96 * 0.002, 0.4 + 1.96 * 0.002), abs=1e-5)


def test_an_interval_stays_inside() -> None:
    for share in (0.0, 0.001, 0.5, 0.999, 1.0):
        for stderr in (math.nan, 0.0, 0.3, 10.0):
            low, high = interval(share, stderr, 3)
            assert 0 <= low <= share + 1e-12
            assert share - 1e-12 <= high <= 1


def test_no_interval_without_cases() -> None:
    assert all(math.isnan(bound) for bound in interval(math.nan, math.nan, 0))
    assert all(math.isnan(bound) for bound in interval(math.nan, 0.1, 5))


def test_few_clusters_make_the_interval_wider() -> None:
    """Student's t with 2 degrees of freedom is 4.3027 where the normal quantile is 1.96."""
    shrunk = 100 * (1.959964 / 4.302653) ** 2
    stderr = math.sqrt(0.3 * 0.7 / 100)
    assert interval(0.3, stderr, 400, 3) == pytest.approx(interval(0.3, math.sqrt(0.21 / shrunk), 400))
    assert interval(0.3, stderr, 400, 10**6) == pytest.approx(interval(0.3, stderr, 400), abs=1e-5)


# Documents as the sample


def by_document(parts: list[Sample]) -> DocumentAccuracy:
    accuracy = DocumentAccuracy(2, 3)
    for owner, labels, right in parts:
        part = accuracy.empty()
        cases = part.begin(owner, labels)
        for column in range(3):
            part.add(cases, torch.from_numpy(right[:, :, column]), (slice(None), column))
        accuracy.merge(part)
    return accuracy


def test_the_error_over_documents_adds_up_what_batches_tore_apart() -> None:
    owner, labels, right = data = sample(3, texts=30)
    shuffled = np.random.default_rng(0).permutation(len(owner))
    cuts = np.array_split(shuffled, 5)
    parts = [([owner[i] for i in cut], [labels[i] for i in cut], right[cut]) for cut in cuts]
    found = by_document([*parts, ([], [], right[:0])])
    for label in ("det", "obj"):
        documents, values = of_label(data, label)
        assert found.clusters(label) == len(set(documents.tolist()))
        np.testing.assert_allclose(found.shares(label), values.mean(0))
        np.testing.assert_allclose(found.stderr(label), cluster_error(values, documents))
    assert np.isnan(found.stderr("missing")).all()


def test_more_documents_than_groups_share_them() -> None:
    data = sample(4, texts=3 * DOCUMENT_GROUPS)
    found = by_document([data])
    documents, values = of_label(data, "det")
    np.testing.assert_allclose(found.stderr("det"), cluster_error(values, documents % DOCUMENT_GROUPS))
