"""Shards counted by the workers of a Ray cluster; the driver reads, hands out, and merges.

A worker is an actor that holds what a pass does with a shard (the model above all) and keeps nothing: it gives back a
fresh state for each shard. The driver takes the state of a shard once. A worker that dies is replaced, and its shard
handed out again: what the dead one had counted never left it.
"""

import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import islice
from typing import Any

import torch

from headscope.errors import HeadscopeWarning, OptionError, RunError
from headscope.loading import load_module
from headscope.models import Model
from headscope.passes.cluster import one_line, start_worker
from headscope.passes.run_pass import Accept, B, Job, S, Shard, T, Told, running_on
from headscope.passes.states import load_state

AHEAD = 2
"""How many shards each worker is given at a time: one to count, the other to go on with at once."""
MOST_TRIES = 4
"""How many workers may die over one shard."""


class OnRay:
    """An engine: `workers` actors on the cluster count shards; see `Engine`."""

    def __init__(self, workers: int, started: "Future[list[Any]]") -> None:
        """`started` are workers that load what they need, once the cluster is there."""
        self.workers = workers
        self.gpus = 0.0
        """How much of a GPU each worker takes."""
        self._started = started
        self._taking: list[Any] = []
        """What workers promise when they are new: to have taken their first job."""

    @property
    def ray(self) -> Any:
        """The package, which the cluster's thread may still be loading."""
        return load_module("ray")

    @property
    def _workers(self) -> list[Any]:
        """All workers; waits for the cluster."""
        return self._started.result()

    def model(self, model: Model) -> None:
        """Note that the run uses this model: where it is on a GPU here, it is on one in each worker."""
        if model.device.type == "cuda":
            self._started.result()  # waits for the cluster
            self.gpus = min(1.0, self.ray.cluster_resources().get("GPU", 0.0) / self.workers)
            if not self.gpus:
                raise OptionError(
                    f"{model.name} is on a GPU here, and the cluster has none; give --device cpu"
                )

    def run(
        self, parts: Iterable[Shard[T]], job: Job[T, B, S], accept: Accept[T, S], told: Told[B], *, keep: bool
    ) -> None:
        """Hand the shards out as they are read, and accept each as it comes back.

        Until the first worker is there, this process, which has the model, counts too.
        """
        waiting: dict[Any, tuple[Shard[T], Any]] = {}  # by what is promised: the shard, and its worker
        tries: dict[int, int] = {}
        unread, begun = iter(parts), False
        while True:
            if not begun and self._started.done():
                begun = True
                self._begin(job)
            counting = begun and self._counting()
            ahead = (AHEAD if counting else 1) * self.workers if begun else 0
            for shard in islice(unread, ahead - len(waiting)):
                self._give(shard, waiting)
            if not counting and (own := next(unread, None)) is not None:
                accept(own, job.run(own, told))
                continue
            if not waiting:
                return
            (ready, *_), _ = self.ray.wait(list(waiting), num_returns=1)
            shard, worker = waiting[ready]
            at = next(first for first, its in waiting.values() if its is worker)
            del waiting[ready]
            try:
                data = self.ray.get(ready)
            except self.ray.exceptions.RayActorError as error:
                if worker in self._workers:  # another of its shards has not told of its death yet
                    self._again(at, tries, error)
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
        while len(self._workers) < self.workers:
            self._workers.append(start_worker(self.ray, gpus=self.gpus))
        promised = [self._take(worker) for worker in self._workers]
        self._taking = self._taking or promised

    def _take(self, worker: Any) -> Any:
        return worker.take.remote(self._job, torch.get_num_threads())  # as many as here: the same bits

    def _counting(self) -> bool:
        """Whether any worker has started."""
        return bool(self.ray.wait(self._taking, num_returns=1, timeout=0)[0])

    def _give(self, shard: Shard[T], waiting: dict[Any, tuple[Shard[T], Any]]) -> None:
        """Hand a shard to the worker with the least to do, and note what it promises."""
        busy = [worker for _, worker in waiting.values()]
        worker = min(self._workers, key=busy.count)
        waiting[worker.count.remote(shard)] = (shard, worker)

    def _replace(self, dead: Any) -> None:
        """Another worker in the place of one that died."""
        self._workers[self._workers.index(dead)] = worker = start_worker(self.ray, gpus=self.gpus)
        self._take(worker)

    def close(self) -> None:
        """Give the workers' memory back; the next pass starts others."""
        for worker in self._workers:
            self.ray.kill(worker)
        self._workers.clear()
        self._taking = []

    def _again(self, shard: Shard[Any], tries: dict[int, int], error: Exception) -> None:
        """Note that a worker died over this shard, at which it was; too many end the run."""
        tries[shard.place] = tries.get(shard.place, 1) + 1
        if tries[shard.place] > MOST_TRIES:
            raise RunError(
                f"{MOST_TRIES} workers died over shard {shard.place}, one after the other; the last one: "
                f"{one_line(error)}. Give each more memory, or try --batch-size 1"
            ) from error
        warnings.warn("a worker died; another one counts its shard", HeadscopeWarning, stacklevel=2)


@contextmanager
def running_workers(workers: int, started: "Future[list[Any]]") -> Iterator[OnRay]:
    """Inside, so many workers run passes; see `cluster`."""
    engine = OnRay(workers, started)
    with running_on(engine):
        yield engine
