"""Which code computes a measure, where a test wants another than the default: plain torch, or a GPU's kernels."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor

from headscope.kernels.cpu import loops as cpu


def numba_works() -> bool:
    """Whether measures are computed by compiled loops."""
    return cpu.is_compiled()


@contextmanager
def without_numba(error: Exception | None = None) -> Iterator[None]:
    """Inside, the compiled loops cannot be loaded, and plain torch takes their place."""

    def load() -> None:
        raise error or ModuleNotFoundError("No module named 'numba'", name="numba")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu, "loops", load)
        cpu.why_not_compiled.cache_clear()
        try:
            yield
        finally:
            patch.undo()
            cpu.why_not_compiled.cache_clear()


@contextmanager
def passing_for_a_gpu() -> Iterator[list[int]]:
    """Inside, all tensors pass for those of a GPU, and kernels are interpreted.

    Gives a list, to which the kernel for head distances adds how many texts it counts.
    """
    pytest.importorskip("triton", reason="triton is not installed (pip install triton)")
    from headscope.kernels.triton import divergence_kernel

    kernel, counted = divergence_kernel.text_sums, list[int]()

    def noted(maps: Tensor, queries: Tensor, before: Tensor | None = None) -> Tensor:
        counted.append(len(maps))
        return kernel(maps, queries, before)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "is_cuda", property(lambda tensor: True))
        patch.setattr(divergence_kernel, "text_sums", noted)
        yield counted
