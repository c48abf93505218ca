import pytest

from headscope_papers.reproduce.table import Figure
from headscope_papers.reproduce.verdicts import does_not_exceed, exceeds, falls_below, holds, within

HEAD, OFFSET = Figure(0.9, 0.85, 0.95), Figure(0.5, 0.45, 0.55)


def _agreement(verdict: object) -> object:
    return getattr(verdict, "agreement", None)


def test_a_finding_holds_when_the_intervals_lie_apart_its_way() -> None:
    assert _agreement(exceeds(HEAD, OFFSET, "a head beats an offset")) == "same"
    assert _agreement(exceeds(OFFSET, HEAD, "a head beats an offset")) == "different"
    assert _agreement(falls_below(OFFSET, HEAD, "less")) == "same"
    assert _agreement(falls_below(HEAD, OFFSET, "less")) == "different"


def test_it_is_unclear_where_the_intervals_meet() -> None:
    close = Figure(0.58, 0.54, 0.62)
    assert _agreement(exceeds(close, OFFSET, "more")) == "unclear"
    assert _agreement(falls_below(OFFSET, close, "less")) == "unclear"


def test_a_figure_without_an_interval_counts_as_exact() -> None:
    assert _agreement(exceeds(Figure(0.6), 0.5, "over half")) == "same"
    assert _agreement(exceeds(Figure(0.4), 0.5, "over half")) == "different"
    assert _agreement(exceeds(Figure(0.5), 0.5, "over half")) == "unclear"


def test_only_a_clear_excess_contradicts_that_there_is_none() -> None:
    assert _agreement(does_not_exceed(HEAD, OFFSET, "no head beats it")) == "different"
    assert _agreement(does_not_exceed(Figure(0.58, 0.54, 0.62), OFFSET, "no head beats it")) == "same"
    assert _agreement(does_not_exceed(OFFSET, HEAD, "no head beats it")) == "same"


@pytest.mark.parametrize("missing", [None, Figure(None, words="more")])
def test_there_is_no_verdict_without_two_numbers(missing: Figure | None) -> None:
    assert exceeds(missing, OFFSET, "more") is None
    assert exceeds(HEAD, missing, "more") is None
    assert does_not_exceed(missing, OFFSET, "more") is None


@pytest.mark.parametrize(
    ("low", "high", "agreement"),
    [
        (0.4, 0.5, "same"),
        (0.1, 0.2, "different"),
        (0.7, 0.8, "different"),
        (0.2, 0.4, "unclear"),
        (0.2, 0.8, "unclear"),
    ],
)
def test_a_range_holds_the_whole_interval(low: float, high: float, agreement: str) -> None:
    ours = Figure((low + high) / 2, low, high)
    assert _agreement(within(ours, (0.32, 0.61), "32 to 61 %")) == agreement
    assert within(None, (0.32, 0.61), "32 to 61 %") is None


def test_what_was_decided_elsewhere() -> None:
    assert [_agreement(holds(answer, "it is so")) for answer in (True, False, None)] == [
        "same",
        "different",
        "unclear",
    ]
