"""Means over cases: their sums, and their error over texts and over documents."""

import math
from itertools import permutations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tests.helpers.treebanks import cluster_error, leave_one_out

from headscope.probes.means import CaseMeans
from headscope.stats.documents import DOCUMENT_GROUPS, group_of

Sample = tuple[list[int], list[str], NDArray[np.bool_]]


def sample(seed: int, *, texts: int = 12, cells: tuple[int, ...] = (2, 3)) -> Sample:
    """Texts with a few or many cases, whose guesses are right together more often than apart."""
    rng = np.random.default_rng(seed)
    owner = [text for text in range(texts) for _ in range(rng.integers(0, 7))]
    labels = [str(rng.choice(["det", "obj", "rare"], p=[0.6, 0.35, 0.05])) for _ in owner]
    easy = rng.random((texts, *cells))
    right = rng.random((len(owner), *cells)) < easy[owner]
    return owner, labels, right


def counted(owner: list[int], labels: list[str], right: NDArray[np.bool_]) -> CaseMeans:
    """All texts of one document, so that errors are over texts."""
    accuracy = CaseMeans(*right.shape[1:])
    accuracy.add(accuracy.begin(owner, labels, [0] * len(owner)), torch.from_numpy(right))
    return accuracy


def of_label(data: Sample, label: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    owner, labels, right = data
    chosen = np.array([one == label for one in labels])
    return np.array(owner)[chosen], right[chosen].astype(float)


def assert_same(one: CaseMeans, other: CaseMeans) -> None:
    assert set(one.labels) == set(other.labels)
    for label in one.labels:
        assert one.count(label) == other.count(label)
        np.testing.assert_array_equal(one.mean(label), other.mean(label))
        np.testing.assert_array_equal(one.stderr(label), other.stderr(label))


def test_cases_of_one_text_and_label_belong_together() -> None:
    cases = CaseMeans(1).begin([0, 0, 1, 0, 1], ["a", "a", "a", "b", "a"], [7, 7, 8, 7, 8])
    assert cases.group.tolist() == [0, 0, 1, 2, 1]
    assert cases.label.tolist() == [0, 0, 1]
    assert cases.of_documents.tolist() == [0, 1, 2]
    assert cases.size.tolist() == [2, 2, 1]


def test_known_values() -> None:
    """Text 0: two of three right. Text 1: none of one. The share is 2/4, and not the mean of 2/3 and 0."""
    accuracy = counted([0, 0, 0, 1], ["det"] * 4, np.array([[True], [True], [False], [False]]))
    assert accuracy.count("det") == 4
    assert accuracy.mean("det").tolist() == [0.5]
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
        np.testing.assert_allclose(accuracy.mean(label), right.mean(0))
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
    assert np.isnan(accuracy.mean("none")).all()
    assert np.isnan(accuracy.stderr("none")).all()
    assert accuracy.mean("none").shape == accuracy.stderr("none").shape == (2, 3)
    assert "none" not in accuracy.labels


@pytest.mark.parametrize(("right", "cases"), [(1, 2), (1, 5), (8, 10), (1, 7), (3, 3)])
def test_one_text_has_no_error(right: int, cases: int) -> None:
    accuracy = counted([3] * cases, ["x"] * cases, np.arange(cases)[:, None] < right)
    assert accuracy.mean("x").tolist() == [right / cases]
    assert np.isnan(accuracy.stderr("x")).all()


def test_numbers_have_means_as_shares_have() -> None:
    """Texts of 3, 1 and 2 cases whose values are numbers."""
    values = np.random.default_rng(3).normal(size=(6, 2))
    texts = np.array([0, 0, 0, 1, 2, 2])
    means = CaseMeans(2)
    means.add(means.begin(texts.tolist(), ["x"] * 6, [0] * 6), torch.from_numpy(values))
    np.testing.assert_allclose(means.mean("x"), values.mean(0))
    np.testing.assert_allclose(means.stderr("x"), cluster_error(values, texts))
    assert (means.count("x"), means.texts("x")) == (6, 3)


def test_arrays_of_some_labels_and_of_one() -> None:
    data, labels = counted(*sample(1)), ["obj", "none"]
    both = data.labelled("share", labels, {"label": labels, "head": range(3)}, "x", texts="windows", at=(1,))
    assert list(both) == ["share", "share_stderr"]
    np.testing.assert_array_equal(both["share"].values, np.stack([data.mean("obj")[1], [np.nan] * 3]))
    assert both["share"].dims == ("label", "head")
    assert both["share_stderr"].description == (
        "standard error of share, over documents where at least 10 have cases, else over windows"
    )
    [one, error] = data.labelled(
        "share", "det", {"way": range(2), "head": range(3)}, "a share", texts="windows"
    ).values()
    np.testing.assert_array_equal(one.values, data.mean("det"))
    np.testing.assert_array_equal(error.values, data.stderr("det"))


def test_all_right_has_no_spread() -> None:
    accuracy = counted([0, 1, 1, 2], ["x"] * 4, np.ones((4, 1), dtype=bool))
    assert accuracy.mean("x").tolist() == [1.0]
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
    by_layer = CaseMeans(2, 3, 4)
    cases = by_layer.begin(owner, labels, [0] * len(owner))
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
        CaseMeans(2, 3),
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
    accuracy = CaseMeans(2, 3)
    for part in (slice(0, cut), slice(0, 0), slice(cut, None)):
        cases = accuracy.begin(owner[part], labels[part], [0] * len(owner[part]))
        accuracy.add(cases, torch.from_numpy(right[part]))
    assert_same(accuracy, whole)


def test_merging_changes_only_the_one_merged_into() -> None:
    first, second = counted(*sample(1)), counted(*sample(2))
    before = second.mean("det")
    first.merge(second)
    first.merge(second)
    np.testing.assert_array_equal(second.mean("det"), before)
    assert first.count("det") == counted(*sample(1)).count("det") + 2 * second.count("det")


# Documents as the sample


def over_documents(
    parts: list[Sample], texts_of: dict[int, int] | None = None, *, fewest: int = 10
) -> CaseMeans:
    """Every part counted on its own, cells column by column, and merged; a text is a document if not told."""
    accuracy = CaseMeans(2, 3, fewest_documents=fewest)
    for owner, labels, right in parts:
        part = accuracy.empty()
        documents = owner if texts_of is None else [texts_of[text] for text in owner]
        cases = part.begin(owner, labels, documents)
        for column in range(3):
            part.add(cases, torch.from_numpy(right[:, :, column]), (slice(None), column))
        accuracy.merge(part)
    return accuracy


def torn(data: Sample, parts: int, seed: int = 0) -> list[Sample]:
    """The cases of a sample in some order, in so many parts and an empty one."""
    owner, labels, right = data
    shuffled = np.random.default_rng(seed).permutation(len(owner))
    cuts = np.array_split(shuffled, parts)
    return [
        *(([owner[i] for i in cut], [labels[i] for i in cut], right[cut]) for cut in cuts),
        ([], [], right[:0]),
    ]


def test_the_error_over_documents_adds_up_what_batches_tore_apart() -> None:
    data = sample(3, texts=30)
    found = over_documents(torn(data, 5))
    for label in ("det", "obj"):
        documents, values = of_label(data, label)
        sizes = np.array([(documents == name).sum() for name in np.unique(documents)])
        sampling = found.sampling(label)
        assert (sampling.unit, sampling.count) == ("documents", len(sizes))
        assert found.documents_of(label) == len(sizes)
        assert sampling.effective == pytest.approx(sizes.sum() ** 2 / (sizes**2).sum())
        np.testing.assert_allclose(found.mean(label), values.mean(0))
        np.testing.assert_allclose(found.stderr(label), leave_one_out(values, documents))
    assert np.isnan(found.stderr("missing")).all()
    assert found.documents_of("missing") == found.sampling("missing").count == 0


def test_the_order_of_parts_makes_no_difference() -> None:
    parts = torn(sample(5, texts=70), 3)
    orders = [over_documents([parts[number] for number in order]) for order in permutations(range(4))]
    for other in orders[1:]:
        assert_same(orders[0], other)


def test_few_documents_leave_the_error_to_texts() -> None:
    """The same cases in 9 and in 10 documents: by label, since a rare one may be in fewer."""
    data = sample(6, texts=60)
    texts, values = of_label(data, "det")
    nine = over_documents([data], {text: text % 9 for text in range(60)})
    assert (nine.sampling("det").unit, nine.sampling("det").count) == ("texts", len(np.unique(texts)))
    np.testing.assert_allclose(nine.stderr("det"), cluster_error(values, texts))
    ten = over_documents([data], {text: text % 10 for text in range(60)})
    assert (ten.sampling("det").unit, ten.sampling("det").count) == ("documents", 10)
    np.testing.assert_allclose(ten.stderr("det"), leave_one_out(values, texts % 10))
    assert ten.sampling("rare").unit == "texts"  # in fewer than ten of them
    three = over_documents([data], {text: text % 3 for text in range(60)}, fewest=2)
    assert (three.sampling("det").count, three.empty().fewest_documents) == (3, 2)


def test_more_documents_than_groups_share_them() -> None:
    data = sample(4, texts=3 * DOCUMENT_GROUPS)
    found = over_documents([data])
    documents, values = of_label(data, "det")
    groups = np.array([group_of(int(document)) for document in documents])
    assert found.sampling("det").count == len(np.unique(documents))
    np.testing.assert_allclose(found.stderr("det"), leave_one_out(values, groups))
