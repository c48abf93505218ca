"""Numbers and lists as a reader would write them."""

from collections.abc import Sequence

from headscope.types import HeadId


def share(value: float, stderr: float | None = None) -> str:
    """A share of attention in per cent, with its standard error in points."""
    return f"{value:.1%}{_error(None if stderr is None else 100 * stderr, 1)}"


def interval(low: float | None, high: float | None) -> str:
    """A 95 % interval of a share, in per cent."""
    return "" if low is None or high is None else f"{100 * low:.1f} to {high:.1%}"


def amount(value: float, stderr: float | None = None, *, units: str, digits: int = 2) -> str:
    """A number with its unit and standard error."""
    return f"{value:,.{digits}f}{_error(stderr, digits)} {units}".rstrip()


def _error(stderr: float | None, digits: int) -> str:
    if stderr is None:
        return ""
    smallest = 10.0**-digits
    return f" ± {stderr:.{digits}f}" if stderr >= smallest / 2 else f" (± under {smallest:g})"


def heads_list(heads: Sequence[HeadId], *, most: int = 5) -> str:
    """Heads by name, the first few of many."""
    shown = [str(head) for head in heads[:most]]
    if len(heads) > most:
        return f"{', '.join(shown)} and {len(heads) - most} more"
    return listed(shown)


def listed(words: Sequence[str]) -> str:
    """Words joined by commas and an "and"."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def count(number: int, word: str) -> str:
    """A number and its noun, in the plural where that is due."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
