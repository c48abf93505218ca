"""What every analysis says of its result: what it was found on, and its rows."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope.probes.result import ProbeResult, Source

_NAMES = ("data", "texts", "documents", "tokens", "texts_cut", "skipped", "options", "duration")


def source_facts(source: "Source", *without: str) -> dict[str, Any]:
    """What a script wants to know about the run."""
    facts = {name: getattr(source, name) for name in _NAMES if name not in without}
    return facts | {"options": dict(source.options)}


def source_line(source: "Source") -> str:
    """The same in a few words."""
    return f"{source.data}: {source.texts:,} texts, {source.tokens:,} tokens, {source.duration:.1f} s"


def stack_rows(result: "ProbeResult", table: Callable[..., list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The rows of a table of every stack, each with its stack."""
    return [{"stack": stack, **row} for stack in result.arrays() for row in table(stack=stack)]
