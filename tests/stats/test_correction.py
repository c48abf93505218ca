import numpy as np
import pytest
from scipy.stats import false_discovery_control

from headscope.stats.correction import SIGNIFICANT, adjusted, units_needed
from headscope.stats.paired import least_p


def slow_holm(p_values: list[float]) -> list[float]:
    """The definition: reject as long as p_(k) <= alpha / (m - k + 1); the smallest alpha that would do."""
    count = len(p_values)
    found = []
    for own in p_values:
        smaller = sorted(p for p in p_values if p <= own)
        found.append(min(1.0, max((count - rank) * p for rank, p in enumerate(smaller))))
    return found


def test_holm_by_its_definition() -> None:
    random = np.random.default_rng(0)
    for count in (1, 2, 5, 96):
        p_values = random.beta(0.4, 2, count).tolist()
        np.testing.assert_allclose(adjusted(p_values, "holm"), slow_holm(p_values))


def test_holm_known_values() -> None:
    found = adjusted([0.01, 0.04, 0.03, 0.005], "holm")
    np.testing.assert_allclose(found, [0.03, 0.06, 0.06, 0.02])


def test_benjamini_hochberg_as_scipy_has_it() -> None:
    p_values = np.random.default_rng(1).beta(0.4, 2, 60)
    np.testing.assert_allclose(
        adjusted(p_values.tolist(), "benjamini-hochberg"), false_discovery_control(p_values)
    )


@pytest.mark.parametrize("correction", ["holm", "benjamini-hochberg", "none"])
def test_what_is_not_known_does_not_count(correction: str) -> None:
    found = adjusted([0.01, np.nan, 0.2], correction)  # type: ignore[arg-type]
    assert np.isnan(found[1])
    np.testing.assert_allclose(found[[0, 2]], adjusted([0.01, 0.2], correction))  # type: ignore[arg-type]
    assert adjusted([], correction).shape == (0,)  # type: ignore[arg-type]


def test_none_leaves_them() -> None:
    assert adjusted([0.3, 0.01], "none").tolist() == [0.3, 0.01]


def test_how_many_texts_it_takes() -> None:
    """By hand: 2 ** (1 - n) x 96 < 0.05 from n = 12 on; uncorrected from n = 6 on."""
    assert [units_needed(tests, "holm") for tests in (1, 3, 12, 96)] == [6, 7, 9, 12]
    assert units_needed(96, "benjamini-hochberg") == units_needed(96, "none") == 6


@pytest.mark.parametrize("correction", ["holm", "benjamini-hochberg", "none"])
def test_with_one_text_fewer_nothing_can_be_significant(correction: str) -> None:
    needed = units_needed(40, correction)  # type: ignore[arg-type]
    best = [adjusted([least_p(n)] * 40, correction).min() for n in (needed - 1, needed)]  # type: ignore[arg-type]
    assert best[1] < SIGNIFICANT <= best[0]
