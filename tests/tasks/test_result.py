import math

import numpy as np
import pytest
from scipy import stats

from headscope.errors import OptionError
from headscope.tasks import TaskResult, paired_difference
from headscope.tasks.metric import Array, Mean, Metric, Pearson

SHARE = Mean("em", "%", low=0, high=100, field="x")
LOSS = Mean("loss", "nats", low=0, field="x")
RATIO = Mean("loss", "nats", low=0, field="x", count="n")


def result(
    values: Array,
    metric: Metric = LOSS,
    *,
    documents: Array | None = None,
    counts: Array | None = None,
    data: str = "d",
) -> TaskResult:
    records = np.zeros(len(values), [("x", "f8"), ("n", "f8")])
    records["x"] = values
    records["n"] = 1 if counts is None else counts
    documents = np.arange(len(values)) if documents is None else documents
    return TaskResult("t", "m", data, (metric,), records, documents)


def test_a_result_is_printed_with_its_metrics_not_its_examples() -> None:
    assert repr(result(np.arange(1001.0))) == "<TaskResult of m: t on d, 1001 examples; loss 500>"


def test_the_difference_of_means_is_the_paired_t_test() -> None:
    random = np.random.default_rng(1)
    before = random.random(25)
    after = before + random.normal(0.1, 0.2, 25)
    found = paired_difference(result(before), result(after), "loss")
    expected = stats.ttest_rel(after, before)
    low, high = expected.confidence_interval(0.95)
    assert found.value == pytest.approx((after - before).mean())
    assert (found.low, found.high, found.p) == pytest.approx((low, high, expected.pvalue))
    assert (found.examples, found.documents) == (25, 25)


def test_documents_of_equal_size_count_as_one_case_each() -> None:
    random = np.random.default_rng(2)
    before = random.random(40)
    after = before + np.repeat(random.normal(0.1, 0.2, 8), 5)
    documents = np.repeat(np.arange(8), 5)
    found = paired_difference(result(before, documents=documents), result(after, documents=documents), "loss")
    means = (after - before).reshape(8, 5).mean(1)
    assert found.p == pytest.approx(stats.ttest_1samp(means, 0).pvalue)
    assert found.documents == 8
    alone = paired_difference(result(before), result(after), "loss")
    assert alone.p < found.p


def test_the_error_of_a_ratio_knows_its_sizes() -> None:
    """Close to the ratio estimator of survey statistics, of which the jackknife is the other form."""
    random = np.random.default_rng(3)
    counts = random.integers(5, 40, 300).astype(float)
    sums = counts * random.gamma(4, 0.5, 300)
    ratio = sums.sum() / counts.sum()
    spread = ((sums - ratio * counts) ** 2).sum() / counts.sum() ** 2 * 300 / 299
    found = result(sums, RATIO, counts=counts)
    assert found.metric("loss") == pytest.approx(ratio)
    assert found.stderr("loss") == pytest.approx(math.sqrt(spread), rel=0.01)


def test_nothing_changed() -> None:
    values = np.random.default_rng(4).random(10)
    found = paired_difference(result(values), result(values), "loss")
    assert (found.value, found.low, found.high, found.p) == (0, 0, 0, 1)


def test_the_same_change_everywhere() -> None:
    values = np.zeros(10)
    found = paired_difference(result(values), result(values + 1), "loss")
    assert (found.value, found.p) == (1, 2**-9)  # ten that go the same way, as heads of a coin
    assert math.isnan(found.low)
    assert math.isnan(found.high)


def test_few_documents_are_never_sure() -> None:
    """Two documents that change nearly alike have a t value of thousands."""
    before = np.zeros(3)
    for documents in (2, 3):
        after = 1 + 1e-6 * np.arange(documents)
        found = paired_difference(result(before[:documents]), result(after), "loss")
        assert found.p == 2.0 ** (1 - documents)
    many = np.random.default_rng(0).normal(1, 0.1, 40)
    expected = stats.ttest_1samp(many, 0).pvalue
    assert paired_difference(result(np.zeros(40)), result(many), "loss").p == pytest.approx(
        max(expected, 2.0**-39)
    )


def test_one_document_says_nothing_of_the_error() -> None:
    documents = np.zeros(4, dtype=int)
    one = result(np.arange(4.0), documents=documents)
    assert math.isnan(one.stderr("loss"))
    assert all(math.isnan(end) for end in one.interval("loss"))
    found = paired_difference(one, one, "loss")
    assert found.value == 0
    assert math.isnan(found.p)


def test_intervals_of_means() -> None:
    values = np.random.default_rng(5).random(30)
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    assert result(values).interval("loss", level=0.9) == pytest.approx((low, high))
    # An interval does not go where the metric cannot.
    assert result(np.array([0.0, 0, 0, 1])).interval("loss")[0] == 0


def test_intervals_of_shares_stay_inside_and_have_a_width() -> None:
    low, high = result(np.full(20, 100.0), SHARE).interval("em")
    assert 70 < low < 90
    assert high == 100
    low, high = result(np.repeat([100.0, 0.0], 500), SHARE).interval("em")
    assert (low, high) == pytest.approx((46.9, 53.1), abs=0.1)  # Wilson's interval of 500 in 1,000


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    random = np.random.default_rng(6)
    documents = np.repeat(np.arange(12), 30)
    covered = 0
    for _ in range(300):
        chance = np.repeat(random.beta(4, 4, 12), 30)
        low, high = result(100.0 * (random.random(360) < chance), SHARE, documents=documents).interval("em")
        covered += low <= 50 <= high
    assert 0.92 < covered / 300 < 0.98


def test_results_that_are_not_of_the_same_examples() -> None:
    one = result(np.arange(4.0))
    for other in (
        result(np.arange(5.0)),
        result(np.arange(4.0), data="e"),
        result(np.arange(4.0), documents=np.zeros(4)),
    ):
        with pytest.raises(OptionError, match="cannot be paired"):
            paired_difference(one, other, "loss")


def test_unknown_metrics_and_levels() -> None:
    one = result(np.arange(4.0))
    with pytest.raises(OptionError, match="no metric called 'em'; choose from loss"):
        one.metric("em")
    with pytest.raises(OptionError, match="level"):
        one.interval("loss", level=95)


def test_scores_and_values() -> None:
    one = result(np.array([1.0, 3.0]))
    assert one.values == {"loss": 2}
    np.testing.assert_array_equal(one.scores["loss"], [1, 3])
    records = np.zeros(3, [("prediction", "f8"), ("gold", "f8")])
    assert TaskResult("t", "m", "d", (Pearson("p"),), records, np.arange(3)).scores == {}
