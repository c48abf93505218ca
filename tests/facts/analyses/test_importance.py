"""Importance against ablation: the right sign, interval and p, and silence where there is nothing to say."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from tests.helpers.atlases import atlas_of, per_head

from headscope.atlas import Atlas
from headscope.importance import agreement


def atlas(  # type: ignore[type-arg]
    importance: np.ndarray,
    *changes: np.ndarray,
    metrics: tuple[str, ...] = ("f1", "loss"),
    data: str = "a.json",
) -> Atlas:
    arrays = per_head("head_importance", importance, units="nats")
    if changes:
        arrays |= per_head("ablation_change", np.stack(changes, -1), {"metric": metrics}, stderr=None)
    known = {name: {"higher_is_better": name != "loss"} for name in metrics}
    sweep = {"edit": "zero", "task": "qa", "data": "a.json", "metrics": known}
    made = atlas_of(arrays).with_probe(
        "ablation", {}, facts={"sweeps": {"heads": sweep}}, table={}, examples={}
    )
    asked = {"data": data, "options": {"task": "qa"}}
    return made.with_probe("importance", {}, facts=asked, table={}, examples={})


def test_what_hurts_counts_as_agreement_for_every_metric() -> None:
    random = np.random.default_rng(0)
    importance = random.uniform(size=(6, 8))
    harm = importance + random.normal(scale=0.3, size=(6, 8))
    f1, f1_size, loss, loss_size = found = agreement(atlas(importance, -harm, harm))
    expected = spearmanr(importance.ravel(), harm.ravel())
    assert (f1.metric, loss.metric) == ("f1", "loss")
    for one in (f1, loss):
        assert one.rho == pytest.approx(expected.statistic)
        assert one.p == pytest.approx(expected.pvalue)
        assert one.low < one.rho < one.high <= 1
        assert (one.heads, one.stack) == (48, "encoder")
    size = spearmanr(importance.ravel(), np.abs(harm).ravel()).statistic
    assert f1_size.rho == loss_size.rho == pytest.approx(size)
    assert [one.change for one in found] == ["worse", "either way"] * 2
    assert {(one.edit, one.same_data) for one in found} == {("zero", True)}
    assert not any(one.same_data for one in agreement(atlas(importance, -harm, harm, data="b.json")))
    assert agreement(atlas(importance, -harm, harm)) == found  # the same at every call


def test_the_interval_is_that_of_resampled_heads() -> None:
    random = np.random.default_rng(1)
    importance = random.normal(size=(10, 20))
    harm = 0.7 * importance + random.normal(size=(10, 20))
    found, _ = agreement(atlas(importance, harm, metrics=("loss",)))
    slow = []
    for _ in range(1000):
        rows = random.integers(200, size=200)
        slow.append(spearmanr(importance.ravel()[rows], harm.ravel()[rows]).statistic)
    low, high = np.quantile(slow, [0.025, 0.975])
    assert (found.low, found.high) == (pytest.approx(low, abs=0.02), pytest.approx(high, abs=0.02))


def test_nothing_to_say() -> None:
    importance = np.arange(12.0).reshape(3, 4)
    assert agreement(atlas(importance)) == []
    assert agreement(atlas(importance, np.zeros((3, 4)), metrics=("f1",))) == []
    missing = np.full((3, 4), np.nan)
    missing[0, :3] = 1, 2, 3
    assert agreement(atlas(importance, missing, metrics=("f1",))) == []
    missing[1] = 4, 5, 6, 7
    found, _ = agreement(atlas(importance, -missing, metrics=("f1",)))
    assert (found.heads, found.rho) == (7, pytest.approx(1))
