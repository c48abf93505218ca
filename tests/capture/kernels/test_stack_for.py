"""Which kernels compute attention where."""

from importlib.util import find_spec

import pytest
import torch

from headscope.capture import kernels
from headscope.capture.kernels.plain_torch import TorchStack


def without(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "find_spec", lambda name: None if name == package else find_spec(name))


def test_a_gpu_without_triton_has_torchs_own_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    without("triton", monkeypatch)
    assert kernels.stack_for(torch.device("cuda")) is TorchStack


def test_a_gpu_with_triton_has_its_kernels() -> None:
    pytest.importorskip("triton")
    assert kernels.stack_for(torch.device("cuda")).__name__ == "TritonStack"


def test_a_cpu_has_compiled_loops_whether_triton_is_there_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    without("triton", monkeypatch)
    assert kernels.stack_for(torch.device("cpu")).__name__ == "CompiledStack"
