"""Reading ahead: what a pass needs next is made in a thread of its own while the model works."""

from collections.abc import Generator, Iterable, Iterator
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import Generic, TypeVar

from headscope.text.batching import READ_AHEAD

T = TypeVar("T")

LAST_WORDS = 1.0
"""Seconds that a thread is waited for when nobody wants its things any more; it may hang in a pipe that is silent."""


class _Error:
    """What was raised where the next thing was made."""

    def __init__(self, raised: BaseException) -> None:
        self.raised = raised


class _End:
    """There is no next thing."""


def ahead(things: Iterable[T], *, room: int = READ_AHEAD) -> Iterator[T]:
    """The same things in the same order, made by a thread that is never more than `room` of them ahead.

    What making them raises is raised here, in its place. Whoever stops early, by an error or Ctrl-C too, ends the
    thread. A window of batches is made at once (`text.batching`), so there is room for one.
    """
    maker = _Maker(things, room)
    thread = Thread(target=maker.run, name="headscope reads ahead", daemon=True)
    thread.start()
    try:
        while not isinstance(thing := maker.made.get(), _End):
            maker.room.release()
            if isinstance(thing, _Error):
                raise thing.raised
            yield thing
    finally:
        maker.wanted = False
        maker.room.release()
        thread.join(LAST_WORDS)


class _Maker(Generic[T]):
    """What goes on in the thread."""

    def __init__(self, things: Iterable[T], room: int) -> None:
        self.things = things
        self.made: SimpleQueue[T | _Error | _End] = SimpleQueue()
        self.room = Semaphore(room)
        self.wanted = True

    def run(self) -> None:
        stream = iter(self.things)
        try:
            self.room.acquire()
            while self.wanted:
                try:
                    thing = next(stream)
                except StopIteration:
                    break
                self.made.put(thing)
                self.room.acquire()
            if isinstance(stream, Generator):
                stream.close()  # here, where it runs: its files are closed
        except BaseException as error:
            self.made.put(_Error(error))
        else:
            self.made.put(_End())
