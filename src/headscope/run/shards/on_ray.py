"""Shards counted by the workers of a Ray cluster; the driver reads, hands out, and merges.

A worker is an actor that holds what a pass does with a shard (the model above all) and keeps nothing: it gives back a
fresh state for each shard. The driver takes the state of a shard once. A worker that dies is replaced, and its shard
handed out again: what the dead one had counted never left it.
"""

import logging
import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import chain, islice
from typing import Any

import torch

from headscope.errors import HeadscopeWarning, OptionError, RunError
from headscope.models import Model
from headscope.run.one_pass import Accept, B, Job, S, Shard, T, Told, running_on
from headscope.run.shards.states import dump_state, load_state

AHEAD = 2
"""How many shards each worker is given at a time: one to count, the other to go on with at once."""
MOST_TRIES = 4
"""How many workers may die over one shard."""
LOCAL = "local"
SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
"""Ray tells nobody of its use, and lets workers have as much of a core as this process; by itself it would put them
behind all other programs."""


class _Worker:
    """What runs in a worker's process."""

    def __init__(self, threads: int) -> None:
        torch.set_num_threads(threads)

    def take(self, job: Job[Any, Any, Any]) -> None:
        """Hold what the next shards are counted by."""
        self.job = job

    def count(self, shard: Shard[Any]) -> bytes:
        """The state of a shard, as bytes: exactly what a checkpoint would keep."""
        return dump_state(self.job.run(shard))


class OnRay:
    """An engine: `workers` actors on the cluster count shards; see `Engine`."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.ray = _ray()
        self.gpus = 0.0
        """How much of a GPU each worker takes."""
        self._workers: list[Any] = []

    def model(self, model: Model) -> None:
        """Note that the run uses this model: where it is on a GPU here, it is on one in each worker."""
        if model.device.type == "cuda":
            self.gpus = min(1.0, self.ray.cluster_resources().get("GPU", 0.0) / self.workers)
            if not self.gpus:
                raise OptionError(
                    f"{model.name} is on a GPU here, and the cluster has none; give --device cpu"
                )

    def run(
        self, parts: Iterable[Shard[T]], job: Job[T, B, S], accept: Accept[T, S], told: Told[B], *, keep: bool
    ) -> None:
        """Hand the shards out as they are read, and accept each as it comes back."""
        stream = iter(parts)
        first = next(stream, None)
        if first is None:
            return
        self._begin(job)
        waiting: dict[Any, tuple[Shard[T], Any]] = {}  # by what is promised: the shard, and its worker
        tries: dict[int, int] = {}
        unread = chain([first], stream)
        while True:
            for shard in islice(unread, AHEAD * self.workers - len(waiting)):
                self._give(shard, waiting)
            if not waiting:
                return
            (ready, *_), _ = self.ray.wait(list(waiting), num_returns=1)
            shard, worker = waiting.pop(ready)
            try:
                data = self.ray.get(ready)
            except self.ray.exceptions.RayActorError as error:
                self._again(shard, tries, error)
                self._replace(worker)
                self._give(shard, waiting)
            except self.ray.exceptions.RayTaskError as error:
                self.close()  # the others have nothing left to count for
                raise error.cause or error from error
            else:
                accept(shard, load_state(data, job.nothing.empty()))

    def _begin(self, job: Job[Any, Any, Any]) -> None:
        """Have the workers take the job, which travels once, however many they are."""
        self._job = self.ray.put(job)
        missing = self.workers - len(self._workers)
        self._workers += [self._started() for _ in range(missing)]
        for worker in self._workers[: self.workers - missing]:
            worker.take.remote(self._job)

    def _started(self) -> Any:
        kind = self.ray.remote(_Worker).options(
            num_cpus=1, num_gpus=self.gpus, max_restarts=0, max_task_retries=0
        )
        worker = kind.remote(torch.get_num_threads())  # as many as here: the same bits
        worker.take.remote(self._job)
        return worker

    def _give(self, shard: Shard[T], waiting: dict[Any, tuple[Shard[T], Any]]) -> None:
        """Hand a shard to the worker with the least to do, and note what it promises."""
        busy = [worker for _, worker in waiting.values()]
        worker = min(self._workers, key=busy.count)
        waiting[worker.count.remote(shard)] = (shard, worker)

    def _replace(self, dead: Any) -> None:
        """Another worker in the place of one that died, unless that was done for another of its shards."""
        if dead in self._workers:
            self._workers[self._workers.index(dead)] = self._started()

    def close(self) -> None:
        """Give the workers' memory back; the next pass starts others."""
        for worker in self._workers:
            self.ray.kill(worker)
        self._workers = []

    def _again(self, shard: Shard[Any], tries: dict[int, int], error: Exception) -> None:
        tries[shard.place] = tries.get(shard.place, 1) + 1
        if tries[shard.place] > MOST_TRIES:
            raise RunError(
                f"{MOST_TRIES} workers died over shard {shard.place}, one after the other; the last one: "
                f"{one_line(error)}. Give each more memory, or try --batch-size 1"
            ) from error
        warnings.warn("a worker died; another one counts its shard", HeadscopeWarning, stacklevel=2)


def one_line(error: Exception) -> str:
    """The first line of what an error says."""
    return str(error).strip().partition("\n")[0]


def _ray() -> Any:
    try:
        return import_module("ray")
    except ImportError as error:
        raise OptionError("--ray needs the package ray: pip install 'headscope[ray]'") from error


def _start(ray: Any, address: str, options: dict[str, Any]) -> None:
    """Connect; on a busy machine a new cluster now and then misses Ray's own deadlines, and is started again."""
    for last in (False, False, True):
        try:
            ray.init(**options)
            return
        except ConnectionError as error:
            raise OptionError(f"--ray {address}: no Ray cluster answers there ({error})") from error
        except Exception as error:  # Ray raises a bare Exception
            if last or address != LOCAL:
                raise RunError(f"--ray {address}: Ray could not be started ({one_line(error)})") from error
            ray.shutdown()


@contextmanager
def cluster(address: str = LOCAL, *, workers: int) -> Iterator[OnRay]:
    """An engine on the cluster at the address; `local` starts one on this machine, for this run alone."""
    if workers < 1:
        raise OptionError(f"workers must be at least 1, not {workers}")
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    engine = OnRay(workers)
    ray = engine.ray
    options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if address == LOCAL:
        options |= {"num_cpus": workers, "include_dashboard": False}
    else:
        options |= {"address": address}
    _start(ray, address, options)
    try:
        have = int(ray.cluster_resources().get("CPU", 0))
        if have < workers:
            raise OptionError(f"--workers {workers}: the cluster has {have} CPUs, and each worker takes one")
        with running_on(engine):
            yield engine
    finally:
        ray.shutdown()
