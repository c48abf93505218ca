"""The compiled loops against plain torch: the same sums, however many threads, and a way out where they cannot run."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.helpers.attention import batches, random_texts
from tests.helpers.tiny import tiny
from torch import Tensor

import headscope as hs
from headscope.errors import HeadscopeWarning
from headscope.measures import MEASURES, Measure
from headscope.measures.fast import cpu
from headscope.measures.head_distance import divergence_sums
from headscope.measures.reductions import (
    class_mass,
    mean_entropy,
    near_diagonals,
    one_pass,
    pattern_sums,
    window_sums,
)
from headscope.types import AttentionBatch, HeadGrid

GRIDS = {
    "encoder": HeadGrid("encoder", 1, 3, causal=False),
    "decoder": HeadGrid("decoder", 1, 3, causal=True),
}
LENGTHS = [23, 90, 17, 140, 3]
REDUCTIONS = [class_mass, mean_entropy, near_diagonals, window_sums, pattern_sums]
every_grid = pytest.mark.parametrize("grid", GRIDS.values(), ids=list(GRIDS))


@pytest.fixture
def in_torch(monkeypatch: pytest.MonkeyPatch):
    """What does without the compiled loops, inside."""

    def work(function, *arguments):
        with monkeypatch.context() as patch:
            patch.setattr(cpu, "takes", lambda maps: False)
            return function(*arguments)

    return work


def seen(grid: HeadGrid, *, moved: bool) -> AttentionBatch:
    (batch,) = batches(grid, random_texts(grid, LENGTHS))
    return batch.moved if moved else batch


@every_grid
@pytest.mark.parametrize("moved", [False, True], ids=["looked", "moved"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_one_pass_gives_what_torch_gives(reduction, moved: bool, grid: HeadGrid, in_torch) -> None:
    fast, slow = seen(grid, moved=moved), seen(grid, moved=moved)
    assert fast.reduce(one_pass) is not None
    expected: Tensor = in_torch(slow.reduce, reduction)
    assert in_torch(slow.reduce, one_pass) is None
    torch.testing.assert_close(fast.reduce(reduction).double(), expected.double(), atol=2e-6, rtol=2e-6)


_HASHED = """
import hashlib, numpy as np
from headscope.measures.fast import cpu
loops, random = cpu.loops(), np.random.default_rng(0)
maps, lengths = random.random((2, 70, 70), dtype=np.float32), random.random((1, 2, 70), dtype=np.float32)
ones = np.ones((1, 70), np.float32)
tokens = loops.Tokens(
    np.zeros((1, 70), int), ones[:, None], ones, np.zeros((1, 141), int), np.zeros((0, 3), int), np.zeros(2, int)
)
scores = loops.Scores(0.3, 0 * ones, np.zeros(2, np.float32), False)
into = loops.Into(*(np.zeros((1, 2, 2, *size)) for size in ((1, 1), (1,), (17,), (9,), (6,))))
loops.map_sums(maps, 0, 2, 0, 0, 2, scores, lengths, tokens, into, cpu.no_rows(1), False)
print(*(hashlib.sha256(values.tobytes()).hexdigest() for values in (maps, *into)))
"""


@pytest.mark.slow  # compiles
def test_what_is_compiled_here_rounds_as_what_is_read_from_the_cache(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", _HASHED], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    )
    assert first == second
    assert any(tmp_path.rglob("*.nbc"))


def test_a_query_that_fetches_nothing_moves_nothing() -> None:
    batch = seen(GRIDS["encoder"], moved=True)
    batch.lengths.zero_()
    for reduction in REDUCTIONS:
        assert not batch.reduce(reduction).any(), reduction


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_threads_share_the_work_and_change_nothing(threads: int) -> None:
    before = torch.get_num_threads()
    expected = [seen(GRIDS["encoder"], moved=True).reduce(reduction) for reduction in REDUCTIONS]
    maps = torch.rand(5, 2, 9, 300).softmax(-1)
    apart = divergence_sums(maps, block=1 << 12)
    try:
        torch.set_num_threads(threads)
        batch = seen(GRIDS["encoder"], moved=True)
        for reduction, values in zip(REDUCTIONS, expected, strict=True):
            torch.testing.assert_close(batch.reduce(reduction), values, atol=0, rtol=0)
        torch.testing.assert_close(divergence_sums(maps, block=1 << 12), apart, atol=0, rtol=0)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("sharpness", [0.1, 3, 30])
def test_divergences_are_those_of_double_precision(sharpness: float) -> None:
    maps = (torch.randn(6, 2, 11, 700) * sharpness).softmax(-1)
    maps[:, :, 4] = 0  # padding
    precise = divergence_sums(maps.double(), block=1 << 12)
    torch.testing.assert_close(divergence_sums(maps, block=1 << 12), precise, atol=4e-6, rtol=1e-6)


def test_what_no_head_sees_may_be_left_out() -> None:
    maps = torch.randn(4, 2, 30, 30).masked_fill(torch.ones(30, 30).triu(1).bool(), -torch.inf).softmax(-1)
    whole = divergence_sums(maps, block=1 << 12)
    torch.testing.assert_close(divergence_sums(maps, block=1 << 12, causal=True), whole, atol=3e-5, rtol=0)


def test_the_logarithm_is_good_to_rounding() -> None:
    values = torch.cat([torch.logspace(-37, 0, 5000), torch.linspace(0.5, 2, 5000), torch.zeros(1)])
    ours = cpu.joint_sums(values[:, None, None, None])[1][:, 0]
    exact = torch.special.xlogy(values.double(), values.double())
    torch.testing.assert_close(ours, exact, atol=2e-7, rtol=2e-7)


@pytest.mark.parametrize("name", MEASURES.names())
def test_measures_do_without_numba(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = GRIDS["encoder"]

    def values() -> dict[str, np.ndarray]:
        state: Measure = MEASURES.get(name).empty(grid)
        for batch in batches(grid, random_texts(grid, LENGTHS)):
            state.update(batch)
        return {key: array.values for key, array in state.result().items()}

    fast = values()
    monkeypatch.setitem(sys.modules, "headscope.measures.fast.compiled", None)
    cpu.why_not_compiled.cache_clear()
    try:
        assert not cpu.is_compiled()
        for key, array in values().items():
            np.testing.assert_allclose(array, fast[key], atol=1e-6, rtol=1e-6, err_msg=key)
    finally:
        cpu.why_not_compiled.cache_clear()


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Exception], None]]:
    """What makes loading the loops fail with an error."""

    def fail(error: Exception) -> None:
        def load() -> None:
            raise error

        monkeypatch.setattr(cpu, "loops", load)
        cpu.why_not_compiled.cache_clear()

    yield fail
    monkeypatch.undo()
    cpu.why_not_compiled.cache_clear()


@pytest.mark.parametrize(
    ("error", "note"),
    [
        (
            ModuleNotFoundError("No module named 'numba'", name="numba"),
            "numba is not installed (pip install numba)",
        ),
        (
            ImportError("Numba needs NumPy 2.4 or less. Got NumPy 3.0.\nmore"),
            "numba does not work here (ImportError: Numba needs NumPy 2.4 or less. Got NumPy 3.0.)",
        ),
        (RuntimeError(), "numba does not work here (RuntimeError: )"),
    ],
)
def test_where_numba_does_not_work_a_run_says_so_and_gives_the_same_numbers(
    error: Exception, note: str, fails: Callable[[Exception], None]
) -> None:
    texts = ["the cat sat on the mat .", "a dog saw it"]

    def analyzed() -> hs.Atlas:
        return hs.analyze(tiny("bert"), texts, max_length=32)

    compiled = analyzed()
    fails(error)
    with pytest.warns(HeadscopeWarning, match=re.escape(note)):
        plain = analyzed()
    assert plain.provenance["options"]["kernels"] == f"not used: {note}"
    for name in plain.measures:
        np.testing.assert_allclose(
            plain[name].values, compiled[name].values, atol=2e-5, rtol=1e-4, err_msg=name
        )


def test_double_precision_and_accelerators_are_left_to_torch() -> None:
    assert cpu.takes(torch.zeros(1))
    assert not cpu.takes(torch.zeros(1, dtype=torch.float64))
    assert not cpu.takes(torch.zeros(1, device="meta"))
