import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from headscope.tasks.metric import Array, ClassF1, Matthews, Mean, Metric, Pearson, Perplexity, Spearman

RANDOM = np.random.default_rng(7)


def guesses(classes: int, count: int = 60) -> Array:
    records = np.zeros(count, [("prediction", "i8"), ("gold", "i8"), ("right", "f8")])
    records["gold"] = RANDOM.integers(classes, size=count)
    is_random = RANDOM.random(count) < 0.5
    records["prediction"] = np.where(is_random, RANDOM.integers(classes, size=count), records["gold"])
    records["right"] = 100 * (records["prediction"] == records["gold"])
    return records


def numbers(count: int = 60, *, ties: bool = False, offset: float = 0.0) -> Array:
    records = np.zeros(count, [("prediction", "f8"), ("gold", "f8")])
    records["gold"] = RANDOM.normal(size=count)
    records["prediction"] = records["gold"] + RANDOM.normal(size=count)
    if ties:
        records["prediction"], records["gold"] = records["prediction"].round(), records["gold"].round()
    records["prediction"] += offset
    return records


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_classification_agrees_with_scikit_learn(classes: int) -> None:
    records = guesses(classes)
    gold, guess = records["gold"], records["prediction"]
    average = "binary" if classes == 2 else "macro"
    assert Mean("a", field="right").value(records) == pytest.approx(100 * accuracy_score(gold, guess))
    assert ClassF1("f", classes=classes).value(records) == pytest.approx(
        100 * f1_score(gold, guess, average=average)
    )
    assert Matthews("m", classes=classes).value(records) == pytest.approx(matthews_corrcoef(gold, guess))


def test_macro_f1_leaves_out_classes_that_do_not_occur() -> None:
    records = guesses(3)
    expected = f1_score(records["gold"], records["prediction"], average="macro")
    assert ClassF1("f", classes=8).value(records) == pytest.approx(100 * expected)


def test_a_constant_guess() -> None:
    records = guesses(2)
    records["prediction"] = 0
    assert ClassF1("f").value(records) == 0
    assert Matthews("m").value(records) == 0


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("ties", [False, True])
def test_correlations_agree_with_scipy(ties: bool, offset: float) -> None:
    records = numbers(ties=ties, offset=offset)
    gold, guess = records["gold"], records["prediction"]
    assert Pearson("p").value(records) == pytest.approx(stats.pearsonr(gold, guess).statistic, abs=1e-9)
    assert Spearman("s").value(records) == pytest.approx(stats.spearmanr(gold, guess).statistic, abs=1e-9)


@pytest.mark.parametrize("metric", [Pearson("p"), Spearman("s")])
def test_correlation_with_a_constant_is_unknown(metric: Metric) -> None:
    records = numbers()
    records["prediction"] = 0.1
    assert math.isnan(metric.value(records))


def test_ratios_weigh_by_their_count() -> None:
    records = np.array([(2.0, 1.0), (9.0, 9.0), (0.0, 0.0)], dtype=[("loss", "f8"), ("tokens", "f8")])
    metric = Mean("loss", field="loss", count="tokens")
    assert metric.value(records) == pytest.approx(11 / 10)
    np.testing.assert_allclose(metric.scores(records), [2, 1, np.nan])
    perplexity = Perplexity("perplexity", field="loss", count="tokens")
    assert perplexity.value(records) == pytest.approx(math.exp(1.1))
    np.testing.assert_allclose(perplexity.scores(records)[:2], [math.exp(2), math.exp(1)])


ALL: list[tuple[Metric, Any]] = [
    (Mean("a", field="right"), guesses(2)),
    (ClassF1("f"), guesses(2)),
    (ClassF1("f", classes=4), guesses(4)),
    (Matthews("m", classes=3), guesses(3)),
    (Pearson("p"), numbers()),
    (Spearman("s"), numbers(ties=True)),
]


@pytest.mark.parametrize(("metric", "records"), ALL)
def test_without_each_group(metric: Metric, records: Array) -> None:
    groups = RANDOM.integers(7, size=len(records))
    expected = [metric.value(records[groups != group]) for group in range(7)]
    np.testing.assert_allclose(metric.without_each(records, groups), expected, atol=1e-9)


def test_only_means_have_scores_of_single_examples() -> None:
    assert [metric.scores(records) is not None for metric, records in ALL] == [True] + 5 * [False]
