"""What is worked out of a thing once, however many pages and pictures ask for it."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

Thing = TypeVar("Thing")
P = ParamSpec("P")
R = TypeVar("R")


def once(function: Callable[Concatenate[Thing, P], R]) -> Callable[Concatenate[Thing, P], R]:
    """`function(thing, ...)`, computed once for the same arguments and kept as long as the thing (an atlas) is.

    Whoever gets the result must not change it, and it must not hold the thing.
    """
    known: WeakKeyDictionary[Thing, dict[Any, R]] = WeakKeyDictionary()

    @wraps(function)
    def remembered(thing: Thing, /, *args: P.args, **options: P.kwargs) -> R:
        results = known.setdefault(thing, {})
        key = (args, tuple(sorted(options.items())))
        if key not in results:
            results[key] = function(thing, *args, **options)
        return results[key]

    return remembered
