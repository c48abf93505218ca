"""Which kernels compute attention where."""

import pytest
import torch

from headscope.capture import kernels


@pytest.mark.parametrize(
    ("device", "package", "stack"), [("cuda", "triton", "TritonStack"), ("cpu", "numba", "CompiledStack")]
)
def test_every_device_has_its_kernels(device: str, package: str, stack: str) -> None:
    pytest.importorskip(package)
    assert kernels.stack_for(torch.device(device)).__name__ == stack
