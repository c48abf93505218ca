"""What all shapes of the data interface are made of: their base, and the numbers of an atlas."""

import math
import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

_HALVES = re.compile("[\ud800-\udfff]")


class Shape(BaseModel):
    """Base of all: nothing but the named fields, never changed once made, and always to be written as JSON.

    Half a character, as broken texts and names of files have it, is no text that could be written: it is replaced.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="null")

    @model_validator(mode="before")
    @classmethod
    def _whole_characters(cls, fields: Any) -> Any:
        return _whole(fields)


def _whole(value: Any) -> Any:
    """The value with a replacement character for each half of one, wherever it is."""
    if isinstance(value, str):
        return value if value.isascii() else _HALVES.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, dict):
        return {
            _whole(key): item if item is None or isinstance(item, float | bool) else _whole(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple) and value and not isinstance(value[0], int | float):
        return type(value)(map(_whole, value)) if type(value) in (list, tuple) else value
    return value


def plain(value: float | None, digits: int = 5) -> float | None:
    """A number to a few significant digits (standard errors are far coarser); None for what is missing."""
    return None if value is None or not math.isfinite(value) else float(f"{float(value):.{digits}g}")


Number = Annotated[float | None, BeforeValidator(plain)]
"""A number of an atlas: nothing that is not finite, no digits that mean nothing."""
Coarse = Annotated[float | None, BeforeValidator(lambda value: plain(value, 3))]
"""The same where fewer digits mean something: standard errors, cells of a picture."""
Known = Annotated[float, BeforeValidator(lambda value: plain(value) or 0.0)]
"""A number that is always there."""
