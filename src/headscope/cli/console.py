"""How commands speak: results on standard output, notes and progress on standard error."""

import json
import logging
import math
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import headscope as hs
from headscope.errors import HeadscopeWarning

if TYPE_CHECKING:
    from rich.console import Console

PIPED_WIDTH = 10_000
"""Columns that output into a file or a pipe may take: whoever reads it cuts lines better than we do."""


def stdout() -> "Console":
    """Where results go: the terminal's width and colours, or full width and none."""
    return _console(width=None if sys.stdout.isatty() else PIPED_WIDTH)


def stderr() -> "Console":
    """Where notes and progress go."""
    return _console(stderr=True)


def _console(*, width: int | None = None, stderr: bool = False) -> "Console":
    # Loads Rich, which --help does without.
    from headscope.cli.tables.text import SafeConsole

    return SafeConsole(width=width, stderr=stderr, highlight=False, markup=False, emoji=False)


def print_json(value: dict[str, Any]) -> None:
    """One JSON object; numbers that JSON has no word for (nan) become null."""
    print(json.dumps(_finite(value), indent=2, allow_nan=False), flush=True)


def envelope(
    command: str, own: Mapping[str, Any], *, output: object = None, notes: Iterable[str] = ()
) -> dict[str, Any]:
    """What every command says with --json, and what is its own; docs/cli-json.md lists both."""
    shared = {
        "headscope": hs.__version__,
        "command": command,
        "output": None if output is None else str(output),
        "notes": list(dict.fromkeys([*notes, *own.get("notes", ())])),
    }
    return shared | {key: value for key, value in own.items() if key != "notes"}


def one_line(text: object) -> str:
    """The text on one line, whatever it held: file names and other libraries' messages can hold anything."""
    return printable(" ".join(str(text).split()))


def printable(text: str) -> str:
    """The text with every character that is neither visible nor a line break written as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def print_wrapped(console: "Console", start: str, text: str) -> None:
    """The text after `start`; where a line is full it goes on below its own beginning."""
    lines = wrap(one_line(text), max(console.width - len(start), 20), break_on_hyphens=False)
    for number, line in enumerate(lines):
        console.print(f"{start if number == 0 else ' ' * len(start)}{line}", soft_wrap=True)


@contextmanager
def only_own_notes(*, debug: bool) -> Iterator[list[str]]:
    """Inside, headscope's warnings are collected as notes, and other libraries' warnings and logs are hidden.

    With `debug` the others stay visible.
    """
    notes: list[str] = []
    others = warnings.showwarning

    def keep(message: Warning | str, category: type[Warning], *rest: Any, **named: Any) -> None:
        if issubclass(category, HeadscopeWarning):
            notes.append(one_line(message))
        elif debug:
            others(message, category, *rest, **named)

    hidden_before = logging.root.manager.disable
    with warnings.catch_warnings(action="default" if debug else "ignore"):
        warnings.filterwarnings("always", category=HeadscopeWarning)
        warnings.showwarning = keep
        if not debug:
            logging.disable(logging.CRITICAL)
        try:
            yield notes
        finally:
            logging.disable(hidden_before)


def print_notes(notes: Iterable[str]) -> None:
    """One line each, each once."""
    console = stderr()
    for note in dict.fromkeys(notes):
        console.print(f"note: {note}", soft_wrap=True)


@contextmanager
def status(text: str, *, shown: bool) -> Iterator[None]:
    """A line that stands on a terminal while something without a bar goes on."""
    console = stderr()
    if not (shown and console.is_terminal):
        yield
        return
    with console.status(one_line(text)):
        yield


def _finite(value: Any) -> Any:
    match value:
        case dict():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value
