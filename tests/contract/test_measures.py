"""What every measure does, whoever wrote it: one test a clause, over the registry in measures.py."""

from copy import deepcopy
from functools import cache

import numpy as np
import pytest
import torch
from tests.contract.broken import NAN, broken
from tests.contract.lanes import lanes
from tests.contract.measures import (
    ENTRIES,
    GRIDS,
    LENGTHS,
    MEASURES_OF_RUNS,
    MeasureEntry,
    analyzed,
    assert_same,
)
from tests.contract.shards import TEXTS, Arrays, arrays_of, assert_same_bits
from tests.helpers.attention import random_texts
from tests.helpers.tiny import tiny
from tests.seams import measured

import headscope as hs
from headscope.errors import CaptureError
from headscope.measures.base import PerTextMeasure
from headscope.passes.states import dump_state, load_state
from headscope.trace import survey
from headscope.types import HeadGrid

every_measure = pytest.mark.parametrize("entry", ENTRIES.values(), ids=list(ENTRIES))
every_grid = pytest.mark.parametrize("grid", GRIDS.values(), ids=list(GRIDS))
ENCODER = GRIDS["encoder"]
NAN_BERT = cache(lambda: broken(tiny("bert")))


@every_grid
@every_measure
def test_three_uneven_parts_one_of_them_empty_merge_to_the_whole(entry: MeasureEntry, grid: HeadGrid) -> None:
    texts = random_texts(grid, LENGTHS)
    whole = measured(entry.kind, texts, grid, batch_size=1)
    parts = [measured(entry.kind, part, grid, batch_size=1) for part in (texts[:1], [], texts[1:])]
    for order in ((0, 1, 2), (2, 0, 1)):
        total = entry.kind.empty(grid)
        for number in order:
            total.merge(parts[number])
        assert_same(total, whole, rtol=1e-12, atol=1e-12)


@every_grid
@every_measure
def test_batch_size_order_and_padding_do_not_matter(entry: MeasureEntry, grid: HeadGrid) -> None:
    texts = random_texts(grid, LENGTHS)
    one_by_one = measured(entry.kind, texts, grid, batch_size=1)
    assert_same(measured(entry.kind, texts, grid), one_by_one)
    assert_same(measured(entry.kind, texts[::-1], grid, batch_size=3, padding=5), one_by_one)


@every_grid
@every_measure
def test_nan_in_padding_does_not_leak(entry: MeasureEntry, grid: HeadGrid) -> None:
    texts = random_texts(grid, LENGTHS)
    assert_same(measured(entry.kind, texts, grid, garbage=torch.nan), measured(entry.kind, texts, grid))


@every_measure
def test_what_it_counted_survives_a_trip(entry: MeasureEntry) -> None:
    """As the bytes of a checkpoint, and with its class to another process."""
    cloudpickle = pytest.importorskip("ray.cloudpickle")
    state = measured(entry.kind, random_texts(ENCODER, LENGTHS), ENCODER)
    assert_same(load_state(dump_state(state), entry.kind.empty(ENCODER)), state, rtol=0, atol=0)
    assert_same(cloudpickle.loads(cloudpickle.dumps(state)), state, rtol=0, atol=0)
    assert_same(deepcopy(state), state, rtol=0, atol=0)


@every_measure
def test_double_precision_agrees(entry: MeasureEntry) -> None:
    texts = random_texts(ENCODER, LENGTHS)
    exact = measured(entry.kind, texts, ENCODER, dtype=torch.float64)
    assert_same(exact, measured(entry.kind, texts, ENCODER), rtol=1e-4, atol=1e-6)


@every_measure
def test_arrays_are_labelled_and_come_with_their_standard_error(entry: MeasureEntry) -> None:
    result = measured(entry.kind, random_texts(ENCODER, LENGTHS), ENCODER).result()
    assert entry.kind.name in result
    for name, array in result.items():
        assert array.values.shape == tuple(len(array.coords[dim]) for dim in array.dims), name
        if not name.endswith("_folds"):  # a part without texts has no mean
            assert np.isfinite(array.values).all(), name
        assert array.description
    assert (f"{entry.kind.name}_stderr" in result) == (not entry.no_stderr)


