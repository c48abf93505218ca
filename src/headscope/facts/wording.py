"""Numbers, lists and sentences as a reader would write them."""

import re
import unicodedata
from collections.abc import Sequence

from headscope.types import HeadId

_JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_FOLDER = re.compile(r"[^\s('\"]*[/\\](?=[^\s/\\:]+:\d)")

Part = str | HeadId
"""A piece of a sentence: words, or a head that it names."""


def sentence(*pieces: Part | tuple[Part, ...]) -> tuple[Part, ...]:
    """Pieces in their order: lists of heads unpacked, words that follow each other joined."""
    parts: list[Part] = []
    for piece in pieces:
        for part in piece if isinstance(piece, tuple) else (piece,):
            last = parts[-1] if parts else None
            if isinstance(part, str) and isinstance(last, str):
                parts[-1] = last + part
            elif part != "":
                parts.append(part)
    return tuple(parts)


def without_folders(note: str) -> str:
    """The note with the files it names by their names alone: an atlas is passed on, a folder means little there."""
    return _FOLDER.sub("", note)


HEAD = "\N{OBJECT REPLACEMENT CHARACTER}"
"""Where a text names a head; see `with_heads`."""


def with_heads(text: str, *heads: HeadId) -> tuple[Part, ...]:
    """The text with these heads, in their order, where it says HEAD."""
    first, *rest = text.split(HEAD)
    return sentence(first, *(part for pair in zip(heads, rest, strict=True) for part in pair))


def share(value: float, stderr: float | None = None) -> str:
    """A share of attention in per cent, with its standard error in points."""
    return f"{value:.1%}{_error(None if stderr is None else 100 * stderr, 1)}"


def interval(low: float | None, high: float | None) -> str:
    """A 95 % interval of a share, in per cent."""
    return "" if low is None or high is None else f"{100 * low:z.1f} to {high:z.1%}"


def amount(value: float, stderr: float | None = None, *, units: str, digits: int = 2) -> str:
    """A number with its unit and standard error."""
    return f"{value:z,.{digits}f}{_error(stderr, digits)} {units}".rstrip()


def _error(stderr: float | None, digits: int) -> str:
    if stderr is None:
        return ""
    smallest = 10.0**-digits
    return f" ± {stderr:.{digits}f}" if stderr >= smallest / 2 else f" (± under {smallest:g})"


def heads_list(heads: Sequence[HeadId], *, most: int = 5) -> tuple[Part, ...]:
    """Heads by name, the first few of many."""
    shown = list(heads[:most])
    more = len(heads) - len(shown)
    parts: list[Part] = []
    for place, head in enumerate(shown):
        is_last = place == len(shown) - 1 and not more
        parts += ["" if place == 0 else " and " if is_last else ", ", head]
    return sentence(*parts, f" and {more} more" if more else "")


def listed(words: Sequence[str]) -> str:
    """Words joined by commas and an "and"."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def capital(text: str) -> str:
    """A text that begins a sentence or a title."""
    return f"{text[:1].upper()}{text[1:]}"


def lower(title: str) -> str:
    """A title inside a sentence."""
    return f"{title[:1].lower()}{title[1:]}"


def count(number: int, word: str) -> str:
    """A number and its noun, in the plural where that is due."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def readable(largest: float, units: str) -> tuple[float, str]:
    """What to multiply by, and the unit that goes with it, so that the largest number is at least 1."""
    power = 0
    while 0 < largest * 10.0**power < 1:
        power += 3
    return 10.0**power, units if not power else f"10{str(-power).translate(_RAISED)} {units}"


def printed(text: str) -> str:
    """The text without characters that cannot be drawn or would turn the text around them."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c
        if c in _JOINERS or unicodedata.category(c) not in ("Cc", "Cs", "Cn", "Co", "Cf", "Zl", "Zp")
        else "\ufffd"
        for c in text
    )
