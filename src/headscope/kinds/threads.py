"""How many threads the fits to heads may use."""

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """For thousands of fits to a few hundred heads: each is over before a second thread has begun to help.

    On a machine that others use too, a fit would wait for that thread every time.
    """
    with threadpool_limits(1):
        yield
