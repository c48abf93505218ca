"""What goes wrong, as an answer: a status code and one line."""

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from headscope.errors import (
    AtlasError,
    CaptureError,
    HeadscopeError,
    InterventionError,
    ModelError,
    OptionError,
    TextError,
)


class NotThereError(HeadscopeError):
    """What was asked for by its name is not among what the server has."""


class TooBusyError(HeadscopeError):
    """Too many requests wait already."""


class StoppedError(Exception):
    """Whoever asked has gone, or the server stops; nobody waits for the answer."""


_CODES: dict[int, tuple[type[HeadscopeError], ...]] = {
    404: (NotThereError,),
    503: (TooBusyError,),
    400: (OptionError, TextError, InterventionError),
    422: (ModelError, AtlasError, CaptureError),
}
CLIENT_GONE = 499
"""What servers log for a client that did not wait; nobody reads it."""


def explained(error: Exception) -> tuple[int, str]:
    """The status code, and the line."""
    if isinstance(error, StoppedError):
        return CLIENT_GONE, "stopped"
    if isinstance(error, HeadscopeError):
        return next((code for code, kinds in _CODES.items() if isinstance(error, kinds)), 500), one_line(
            error
        )
    if isinstance(error, HTTPException):
        return error.status_code, one_line(error.detail)
    if isinstance(error, RequestValidationError):
        wrong = [
            f"{'.'.join(map(str, field['loc'][1:])) or 'the request'}: {field['msg']}"
            for field in error.errors()[:3]
        ]
        return 422, one_line("; ".join(wrong))
    if isinstance(error, MemoryError):
        return (
            507,
            "out of memory; give a shorter text, or start headscope explore with a smaller --max-length",
        )
    bug = "this is a bug in headscope: please report it"
    return 500, f"unexpected {type(error).__name__}: {one_line(error)}; {bug}"


def one_line(text: object) -> str:
    """The text on one line."""
    return " ".join(str(text).split())
