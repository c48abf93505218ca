"""The options that every run over texts has, checked in one place."""

from typing import Literal

from headscope.errors import OptionError
from headscope.models import Model

BatchSize = int | Literal["auto"]

Distances = Literal["sampled", "exact", "none"]
"""Of how many queries heads are compared with each other: of some of each text, of all, or not at all."""

LARGEST_BATCH = 9_999_999

LONGEST_WITHOUT_LIMIT = 512
"""Most tokens of a text for models that name no limit."""


def check_run_options(
    *models: Model,
    max_length: int,
    limit: int | None,
    batch_size: object,
    least: int = 1,
    least_why: str = "",
) -> None:
    """Raise OptionError for what one of the models cannot do; `least` is the smallest limit, and why."""
    for model in models:
        longest_text(model, max_length)
    check_limit(limit, least=least, why=least_why)
    check_batch_size(batch_size)


def longest_text(model: Model, max_length: int | None, usual: int | None = None) -> int:
    """The most tokens of a text: what was asked for, or else the `usual` number as far as the model takes it."""
    limit = model.max_length
    if max_length is None:
        return min(limit or usual or LONGEST_WITHOUT_LIMIT, usual or limit or LONGEST_WITHOUT_LIMIT)
    if limit is not None and max_length > limit:
        raise OptionError(
            f"max_length {max_length} is more than the {limit} tokens {model.name} takes; give "
            f"--max-length {limit} (max_length={limit}) or less"
        )
    return max_length


def check_limit(limit: int | None, *, least: int = 1, why: str = "") -> None:
    """Raise OptionError for a limit that leaves too few texts."""
    if limit is not None and limit < least:
        raise OptionError(f"limit must be at least {least}{f' ({why})' if why else ''}, not {limit}")


def check_batch_size(batch_size: object) -> None:
    """Raise OptionError for what is no number of texts."""
    if batch_size != "auto" and (not isinstance(batch_size, int) or batch_size < 1):
        raise OptionError(f"batch_size must be auto or at least 1, not {batch_size!r}")
    if isinstance(batch_size, int) and batch_size > LARGEST_BATCH:
        raise OptionError(f"batch_size must be at most {LARGEST_BATCH}, not {batch_size}")
