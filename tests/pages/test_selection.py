"""Some heads against the rest: means, Welch's interval after correction, and what cannot be compared."""

import numpy as np
import pytest
from scipy.stats import ttest_ind
from tests.helpers.atlases import atlas_of, per_head, random_atlas

from headscope.errors import OptionError
from headscope.pages.selection import selection
from headscope.stats.intervals import difference_interval
from headscope.types import HeadId

HEADS = [HeadId(0, 1), HeadId(2, 0), HeadId(2, 3)]


def test_welchs_interval() -> None:
    random = np.random.default_rng(3)
    first, second = random.normal(1, 2, 7), random.normal(0, 0.5, 30)
    expected = ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    assert difference_interval(first, second) == pytest.approx((expected.low, expected.high))
    wider = ttest_ind(first, second, equal_var=False).confidence_interval(1 - 0.05 / 8)
    assert difference_interval(first, second, comparisons=8) == pytest.approx((wider.low, wider.high))
    assert np.isnan(difference_interval(first[:1], second)).all()
    assert difference_interval(np.ones(2), np.zeros(2)) == (1, 1)


def test_means_and_differences_the_clearest_first() -> None:
    random = np.random.default_rng(5)
    clear, unclear = random.normal(0, 0.01, (3, 4)), random.normal(0, 1, (3, 4))
    for head in HEADS:
        clear[head.layer, head.head] += 1
    atlas = atlas_of(per_head("entropy", clear, units="nats") | per_head("odd", unclear))
    found = selection(atlas, "encoder", HEADS)
    first, second = found.rows
    inside = np.array([clear[head.layer, head.head] for head in HEADS])
    assert (first.unit, first.verdict, second.verdict) == ("nats", "above", "unclear")
    assert first.selected == pytest.approx(inside.mean(), rel=1e-4)
    assert first.rest == pytest.approx((clear.sum() - inside.sum()) / 9, rel=1e-4)
    rest = np.delete(clear.ravel(), [4 * head.layer + head.head for head in HEADS])
    of_two = ttest_ind(inside, rest, equal_var=False).confidence_interval(1 - 0.05 / 2)
    assert (first.low, first.high) == pytest.approx((of_two.low, of_two.high), rel=1e-3)
    assert first.low is not None
    assert first.low < (first.difference or 0) == pytest.approx(1, abs=0.05)
    assert found.about.startswith("Means over 3 heads and over the other 9.")
    assert "corrected for 2 measures" in found.about
    assert selection(atlas, "encoder", HEADS[:1]).rows[0].verdict == "unclear"  # of one head nobody knows


def test_what_cannot_be_compared() -> None:
    every = [HeadId(layer, head) for layer in range(3) for head in range(4)]
    with pytest.raises(OptionError, match="12 heads of 12 are selected"):
        selection(random_atlas(), "encoder", every)
    with pytest.raises(OptionError, match=r"no head 9\.9"):
        selection(random_atlas(), "encoder", [HeadId(9, 9)])
