"""Starting a Ray cluster, and what runs in a worker's process.

Ray, torch and each worker take seconds to start. So this loads neither Ray nor torch by itself: the cluster starts in
a thread, and workers load torch as soon as it is there, while this process loads the model and begins to count.
"""

import logging
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from headscope.errors import OptionError, RunError
from headscope.loading import load_module

if TYPE_CHECKING:
    from headscope.passes.on_ray import OnRay
    from headscope.passes.run_pass import Job, Shard

LOCAL = "local"
SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
"""Ray tells nobody of its use, and lets workers have as much of a core as this process; by itself it would put them
behind all other programs."""
NEEDED = "headscope.passes.analyze"
"""Loads what nearly all passes need: torch, transformers, measures."""


class Worker:
    """What runs in a worker's process."""

    def __init__(self) -> None:
        load_module(NEEDED)

    def take(self, job: "Job[Any, Any, Any]", threads: int) -> None:
        """Hold what the next shards are counted by, on so many threads."""
        load_module("torch").set_num_threads(threads)
        self.job = job

    def count(self, shard: "Shard[Any]") -> bytes:
        """The state of a shard, as bytes: exactly what a checkpoint would keep."""
        state: bytes = load_module("headscope.passes.states").dump_state(self.job.run(shard))
        return state


def start_worker(ray: Any, *, gpus: float) -> Any:
    """A new worker that takes a core and so much of a GPU. Who retries must know what was counted, so not Ray."""
    kind = ray.remote(Worker).options(num_cpus=1, num_gpus=gpus, max_restarts=0, max_task_retries=0)
    return kind.remote()


@contextmanager
def cluster(address: str = LOCAL, *, workers: int) -> "Iterator[OnRay]":
    """Inside, workers on the cluster at the address run passes; `local` starts one on this machine, for this run alone.

    That one need not be there yet: until it is, passes are run here.
    """
    if workers < 1:
        raise OptionError(f"workers must be at least 1, not {workers}")
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    if find_spec("ray") is None:
        raise OptionError("--ray needs the package ray: pip install 'headscope[ray]'")
    with ThreadPoolExecutor(1) as thread:  # Ray's processes die with the thread that started them
        started = thread.submit(_started, address, workers)
        try:
            if address != LOCAL:
                started.result()  # a wrong address is told before anything slow begins
            with load_module("headscope.passes.on_ray").running_workers(workers, started) as engine:
                yield engine
        finally:
            thread.submit(lambda: load_module("ray").shutdown())


def _started(address: str, workers: int) -> list[Any]:
    """Connect, and start so many workers; none where the cluster has GPUs: the model says whether they take some."""
    ray = load_module("ray")
    _connect(ray, address, workers)
    resources = ray.cluster_resources()
    have = int(resources.get("CPU", 0))
    if have < workers:
        raise OptionError(f"--workers {workers}: the cluster has {have} CPUs, and each worker takes one")
    return [] if resources.get("GPU") else [start_worker(ray, gpus=0) for _ in range(workers)]


def _connect(ray: Any, address: str, workers: int) -> None:
    """Connect; on a busy machine a new cluster now and then misses Ray's own deadlines, and is started again."""
    own = {"num_cpus": workers, "include_dashboard": False}
    options = own if address == LOCAL else {"address": address}
    for last in (False, False, True):
        try:
            ray.init(logging_level=logging.ERROR, log_to_driver=False, **options)
            return
        except ConnectionError as error:
            raise OptionError(f"--ray {address}: no Ray cluster answers there ({error})") from error
        except Exception as error:  # Ray raises a bare Exception
            if last or address != LOCAL:
                raise RunError(f"--ray {address}: Ray could not be started ({one_line(error)})") from error
            ray.shutdown()


def one_line(error: Exception) -> str:
    """The first line of what an error says."""
    return str(error).strip().partition("\n")[0]
