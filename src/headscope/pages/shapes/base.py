"""What all shapes share."""

import re
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

_HALVES = re.compile("[\ud800-\udfff]")


class Shape(BaseModel):
    """Base of all: nothing but the named fields, never changed once made, and always to be written as JSON.

    Half a character, as broken texts and names of files have it, is no text that could be written: it is replaced.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="null")

    @model_validator(mode="before")
    @classmethod
    def _whole_characters(cls, given: Any) -> Any:
        return _whole(given)


def _whole(value: Any) -> Any:
    """The value with a replacement character for each half of one, wherever it is."""
    if isinstance(value, str):
        return value if value.isascii() else _HALVES.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    if isinstance(value, list | tuple) and value and not isinstance(value[0], int | float):
        return type(value)(map(_whole, value)) if type(value) in (list, tuple) else value
    return value
