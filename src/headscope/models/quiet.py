"""Keeping transformers' own bars and reports off the screen; what matters in them, headscope checks itself."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from transformers.utils import logging as transformers_logging


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Inside, transformers says nothing."""
    verbosity = transformers_logging.get_verbosity()
    had_bars = transformers_logging.is_progress_bar_enabled()
    disable: Callable[[], Any] = transformers_logging.disable_progress_bar
    enable: Callable[[], Any] = transformers_logging.enable_progress_bar
    transformers_logging.set_verbosity(logging.CRITICAL)
    disable()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if had_bars:
            enable()