@every_grid
@pytest.mark.parametrize("entry", [one for one in ENTRIES.values() if issubclass(one.kind, PerTextMeasure)])
def test_the_baseline_is_what_a_head_that_looks_evenly_gets(entry: MeasureEntry, grid: HeadGrid) -> None:
    texts = random_texts(grid, LENGTHS)
    for text in texts:
        for query in range(len(text)):
            seen = query + 1 if grid.causal else len(text)
            text.maps[:, :, query, :seen] = 1 / seen
            text.maps[:, :, query, seen:] = 0
    result = measured(entry.kind, texts, grid, batch_size=3).result()
    even, baseline = result[entry.kind.name].values, result[f"{entry.kind.name}_uniform"].values
    if entry.kind.name == "entropy":
        even = even[..., 0]
    np.testing.assert_allclose(even, np.broadcast_to(baseline, even.shape), atol=1e-6)


@every_measure
def test_nothing_counted_gives_nan_not_zero(entry: MeasureEntry) -> None:
    assert np.isnan(entry.kind.empty(ENCODER).result()[entry.kind.name].values).all()


# In a model


in_a_run = pytest.mark.parametrize(
    "entry",
    [pytest.param(entry, id=name) for name, entry in ENTRIES.items() if entry.kind in MEASURES_OF_RUNS],
)


def assert_close(found: Arrays, expected: Arrays, entry: MeasureEntry) -> None:
    """The arrays of one measure, by where heads look and by what they move."""
    names = [name for name in expected if name.rpartition("/")[2].startswith(entry.kind.name)]
    assert names
    for name in names:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-4, atol=1e-5, err_msg=name)


@in_a_run
@pytest.mark.parametrize("architecture", ["bert", "t5"])
def test_every_stack_that_it_fits_has_its_numbers(entry: MeasureEntry, architecture: str) -> None:
    atlas, name = analyzed(architecture), entry.kind.name
    for grid in survey(tiny(architecture)).stacks.grids:
        own = atlas.stack(grid.stack).plain
        assert (name in own) == entry.kind.fits(grid)
        if name in own and "layer" in own[name].coords:
            assert own[name].values.shape[:2] == grid.shape
        if name in own:
            assert np.isfinite(own[name].values).any()


@in_a_run
@pytest.mark.parametrize("architecture", ["bert", "t5"])
def test_kernels_change_no_number(entry: MeasureEntry, architecture: str) -> None:
    """Layers lie in one room, one after the other: a measure that keeps a view of it counts its own layer."""
    by_kernels, by_model = analyzed(architecture), analyzed(architecture, kernels=False)
    assert_close(arrays_of(by_kernels), arrays_of(by_model), entry)


@in_a_run
@pytest.mark.parametrize("architecture", ["gpt2", "t5"])
def test_batches_of_a_model_change_no_number(entry: MeasureEntry, architecture: str) -> None:
    one_by_one, together = analyzed(architecture), analyzed(architecture, batch_size=7)
    assert_close(arrays_of(together), arrays_of(one_by_one), entry)


def test_two_lanes_give_the_same_bits() -> None:
    """Lanes work on copies of the model; the measures of a notebook are among those that they count."""
    found = {}
    for number in (1, 2):
        with lanes(number) as opened:
            found[number] = arrays_of(analyzed.__wrapped__("bert"))
        assert opened == {number}
    assert_same_bits(found[2], found[1])


@pytest.mark.parametrize("kernels", [True, False])
@every_measure
def test_attention_that_is_nan_is_refused(entry: MeasureEntry, kernels: bool) -> None:
    with pytest.raises(CaptureError, match=NAN):
        hs.analyze(
            NAN_BERT(),
            TEXTS[:2],
            measures=[entry.kind],
            max_length=24,
            kernels=kernels,
            sentences=0,
            batch_size=1,
        )
