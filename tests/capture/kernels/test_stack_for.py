"""Which kernels compute attention where."""

import pytest
import torch

from headscope.capture import kernels


def test_a_gpu_has_those_of_triton() -> None:
    pytest.importorskip("triton")
    assert kernels.stack_for(torch.device("cuda")).__name__ == "TritonStack"


def test_a_cpu_has_compiled_loops() -> None:
    assert kernels.stack_for(torch.device("cpu")).__name__ == "CompiledStack"
