"""The fast road: attention and its reductions computed together, chosen by proof."""

from importlib.util import find_spec

import torch

from headscope.capture.kernels.batch import FusedStack
from headscope.capture.kernels.plain_torch import TorchStack


def stack_for(device: torch.device) -> type[FusedStack]:
    """What computes attention on a device: loops that numba compiles for a CPU, kernels of Triton's for a GPU.

    A GPU without Triton has torch's own attention.
    """
    if device.type == "cpu":
        from headscope.capture.kernels.cpu import CompiledStack  # noqa: PLC0415  (needs numba)

        return CompiledStack
    if find_spec("triton") is None:
        return TorchStack
    from headscope.capture.kernels.gpu import TritonStack  # noqa: PLC0415  (needs triton)

    return TritonStack
