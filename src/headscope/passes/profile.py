"""Where the time of a run goes: waiting for texts, the model itself, and each measure."""

from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter, thread_time
from typing import TypeVar

import torch

T = TypeVar("T")

READING = "reading and encoding"
WAITING = "waiting for texts"
MODEL = "the model and its attention"
RESULTS = "results from the sums"
QUOTING = "typical sentences"
REST = "all else"


@dataclass
class Profile:
    """Seconds by what they were spent on; what runs inside something else is counted once, as the inner one's.

    Where work is queued, as on an accelerator, the clock waits for it to be done, so that a profiled run is slower
    than others.
    """

    device: torch.device | None = None
    on: bool = True
    seconds: dict[str, float] = field(default_factory=dict)
    aside: dict[str, float] = field(default_factory=dict)
    """Processor seconds of what other threads did meanwhile."""
    lanes: "list[Profile]" = field(default_factory=list)
    """Those of threads that work side by side."""
    _inner: list[float] = field(default_factory=list)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Count the time inside."""
        if not self.on:
            yield
            return
        started = self._now()
        self._inner.append(0.0)
        try:
            yield
        finally:
            took = self._now() - started
            self.seconds[name] = self.seconds.get(name, 0.0) + took - self._inner.pop()
            if self._inner:
                self._inner[-1] += took

    def lane(self) -> "Profile":
        """A profile for one of several threads that work side by side."""
        self.lanes.append(Profile(self.device, self.on))
        return self.lanes[-1]

    def iterated(self, name: str, things: Iterable[T]) -> Iterator[T]:
        """The same things, with the time that it takes to get them counted."""
        stream = iter(things)
        try:
            while True:
                with self.timed(name):
                    try:
                        thing = next(stream)
                    except StopIteration:
                        return
                yield thing
        finally:
            if isinstance(stream, Generator):
                stream.close()

    def beside(self, name: str, things: Iterable[T]) -> Iterator[T]:
        """The same things, with the time counted that the thread which makes them spends on them."""
        stream = iter(things)
        while self.on:
            started = thread_time()
            try:
                thing = next(stream)
            except StopIteration:
                return
            finally:
                self.aside[name] = self.aside.get(name, 0.0) + thread_time() - started
            yield thing
        yield from stream

    def facts(self, *, tokens: int, duration: float) -> dict[str, object]:
        """What a reader wants to know, the dearest part first; what nobody has timed is `REST`.

        Of threads that worked side by side it is the mean.
        """
        seconds = Counter(self.seconds)
        for lane in self.lanes:
            seconds.update({part: took / len(self.lanes) for part, took in lane.seconds.items()})
        rest = max(0.0, duration - sum(seconds.values()))
        ranked = sorted({**seconds, REST: rest}.items(), key=lambda entry: -entry[1])
        return {
            "parts": [
                {"part": part, "seconds": round(took, 4), "share": round(took / duration, 4)}
                for part, took in ranked
            ],
            "beside_the_model": {part: round(took, 4) for part, took in self.aside.items()},
            "tokens_per_second": round(tokens / duration, 1),
        }

    def _now(self) -> float:
        if self.device is not None and self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return perf_counter()


OFF = Profile(on=False)
"""For runs that nobody asks where their time goes."""
