"""A run with so many threads of torch, and in how many lanes its batches went."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from headscope.passes import run_pass as one_pass
from headscope.passes.lanes import in_lanes


@contextmanager
def lanes(threads: int) -> Iterator[set[int]]:
    """Inside, torch has so many threads; the set gets the number of lanes of every pass that has any."""
    opened: set[int] = set()
    before = torch.get_num_threads()

    def noted(things: Iterable[Any], lane: Any) -> Iterator[tuple[Any, Any]]:
        count = 0

        def counted() -> Any:
            nonlocal count
            count += 1
            return lane()

        yield from in_lanes(things, counted)
        opened.add(count)

    torch.set_num_threads(threads)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(one_pass, "in_lanes", noted)
            yield opened
    finally:
        torch.set_num_threads(before)
