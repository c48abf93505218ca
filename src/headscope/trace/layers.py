"""The numbers that a network's own modules have: in a hybrid the first layer that attends may be `layers.3`."""

from collections.abc import Sequence

from headscope.trace.architecture import Place
from headscope.types import StackName


def module_layers(places: Sequence[Place], names: Sequence[str]) -> dict[StackName, tuple[int, ...]]:
    """The number of each layer's module in the network, by stack, from the names of the modules that attend.

    It is the first number in the names that differs from layer to layer. A stack that is numbered from 0 on, or whose
    names have no number (ALBERT's one module, shared by all layers), is left out: its layers are counted in order.
    """
    by_stack: dict[StackName, list[list[int]]] = {}
    for place, name in zip(places, names, strict=True):
        numbers = [int(part) for part in name.split(".") if part.isdecimal()]
        by_stack.setdefault(place.stack, []).append(numbers)
    numbered = {stack: _numbers(rows) for stack, rows in by_stack.items()}
    return {stack: numbers for stack, numbers in numbered.items() if numbers != tuple(range(len(numbers)))}


def _numbers(rows: Sequence[Sequence[int]]) -> tuple[int, ...]:
    for column in zip(*rows, strict=False):
        if len(set(column)) == len(rows) and list(column) == sorted(column):
            return tuple(column)
    return tuple(range(len(rows)))
