"""Every exception headscope raises on purpose; each message says what to do next."""

from collections.abc import Iterable
from difflib import get_close_matches


def choices(name: str, known: Iterable[str]) -> str:
    """How an error for an unknown name ends: with the name most like it, or with all that are known."""
    names = list(known)
    near = get_close_matches(name, names, n=1)
    return f"did you mean {near[0]}?" if near else f"choose from {', '.join(names)}"


def first_line(error: BaseException) -> str:
    """The first line of what an error says that is not empty; its kind where it says nothing."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


class HeadscopeError(Exception):
    """Base of all expected failures: one clear line for the user, no traceback on the command line."""

    exit_code = 2
    """What the command line exits with: 2 for something the user gave, 1 for something that went wrong."""


class ModelError(HeadscopeError):
    """A model could not be found, loaded or understood."""


class TextError(HeadscopeError):
    """A text, pair or treebank file could not be read or holds nothing to analyse."""


class OptionError(HeadscopeError):
    """An option has a value that cannot work; the message names the option and what it takes."""


class CaptureError(HeadscopeError):
    """Attention could not be observed, or not in every layer; no result may be built on it."""

    exit_code = 1


class InterventionError(HeadscopeError):
    """A change cannot be made to a model of this kind; nothing was changed."""


class AtlasError(HeadscopeError):
    """An atlas file is missing, damaged, foreign or too new, or lacks what was asked of it."""


class OutputError(HeadscopeError):
    """A result could not be written; nothing half-written is left behind."""

    exit_code = 1


class RunError(HeadscopeError):
    """A run could not be finished: the machines that it ran on failed again and again."""

    exit_code = 1


class HeadscopeWarning(UserWarning):
    """Something the user should know about a result that is still right."""
