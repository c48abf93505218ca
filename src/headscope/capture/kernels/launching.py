"""Launching one of Triton's kernels without its look at every argument, every time."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor

_MOST = 4096  # kinds of arguments that are remembered


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

    def _launch(self, grid: tuple[int, ...], *numbers: Any, **named: Any) -> None:
        if self._interpreted:
            self._kernel[grid](*numbers, **named)
            return
        kinds = [
            (number.dtype, number.data_ptr() & 15) if isinstance(number, Tensor) else number
            for number in numbers
        ]
        key = (numbers[0].device, *kinds, *named.values())
        compiled = self._known.get(key)
        if compiled is None:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[key] = self._kernel[grid](*numbers, **named)
            return
        constants = (named[name] for name in self._kernel.arg_names[len(numbers) :])
        compiled[(*grid, 1, 1)[:3]](*numbers, *constants)
