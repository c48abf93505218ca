"""The sums of a comparison merge exactly, and padding counts for nothing."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import ttest_1samp
from tests.helpers.attention import Text, batches, random_texts

from headscope.attention import LayerReductions
from headscope.comparison.result import _measure_rows
from headscope.comparison.sums import AttentionSums, MeasureSums, StackSums
from headscope.errors import CaptureError
from headscope.measures import MEASURES
from headscope.reductions import cosine_of, divergence_of
from headscope.types import HeadGrid

GRID = HeadGrid("encoder", layers=4, heads=3, causal=False)
LENGTHS = [9, 4, 12, 7, 8]


def counted(first: list[Text], second: list[Text], *, extra: int = 0) -> StackSums:
    sums = StackSums.zeros(GRID, same_input=True)
    if not first:
        return sums
    layers = [batches(GRID, texts, extra=extra) for texts in (first, second)]
    for one, other in zip(*layers, strict=True):
        sums.attention.update(one, other)
        sums.same_input["a"].update(one, other)
        sums.same_input["b"].update(other, other)
    stacks = []
    for of_model in layers:
        collected = LayerReductions(GRID.layers, sums.reads)
        for layer in of_model:
            collected.add(layer)
        stacks.append(collected.batches(layer.queries, layer.keys, causal=GRID.causal)["attention"])
    for measure in sums.measures:
        measure.update(*stacks)
    return sums


def two_models() -> tuple[list[Text], list[Text]]:
    """The same tokens, other maps."""
    first, second = random_texts(GRID, LENGTHS), random_texts(GRID, LENGTHS)
    drawn = random_texts(GRID, LENGTHS, seed=1)
    second = [
        Text(text.ids, text.role, text.segment, text.word, text.word_type, other.maps)
        for text, other in zip(second, drawn, strict=True)
    ]
    return first, second


def numbers(sums: StackSums) -> list[np.ndarray]:  # type: ignore[type-arg]  # of any shape
    means = [getattr(sums.attention, name) for name in ("cosine", "js", "by_layer", "ends")]
    means += [same.cosine for same in sums.same_input.values()]
    for measure in sums.measures:
        means += [measure.first.means, measure.second.means, measure.change]
    return [part for mean in means for part in (mean.mean(), mean.stderr())]


def test_padding_counts_for_nothing() -> None:
    first, second = two_models()
    for ours, theirs in zip(
        numbers(counted(first, second)), numbers(counted(first, second, extra=5)), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_merging_in_the_middle_of_a_batch_is_refused() -> None:
    first, second = two_models()
    sums = AttentionSums.zeros(GRID)
    sums.update(batches(GRID, first)[0], batches(GRID, second)[0])
    with pytest.raises(CaptureError, match="middle of a batch"):
        sums.merge(AttentionSums.zeros(GRID))


def test_known_values() -> None:
    even, here, there = (
        torch.full((2, 2), 0.5),
        torch.tensor([[1.0, 0], [1, 0]]),
        torch.tensor([[0.0, 1], [0, 1]]),
    )
    first = torch.stack([even, here, here, torch.zeros(2, 2), torch.zeros(2, 2)])[
        None
    ]  # (text, head, query, key)
    second = torch.stack([even, there, even, torch.zeros(2, 2), even])[None]
    np.testing.assert_allclose(cosine_of(first, second)[0], [1, 0, np.sqrt(0.5), 1, 0], atol=1e-6)
    js = divergence_of(first, second).mean(-1)[0]
    np.testing.assert_allclose(js[:2], [0, np.log(2)], atol=1e-6)
    entropy = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    np.testing.assert_allclose(js[2], entropy - np.log(2) / 2, atol=1e-6)
    assert js[2] == pytest.approx(0.2158, abs=1e-4)


def test_the_ends_are_the_last_third_of_the_layers_less_the_first() -> None:
    grid = HeadGrid("encoder", layers=6, heads=2, causal=False)
    first, drawn = random_texts(grid, LENGTHS), random_texts(grid, LENGTHS, seed=1)
    apart = torch.tensor([0.0, 0.1, 0.2, 0.3, 0.9, 1.0])[:, None, None, None]  # by layer
    second = [
        replace(text, maps=(1 - apart) * text.maps + apart * other.maps)
        for text, other in zip(first, drawn, strict=True)
    ]
    sums = AttentionSums.zeros(grid)
    for one, other in zip(batches(grid, first), batches(grid, second), strict=True):
        sums.update(one, other)
    by_text = np.array(
        [
            [1 - np.mean([cosine(a, b) for a, b in zip(*maps, strict=True)]) for maps in layers]
            for layers in (
                zip(a.maps.numpy(), b.maps.numpy(), strict=True) for a, b in zip(first, second, strict=True)
            )
        ]
    )  # (text, layer)
    expected = by_text[:, [4, 5]].mean(1) - by_text[:, [0, 1]].mean(1)
    assert expected.mean() > 0.1
    assert sums.ends.mean()[0] == pytest.approx(expected.mean(), abs=1e-5)
    assert sums.ends.stderr()[0] == pytest.approx(expected.std(ddof=1) / len(expected) ** 0.5, abs=1e-5)


def cosine(first: np.ndarray, second: np.ndarray) -> float:
    return float((first * second).sum() / np.sqrt((first**2).sum() * (second**2).sum()))


def test_a_change_is_sure_by_an_interval_for_all_heads_and_labels() -> None:
    """Student's t over texts, as SciPy has it, at 5 % shared by all numbers of the measure."""
    texts, grid = 30, HeadGrid("encoder", layers=2, heads=3, causal=False)
    sums = MeasureSums.zeros(MEASURES.get("offset_attention"), grid)
    offsets = sums.change.total.shape[-1]
    values = np.random.default_rng(0).normal(size=(2, texts, 3, offsets))  # (layer, text, head, offset)
    values += np.linspace(0, 1, 3)[:, None]
    for layer in range(2):
        before = torch.zeros(texts, 3, offsets)
        sums.first.means.add(before, layer=layer)
        sums.second.means.add(torch.tensor(values[layer]), layer=layer)
        sums.change.add(torch.tensor(values[layer]), layer=layer)
    p = ttest_1samp(values, 0, axis=1).pvalue  # (layer, head, offset)
    expected = (p < 0.05 / p.size).sum((0, 1))
    assert expected.sum() < (p < 0.05).sum()
    assert [row["heads_sure"] for row in _measure_rows(sums)] == expected.tolist()
