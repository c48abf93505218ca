"""The one verdict on a head beside its baselines, case by case."""

from typing import Any

import pytest

from headscope.facts.scores import HeadScore, Score, compared


def score(low: float | None, value: float, high: float | None) -> Score:
    return Score("it", value, low, high)


WEAK, STRONG = score(0.1, 0.2, 0.3), score(0.4, 0.5, 0.6)


@pytest.mark.parametrize(
    ("own", "cases", "verdict"),
    [
        (score(0.65, 0.7, 0.75), None, "above"),
        (score(0.60, 0.7, 0.80), None, "unclear"),  # the ends touch
        (score(0.35, 0.45, 0.55), None, "unclear"),  # above one rule alone
        (score(0.30, 0.35, 0.39), None, "below"),  # the best rule, though above the other one
        (score(0.30, 0.35, 0.40), None, "unclear"),
        (score(None, 0.9, None), None, "unclear"),  # nothing says how sure it is
        (score(0.65, 0.7, 0.75), 30, "above"),
        (score(0.65, 0.7, 0.75), 29, "too few"),
    ],
)
def test_a_head_beside_two_rules(own: Score, cases: int | None, verdict: str) -> None:
    for baselines in ([WEAK, STRONG], [STRONG, WEAK]):
        assert compared(own, baselines, cases, few_cases=30) == verdict


def test_a_rule_without_an_interval_counts_by_its_value() -> None:
    rule = score(None, 0.5, None)
    assert compared(score(0.51, 0.6, 0.7), [rule]) == "above"
    assert compared(score(0.30, 0.4, 0.49), [rule]) == "below"
    assert compared(score(0.45, 0.6, 0.7), [rule]) == "unclear"


def test_without_a_baseline_nothing_is_said() -> None:
    assert compared(score(0.8, 0.9, 0.95), []) == "unclear"


def verdict(own: Score, **more: Any) -> str:
    return HeadScore("det", 100, None, None, own, few_cases=30, **more).verdict


def test_what_was_corrected_for_all_heads_decides() -> None:
    clear = score(0.65, 0.7, 0.75)
    assert verdict(clear, baselines=(STRONG,)) == "above"
    assert verdict(clear, baselines=(STRONG,), corrected="unclear") == "unclear"


@pytest.mark.parametrize(
    ("low", "high", "least", "expected"),
    [
        (0.01, 0.05, 0.0, "above"),
        (0.01, 0.05, 0.02, "unclear"),  # more than nothing, and perhaps less than what counts
        (0.03, 0.05, 0.02, "above"),
        (-0.05, -0.01, 0.02, "below"),
        (-0.01, 0.01, 0.0, "unclear"),
    ],
)
def test_a_difference_is_held_against_the_least_that_counts(
    low: float, high: float, least: float, expected: str
) -> None:
    difference = score(low, (low + high) / 2, high)
    assert verdict(difference, is_difference=True, least=least, baselines=(STRONG,)) == expected
