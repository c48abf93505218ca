"""Launching one of Triton's kernels without its look at every argument, every time."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor

_MOST = 4096  # kinds of arguments that are remembered


class _Later:
    """Stands for an argument that is told at each launch."""


LATER = _Later()


class Launcher:
    """A kernel that remembers what was compiled for arguments of some kind, and launches that at once.

    A layer of a model launches half a dozen kernels of up to 64 arguments. Triton looks at each of them, and at its own
    settings, at every launch, and a GPU waits for Python meanwhile. What Triton tells kernels apart by is kept: the
    type of a tensor and how far it lies from a multiple of 16 bytes, all numbers, and all constants. Numbers come
    first, then constants, as in the kernels' own signatures.
    """

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._known: dict[tuple[Any, ...], Any] = {}
        self._interpreted = os.environ.get("TRITON_INTERPRET") == "1" or not hasattr(kernel, "arg_names")

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        """What launches the kernel on a grid."""
        return partial(self._launch, grid)

    def bound(self, grid: tuple[int, ...], *numbers: Any, **named: Any) -> "Bound":
        """What launches the kernel with these arguments, but for those that are LATER."""
        return Bound(self, grid, numbers, named)

    def _launch(self, grid: tuple[int, ...], *numbers: Any, **named: Any) -> Any:
        """Launch it, and give what was compiled for arguments like these; None where it is interpreted."""
        if self._interpreted:
            self._kernel[grid](*numbers, **named)
            return None
        kinds = [
            (number.dtype, number.data_ptr() & 15) if isinstance(number, Tensor) else number
            for number in numbers
        ]
        key = (numbers[0].device, *kinds, *named.values())
        if (compiled := self._known.get(key)) is not None:
            compiled[(*grid, 1, 1)[:3]](*numbers, *self._constants(numbers, named))
            return compiled
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[key] = self._kernel[grid](*numbers, **named)
        return self._known[key]

    def _constants(self, numbers: Any, named: dict[str, Any]) -> list[Any]:
        """The constants in the order of the kernel's signature."""
        return [named[name] for name in self._kernel.arg_names[len(numbers) :]]


class Bound:
    """A launch whose arguments are known but for some tensors and whole numbers, which are told each time.

    A kernel must not be compiled anew for other numbers (`do_not_specialize`), and a tensor is of the same type each
    time; how far tensors lie from multiples of 16 bytes tells launches apart. What stays the same is looked at once,
    and handed over as numbers.
    """

    def __init__(
        self, launcher: Launcher, grid: tuple[int, ...], numbers: tuple[Any, ...], named: dict[str, Any]
    ) -> None:
        self._launcher, self._grid, self._numbers, self._named = launcher, grid, numbers, named
        self._later = [place for place, number in enumerate(numbers) if number is LATER]
        self._ready: dict[int, tuple[Callable[..., None], list[Any]]] = {}

    def __call__(self, *told: Tensor | int) -> None:
        """Launch it."""
        addresses: list[int] = []
        apart = 0  # from multiples of 16 bytes, a digit for each tensor
        for each in told:
            if isinstance(each, int):
                addresses.append(each)
            else:
                addresses.append(each.data_ptr())
                apart = apart << 4 | addresses[-1] & 15
        if apart in self._ready:
            launch, arguments = self._ready[apart]
            for place, address in zip(self._later, addresses, strict=True):
                arguments[place] = address
            launch(*arguments)
            return
        numbers = list(self._numbers)
        for place, each in zip(self._later, told, strict=True):
            numbers[place] = each
        compiled = self._launcher._launch(self._grid, *numbers, **self._named)
        if compiled is not None:
            known = [number.data_ptr() if isinstance(number, Tensor) else number for number in numbers]
            arguments = [*known, *self._launcher._constants(numbers, self._named)]
            self._ready[apart] = compiled[(*self._grid, 1, 1)[:3]], arguments
