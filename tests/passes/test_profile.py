"""Where the time goes, by a clock that tests set."""

import pytest

from headscope.passes import profile
from headscope.passes.profile import Profile


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time; set its only entry."""
    now = [0.0]
    monkeypatch.setattr(profile, "perf_counter", lambda: now[0])
    return now


def test_what_runs_inside_counts_once(clock: list[float]) -> None:
    spent = Profile()
    with spent.timed("model"):
        clock[0] += 3
        for _ in range(2):
            with spent.timed("entropy"):
                clock[0] += 1
    assert spent.seconds == {"model": 3, "entropy": 2}
    facts = spent.facts(tokens=50, duration=10)
    assert facts["tokens_per_second"] == 5
    assert facts["parts"] == [
        {"part": "all else", "seconds": 5, "share": 0.5},
        {"part": "model", "seconds": 3, "share": 0.3},
        {"part": "entropy", "seconds": 2, "share": 0.2},
    ]


def test_getting_things_counts_and_using_them_does_not(clock: list[float]) -> None:
    def slow() -> object:
        for number in range(3):
            clock[0] += 2
            yield number

    spent = Profile()
    for _ in spent.iterated("reading", slow()):
        clock[0] += 10
    assert spent.seconds == {"reading": 6}


def test_nothing_is_timed_unless_asked(clock: list[float]) -> None:
    spent = Profile(on=False)
    with spent.timed("model"):
        clock[0] += 3
    assert list(spent.iterated("reading", [1, 2])) == [1, 2]
    assert spent.seconds == {}


def test_what_another_thread_does_meanwhile_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(0, 100, 2))
    monkeypatch.setattr(profile, "thread_time", lambda: next(ticks))
    spent = Profile()
    assert list(spent.beside("reading", [1, 2])) == [1, 2]
    assert spent.seconds == {}
    assert spent.facts(tokens=1, duration=1)["beside_the_model"] == {
        "reading": 6
    }  # two things, and their end
    off = Profile(on=False)
    assert list(off.beside("reading", [1, 2])) == [1, 2]
    assert off.aside == {}
