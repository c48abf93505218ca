"""A launcher against a kernel that notes how it was launched; Triton itself is not needed."""

import weakref

import pytest
import torch

from headscope.kernels.triton.launching import LATER, Launcher


class Compiled:
    """What a compiler gives: launched with all numbers and constants, in the kernel's order."""

    def __init__(self, launches: list[tuple[object, ...]]) -> None:
        self.launches = launches

    def __getitem__(self, grid: tuple[int, ...]) -> object:
        return lambda *arguments: self.launches.append((grid, *arguments))


class Kernel:
    """A kernel of one tensor, one number and two constants that counts how often it had to look for a compiled one."""

    arg_names = ("tensor", "number", "WIDE", "DEEP")

    def __init__(self) -> None:
        self.looks = 0
        self.launches: list[tuple[object, ...]] = []

    def __getitem__(self, grid: tuple[int, ...]) -> object:
        def launch(*numbers: object, **named: object) -> Compiled:
            self.looks += 1
            return Compiled(self.launches)

        return launch


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    return Kernel()


def test_the_second_launch_takes_what_the_first_compiled_with_constants_in_order(kernel: Kernel) -> None:
    launch, tensor = Launcher(kernel), torch.zeros(8)
    for _ in range(3):
        launch[(5, 2)](tensor, 7, DEEP=1, WIDE=2, num_warps=4)
    assert kernel.looks == 1
    assert kernel.launches == [((5, 2, 1), tensor, 7, 2, 1)] * 2


@pytest.mark.parametrize(
    "other",
    [
        (torch.zeros(8, dtype=torch.float16), 7, 2, 4),
        (torch.zeros(8)[1:], 7, 2, 4),  # not at a multiple of 16 bytes
        (torch.zeros(8), 1, 2, 4),
        (torch.zeros(8), 7, 3, 4),
        (torch.zeros(8), 7, 2, 8),
    ],
    ids=["type", "place", "number", "constant", "option"],
)
def test_what_the_compiler_tells_apart_is_compiled_anew(
    kernel: Kernel, other: tuple[torch.Tensor, int, int, int]
) -> None:
    launch = Launcher(kernel)
    for tensor, number, wide, warps in ((torch.zeros(8), 7, 2, 4), other):
        launch[(5,)](tensor, number, WIDE=wide, DEEP=1, num_warps=warps)
    assert kernel.looks == 2


def test_it_forgets_before_it_holds_too_much(kernel: Kernel) -> None:
    launch, tensor = Launcher(kernel), torch.zeros(8)
    for number in (*range(5000), 0):
        launch[(5,)](tensor, number, WIDE=2, DEEP=1)
    assert kernel.looks == 5001


def test_a_bound_launch_is_given_what_is_told_each_time(kernel: Kernel) -> None:
    launch = Launcher(kernel).bound((5, 2), LATER, LATER, WIDE=2, DEEP=1)
    tensors = [torch.zeros(8) for _ in range(3)]
    for number, tensor in enumerate(tensors):
        launch(tensor, number)
    assert kernel.looks == 1
    assert kernel.launches == [((5, 2, 1), tensors[place].data_ptr(), place, 2, 1) for place in (1, 2)]


def test_a_bound_launch_keeps_what_was_told_at_first(kernel: Kernel) -> None:
    kept = torch.zeros(8)
    launch, address = Launcher(kernel).bound((5,), kept, LATER, WIDE=2, DEEP=1), kept.data_ptr()
    is_alive = weakref.ref(kept)
    del kept
    launch(3)
    torch.zeros(8)  # would come to lie in its place
    launch(4)
    assert kernel.launches == [((5, 1, 1), address, 4, 2, 1)]
    assert is_alive() is not None


def test_a_bound_launch_tells_apart_what_the_compiler_does(kernel: Kernel) -> None:
    launch = Launcher(kernel).bound((5,), LATER, 7, WIDE=2, DEEP=1)
    for tensor in (torch.zeros(8), torch.zeros(8)[1:], torch.zeros(8)):
        launch(tensor)
    assert kernel.looks == 2
