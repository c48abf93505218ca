"""What every measure must do, whoever wrote it: merge exactly, ignore padding, survive a trip between processes."""

import pickle

import numpy as np
import pytest
import torch
from tests.helpers.attention import batches, measured, random_texts

from headscope.measures import MEASURES, ExampleMap, Measure
from headscope.measures.base import PerTextMeasure
from headscope.types import HeadGrid

GRIDS = {
    "encoder": HeadGrid("encoder", 3, 2, causal=False),
    "decoder": HeadGrid("decoder", 3, 2, causal=True),
}
LENGTHS = [23, 9, 17, 23, 12, 3, 31]

KINDS = [MEASURES.get(name) for name in MEASURES.names()]
every_measure = pytest.mark.parametrize("kind", KINDS, ids=MEASURES.names())
every_grid = pytest.mark.parametrize("grid", GRIDS.values(), ids=list(GRIDS))


def values(state: Measure) -> dict[str, np.ndarray]:
    return {name: array.values for name, array in state.result().items()}


def assert_same(left: Measure, right: Measure, *, rtol: float = 1e-6, atol: float = 1e-7) -> None:
    first, second = values(left), values(right)
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_allclose(first[name], second[name], rtol=rtol, atol=atol, err_msg=name)


@every_grid
@every_measure
def test_three_uneven_parts_one_of_them_empty_merge_to_the_whole(kind: type[Measure], grid: HeadGrid) -> None:
    texts = random_texts(grid, LENGTHS)
    whole = measured(kind, grid, [[text] for text in texts])
    parts = [measured(kind, grid, [[text] for text in part]) for part in (texts[:1], [], texts[1:])]
    for order in ((0, 1, 2), (2, 0, 1)):
        total = kind.empty(grid)
        for number in order:
            total.merge(parts[number])
        assert_same(total, whole, rtol=1e-12, atol=1e-12)


@every_grid
@every_measure
def test_batch_size_order_and_padding_do_not_matter(kind: type[Measure], grid: HeadGrid) -> None:
    texts = random_texts(grid, LENGTHS)
    one_by_one = measured(kind, grid, [[text] for text in texts])
    together = measured(kind, grid, [texts])
    mixed = measured(kind, grid, [texts[4:][::-1], texts[:4]], extra=5)
    assert_same(together, one_by_one)
    assert_same(mixed, one_by_one)


@every_measure
def test_garbage_in_padding_queries_does_not_leak(kind: type[Measure]) -> None:
    grid = GRIDS["encoder"]
    texts = random_texts(grid, [9, 14])
    clean = measured(kind, grid, [texts])
    state = kind.empty(grid)
    for batch in batches(grid, texts, rubbish=torch.nan):
        state.update(batch)
    assert_same(state, clean)


@every_measure
def test_what_it_saw_survives_pickling(kind: type[Measure]) -> None:
    grid = GRIDS["encoder"]
    state = measured(kind, grid, [random_texts(grid, LENGTHS)])
    assert_same(pickle.loads(pickle.dumps(state)), state, rtol=0, atol=0)


@every_measure
def test_double_precision_agrees(kind: type[Measure]) -> None:
    grid = GRIDS["encoder"]
    texts = random_texts(grid, LENGTHS)
    state = kind.empty(grid)
    for batch in batches(grid, texts, dtype=torch.float64):
        state.update(batch)
    assert_same(state, measured(kind, grid, [texts]), rtol=1e-4, atol=1e-6)


@every_measure
def test_arrays_are_labelled_and_come_with_their_standard_error(kind: type[Measure]) -> None:
    grid = GRIDS["encoder"]
    result = measured(kind, grid, [random_texts(grid, LENGTHS)]).result()
    assert kind.name in result
    for name, array in result.items():
        assert array.values.shape == tuple(len(array.coords[dim]) for dim in array.dims), name
        if not name.endswith("_folds"):  # a part without texts has no mean
            assert np.isfinite(array.values).all(), name
        assert array.description
    if kind is not ExampleMap:  # one text as it is
        assert f"{kind.name}_stderr" in result


@every_grid
@pytest.mark.parametrize("kind", [kind for kind in KINDS if issubclass(kind, PerTextMeasure)])
def test_the_baseline_is_what_a_head_that_looks_evenly_gets(kind: type[Measure], grid: HeadGrid) -> None:
    texts = random_texts(grid, LENGTHS)
    for text in texts:
        for query in range(len(text)):
            seen = query + 1 if grid.causal else len(text)
            text.maps[:, :, query, :seen] = 1 / seen
            text.maps[:, :, query, seen:] = 0
    result = measured(kind, grid, [texts[:3], texts[3:]]).result()
    even, baseline = result[kind.name].values, result[f"{kind.name}_uniform"].values
    if kind.name == "entropy":
        even = even[..., 0]
    np.testing.assert_allclose(even, np.broadcast_to(baseline, even.shape), atol=1e-6)


@every_measure
def test_nothing_seen_gives_nan_not_zero(kind: type[Measure]) -> None:
    assert np.isnan(kind.empty(GRIDS["encoder"]).result()[kind.name].values).all()
