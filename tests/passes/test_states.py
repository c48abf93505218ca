"""States as bytes: what says how something is counted is never taken from them."""

from collections.abc import Callable

import pytest

from headscope.passes.states import StateError, dump_state, load_state


class Counted:
    """A number, and the function that it is counted by."""

    def __init__(self, by: Callable[[float], float], number: float = 0.0) -> None:
        self.by, self.number = by, number


def doubled(number: float) -> float:
    return 2 * number


def halved(number: float) -> float:
    return number / 2


def test_a_state_of_the_same_kind_comes_back() -> None:
    found = load_state(dump_state(Counted(doubled, 3.5)), Counted(doubled))
    assert (found.by, found.number) == (doubled, 3.5)


def test_what_another_function_counted_is_refused() -> None:
    with pytest.raises(StateError, match="counts by doubled"):
        load_state(dump_state(Counted(doubled, 3.5)), Counted(halved))
