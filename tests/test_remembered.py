"""What is worked out of a thing once."""

import gc
import weakref

from headscope.remembered import once


class Thing:
    """Stands for an atlas."""


def test_the_same_question_is_answered_once_for_each_thing() -> None:
    asked = []

    @once
    def answer(thing: Thing, place: str, *, way: int = 0) -> tuple[str, int]:
        asked.append((place, way))
        return place, way

    first, second = Thing(), Thing()
    for thing in (first, first, second):
        assert answer(thing, "a") == ("a", 0)
        assert answer(thing, "a", way=1) == ("a", 1)
    assert asked == 2 * [("a", 0), ("a", 1)]


def test_nothing_is_kept_longer_than_the_thing() -> None:
    @once
    def answer(thing: Thing) -> Thing:
        return Thing()

    thing = Thing()
    result = weakref.ref(answer(thing))
    gc.collect()
    assert result() is not None
    del thing
    gc.collect()
    assert result() is None
