"""Kinds and maps of heads are computed in one thread, whatever the machine has; others keep theirs."""

from collections.abc import Callable
from typing import Any

import pytest
from sklearn import manifold
from sklearn.cluster import KMeans
from tests.helpers.atlases import random_atlas
from tests.helpers.kinds import kinds_atlas
from threadpoolctl import threadpool_info, threadpool_limits

from headscope.errors import HeadscopeWarning
from headscope.kinds.kinds import head_types
from headscope.kinds.map import feature_map, head_map


def pools() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info()}


def watched(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[set[int]]:
    """How many threads there are whenever this is called."""
    seen: list[set[int]] = []
    original: Callable[..., Any] = getattr(owner, name)

    def call(*values: Any, **options: Any) -> Any:
        seen.append(pools())
        return original(*values, **options)

    monkeypatch.setattr(owner, name, call)
    return seen


def test_one_thread_for_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headscope.kinds.stability.ROUNDS", 1)
    monkeypatch.setattr("headscope.kinds.clusters.NULL_DRAWS", 2)
    atlas, seen = kinds_atlas(), watched(monkeypatch, KMeans, "fit")
    with threadpool_limits(2):
        with pytest.warns(HeadscopeWarning) as said:
            head_types(atlas, k=3)
        assert pools() == {2}
    assert seen
    assert all(threads == {1} for threads in seen)
    assert {warning.filename for warning in said} == {__file__}


def test_one_thread_for_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    by_distance = watched(monkeypatch, manifold, "smacof")
    by_features = watched(monkeypatch, manifold.TSNE, "fit_transform")
    with threadpool_limits(2):
        head_map(random_atlas())
        feature_map(kinds_atlas())
        assert pools() == {2}
    assert by_distance
    assert by_features
    assert all(threads == {1} for threads in by_distance + by_features)
