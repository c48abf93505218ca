"""Attention and its reductions computed together: by numba on a CPU, by Triton on a GPU, where they were verified."""

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from headscope.kernels.batch import FusedStack


def stack_for(device: torch.device) -> "type[FusedStack]":
    """What computes attention on a device: loops that numba compiles for a CPU, Triton kernels for a GPU.

    Either package may be missing: `verify.choose_kernels` finds out before this is called.
    """
    if device.type == "cpu":
        from headscope.kernels.cpu.stack import CompiledStack  # noqa: PLC0415  (needs numba)

        return CompiledStack
    from headscope.kernels.triton.stack import TritonStack  # noqa: PLC0415  (needs triton)

    return TritonStack
