"""The compiled loops against plain torch: the same numbers, however many threads, and a way out where they fail."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.helpers.attention import decoder, encoder, random_texts
from tests.helpers.backends import numba_works, without_numba
from tests.helpers.tiny import tiny
from tests.seams import Weighting, measured

import headscope as hs
from headscope.errors import HeadscopeWarning
from headscope.kernels.cpu import loops as cpu
from headscope.types import HeadGrid

LENGTHS = [23, 90, 17, 140, 3]
ENCODER, DECODER = encoder(1, 3), decoder(1, 3)
NOT_WEIGHTED = {"loudness", "explained"}
every_grid = pytest.mark.parametrize("grid", [ENCODER, DECODER], ids=["encoder", "decoder"])
every_measure = pytest.mark.parametrize(
    ("name", "weighting"),
    [(name, "attention") for name in hs.MEASURES.names()]
    + [(name, "value") for name in hs.MEASURES.names() if name not in NOT_WEIGHTED],
)


def values_of(name: str, grid: HeadGrid, weighting: Weighting) -> dict[str, np.ndarray]:
    texts = random_texts(grid, LENGTHS)
    result = measured(name, texts, grid, weighting=weighting, batch_size=3).result()
    return {key: array.values for key, array in result.items()}


@every_grid
@every_measure
def test_the_loops_give_what_torch_gives(name: str, weighting: Weighting, grid: HeadGrid) -> None:
    assert numba_works()
    compiled = values_of(name, grid, weighting)
    with without_numba():
        assert not numba_works()
        plain = values_of(name, grid, weighting)
    for key, values in plain.items():
        np.testing.assert_allclose(compiled[key], values, atol=2e-6, rtol=2e-6, err_msg=key)


@every_measure
def test_threads_share_the_work_and_change_no_bit(name: str, weighting: Weighting) -> None:
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 7):
            torch.set_num_threads(threads)
            found.append(values_of(name, ENCODER, weighting))
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        for key, values in found[0].items():
            np.testing.assert_array_equal(other[key], values, err_msg=key)


_HASHED = """
import hashlib, warnings
from tests.helpers.tiny import tiny
import headscope as hs
measures = ["entropy", "role_attention", "offset_attention", "distance_features", "named_patterns", "head_distance"]
atlas = hs.analyze(tiny("bert"), ["the cat sat on the mat .", "a dog saw it"], max_length=32, measures=measures)
assert atlas.provenance["options"]["kernels"].startswith("used"), atlas.provenance["options"]
for name in sorted(atlas.measures):
    print(name, hashlib.sha256(atlas[name].values.tobytes()).hexdigest())
"""


@pytest.mark.slow  # compiles
def test_what_is_compiled_here_rounds_as_what_is_read_from_the_cache(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", _HASHED], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    )
    assert first.count("\n") > 6
    assert first == second
    assert any(tmp_path.rglob("*.nbc"))


def test_the_logarithm_is_good_to_rounding() -> None:
    values = torch.cat([torch.logspace(-37, 0, 5000), torch.linspace(0.5, 2, 5000), torch.zeros(1)])
    ours = cpu.joint_sums(values[:, None, None, None])[1][:, 0]
    exact = torch.special.xlogy(values.double(), values.double())
    torch.testing.assert_close(ours, exact, atol=2e-7, rtol=2e-7)


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
    error: Exception, note: str
) -> None:
    texts = ["the cat sat on the mat .", "a dog saw it"]

    def analyzed() -> hs.Atlas:
        return hs.analyze(tiny("bert"), texts, max_length=32)

    compiled = analyzed()
    with without_numba(error), pytest.warns(HeadscopeWarning, match=re.escape(note)):
        plain = analyzed()
    assert plain.provenance["options"]["kernels"] == f"not used: {note}"
    for name in plain.measures:
        np.testing.assert_allclose(
            plain[name].values, compiled[name].values, atol=2e-5, rtol=1e-4, err_msg=name
        )
