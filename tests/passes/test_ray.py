"""A real cluster on this machine: the same bits as without one, whoever dies."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.contract.analyses import ENTRIES, numbers
from tests.contract.on_ray import fresh_models, local, ready, two
from tests.contract.shards import Arrays, assert_same_bits, small_shards
from tests.passes.test_run_pass import Seen, count, in_threes

from headscope.errors import HeadscopeWarning, OptionError, RunError
from headscope.passes.checkpoint import checkpoint
from headscope.passes.cluster import cluster
from headscope.passes.on_ray import OnRay
from headscope.passes.run_pass import run_pass, running_on

ray = pytest.importorskip("ray")
__all__ = ["fresh_models", "local", "small_shards", "two"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore"),  # Ray's own
    pytest.mark.usefixtures("fresh_models", "small_shards"),
]


@pytest.fixture
def one(two: OnRay) -> OnRay:
    """One worker: the first of two."""
    return ready(OnRay(1, started([two._workers[0]])))


def analyzed() -> Arrays:
    return numbers(ENTRIES["analyze"].one_by_one())


def test_one_worker_gives_the_bits_of_none(one: OnRay) -> None:
    with running_on(one):
        found = analyzed()
    assert_same_bits(found, analyzed())


def test_what_workers_counted_can_be_kept(two: OnRay, tmp_path: Path) -> None:
    expected = analyzed()
    with running_on(two), checkpoint(tmp_path / "kept"):
        assert_same_bits(analyzed(), expected)
    with running_on(Nobody()), checkpoint(tmp_path / "kept"):
        assert_same_bits(analyzed(), expected)


class Nobody:
    """An engine for runs that have nothing left to count."""

    def run(self, parts: Any, job: Any, accept: Any, told: Any, *, keep: bool) -> None:
        assert not list(parts)


def started(workers: list[Any]) -> Future[list[Any]]:
    """A cluster that is there, with these workers."""
    future: Future[list[Any]] = Future()
    future.set_result(workers)
    return future


def whose(part: Seen, batch: list[int]) -> None:
    part.texts += [os.getpid()] * len(batch)
    part.total += sum(batch)


def test_until_the_cluster_is_there_this_process_counts() -> None:
    with running_on(OnRay(2, Future())):
        found = run_pass(range(20), Seen(), whose, batches=in_threes)
    assert (found.texts, found.total) == ([os.getpid()] * 20, sum(range(20)))


def test_workers_go_on_where_this_process_was(two: OnRay) -> None:
    late: Future[list[Any]] = Future()
    engine = OnRay(2, late)
    engine._taking = two._taking

    def texts() -> Iterator[int]:
        for number in range(20):
            if number == 6:
                late.set_result(two._workers)
            yield number

    with running_on(engine):
        found = run_pass(texts(), Seen(), whose, batches=in_threes)
    assert found.total == sum(range(20))
    assert [pid == os.getpid() for pid in found.texts] == [True] * 8 + [False] * 12


def test_a_cluster_that_does_not_start_ends_the_run() -> None:
    failed: Future[list[Any]] = Future()
    failed.set_exception(RunError("Ray could not be started"))
    with running_on(OnRay(2, failed)), pytest.raises(RunError, match="could not be started"):
        run_pass(range(20), Seen(), count, batches=in_threes)


def test_workers_have_as_much_of_a_core_as_this_process(two: OnRay, tmp_path: Path) -> None:
    def niceness(part: Seen, batch: list[int]) -> None:
        part.texts += [os.nice(0)]

    with running_on(two):
        assert run_pass(range(3), Seen(), niceness, batches=in_threes).texts == [os.nice(0)]


def test_a_worker_short_of_memory_halves_its_batch(two: OnRay) -> None:
    def scarce(part: Seen, batch: list[int]) -> None:
        count(part, batch)
        if len(batch) > 1:
            raise torch.OutOfMemoryError("out of memory")

    with running_on(two):
        found = run_pass(range(20), Seen(), scarce, batches=in_threes)
    assert (found.texts, found.total) == (list(range(20)), sum(range(20)))


def dies_once(mark: Path) -> Any:
    def counted(part: Seen, batch: list[int]) -> None:
        count(part, batch)
        if 7 in batch and not mark.exists():
            mark.write_text("")
            os.kill(os.getpid(), signal.SIGKILL)

    return counted


def test_a_worker_that_is_killed_is_replaced_and_nothing_counts_twice(two: OnRay, tmp_path: Path) -> None:
    with running_on(two), pytest.warns(HeadscopeWarning, match="a worker died"):
        found = run_pass(range(40), Seen(), dies_once(tmp_path / "died"), batches=in_threes)
    assert (found.texts, found.total) == (list(range(40)), sum(range(40)))


def test_a_shard_that_kills_every_worker_ends_the_run(one: OnRay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headscope.passes.on_ray.MOST_TRIES", 2)

    def deadly(part: Seen, batch: list[int]) -> None:
        if 1 in batch:
            os.kill(os.getpid(), signal.SIGKILL)
        count(part, batch)

    with running_on(one), pytest.raises(RunError, match="2 workers died over shard 0"):
        run_pass(range(12), Seen(), deadly, batches=in_threes)


def test_an_error_in_a_worker_is_told_as_it_is(two: OnRay) -> None:
    def wrong(part: Seen, batch: list[int]) -> None:
        raise OptionError("no such thing")

    with running_on(two), pytest.raises(OptionError, match="no such thing"):
        run_pass(range(20), Seen(), wrong, batches=in_threes)


def test_no_cluster_there() -> None:
    with pytest.raises(OptionError, match="workers must be at least 1"), cluster(workers=0):
        pass
