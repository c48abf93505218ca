"""A Ray cluster on this machine with two workers, for the tests of a file."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.helpers.tasks import headed
from tests.helpers.tiny import tiny
from tests.helpers.two_models import moved

from headscope.accumulator import Counted
from headscope.errors import RunError
from headscope.passes.cluster import cluster
from headscope.passes.on_ray import OnRay
from headscope.passes.run_pass import HERE, in_chunks, run_pass, running_on


@pytest.fixture(scope="module")
def local() -> Iterator[OnRay]:
    """A cluster with room for two workers.

    A worker takes seconds to start, so tests that lose workers stand behind those that leave them as they are.
    """
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    with cluster(workers=2) as engine:
        try:
            engine._started.result()
        except RunError as error:  # by Ray's own deadlines, on a machine that is too busy
            pytest.skip(str(error))
        with running_on(HERE):
            yield engine


@pytest.fixture
def two(local: OnRay) -> OnRay:
    """Two workers that are there: until one is, this process counts, too."""
    return ready(local)


def _add(part: Counted[list[int]], batch: list[int]) -> None:
    part.value.extend(batch)


def ready(engine: OnRay) -> OnRay:
    """The engine once its workers have taken a job."""
    with running_on(engine):
        run_pass(range(3), Counted(list[int]()), _add, batches=in_chunks(3))
    engine.ray.get(engine._taking)
    return engine


@pytest.fixture
def fresh_models() -> None:
    """A model that other tests have hung hooks on does not travel."""
    for made in (tiny, headed, moved):
        made.cache_clear()
