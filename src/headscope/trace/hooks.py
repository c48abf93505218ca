"""Hooks on a network's modules that always come off."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from torch.utils.hooks import RemovableHandle


@contextmanager
def hooked(hooks: Iterable[RemovableHandle]) -> Iterator[None]:
    """Inside, these hooks are in force; where one cannot be set, those before it come off again."""
    with ExitStack() as removal:
        for hook in hooks:
            removal.callback(hook.remove)
        yield
