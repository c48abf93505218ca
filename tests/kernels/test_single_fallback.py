"""A kernel's reduction that differs from the model's own is computed from maps instead; the atlas names it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.attention import ChosenRows
from headscope.kernels.cpu.stack import CompiledStack
from headscope.reductions import MapSums

TEXTS = ["The cat sat on the mat, and the dog saw it.", "A dog ran home."] * 3


def analyzed(*, kernels: bool = True) -> hs.Atlas:
    return hs.analyze(tiny("bert"), TEXTS, max_length=40, sentences=0, kernels=kernels)


def note_of(atlas: hs.Atlas) -> str:
    note: str = atlas.provenance["options"]["kernels"]
    return note


def changed_sums(change: Callable[[MapSums], MapSums]) -> Any:
    """What the compiled stack leaves, with other sums."""
    left = CompiledStack.left

    def changed(self: CompiledStack, layer: int) -> Any:
        found = left(self, layer)
        sums = found.sums
        object.__setattr__(found, "sums", lambda way: change(sums(way)))
        return found

    return changed


def test_one_wrong_reduction_falls_back_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = analyzed(kernels=False)
    doubled = changed_sums(lambda sums: replace(sums, entropies=2 * sums.entropies))
    monkeypatch.setattr(CompiledStack, "left", doubled)
    atlas = analyzed()
    assert note_of(atlas).startswith("used, but not for mean_entropy (layer 0 of the encoder differs by")
    for name in ("entropy", "entropy_moved", "role_attention", "distance_features_moved"):
        np.testing.assert_allclose(atlas[name].values, expected[name].values, rtol=1e-4, atol=1e-6)


def test_nan_where_the_model_has_a_number_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = changed_sums(lambda sums: replace(sums, by_pattern=torch.full_like(sums.by_pattern, torch.nan)))
    monkeypatch.setattr(CompiledStack, "left", broken)
    assert "pattern_sums" in note_of(analyzed())


def test_wrong_rows_turn_all_kernels_off(monkeypatch: pytest.MonkeyPatch) -> None:
    rows_of = CompiledStack.rows_of

    def shifted(self: CompiledStack, rows: ChosenRows) -> Any:
        return rows_of(self, rows).roll(1, -1)  # type: ignore[union-attr]

    monkeypatch.setattr(CompiledStack, "rows_of", shifted)
    assert "not used: attention of some queries of layer 0" in note_of(analyzed())


def test_without_a_difference_all_are_used() -> None:
    assert note_of(analyzed()) == "used"
