"""What the views are given of a text as a model saw it; and the base of all shapes. See `headscope.pages.shapes`."""

import math
import re
from typing import Annotated, Any, Literal

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
        return {_whole(key): _whole(item) for key, item in value.items()}
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


class Tokens(Shape):
    """The tokens of a text, or of the two texts of a pair, in the order in which the model read them."""

    pieces: list[str]
    words: list[str]
    word: list[int]
    """For each piece, its index into `words`; -1 for special tokens."""
    segment: list[int]
    """For each piece, 0 in the first text and 1 in the second; -1 for special tokens."""
    special: list[bool]


class StackShape(Shape):
    """One stack of layers, and which tokens ask and answer in it."""

    name: Literal["encoder", "decoder", "cross"]
    layers: int
    heads: int
    queries: Literal["source", "target"]
    keys: Literal["source", "target"]
    causal: bool


class Reading(Shape):
    """A text or pair as a model, or anything that gives attention, read it."""

    model: str
    architecture: str
    text_a: str
    text_b: str | None
    source: Tokens
    target: Tokens | None
    stacks: list[StackShape]
    rotated: bool
    """Whether queries and keys are those after rotation (RoPE)."""
    note: str
    """What one should know, such as a text that was cut; empty when there is nothing."""
    cards: dict[str, list[str]] = {}
    """What an atlas says that each head does: by stack, layer by layer; without an atlas there is none."""


class Seen(Reading):
    """What a model made of a text; the maps themselves are chunks.

    A chunk `maps/{stack}/{layer}` is raw-deflated uint8[head][query][key]; `levels` says what weight each byte
    stands for. Where it is `fine`, as many bytes follow, in the same order: 0 to 255 says where the weight lies between
    the two middles around its level, the middle of two levels being half-way (0 below the first, 1 above the last).
    """

    id: str
    levels: list[float]
    """The weight of each byte, 256 numbers, the first 0, rising to 1 and 1 from there on."""
    max_error: float
    """The most by which a weight that was stored differs from the true one."""
    word_error: float
    """The same for weights between words: the sum over a word's pieces looked at, the mean over those that look."""
    fine: bool = False
    """Whether every map goes on with a second plane; see above."""
    has_neurons: bool
    neuron_heads: list[str] | None = None
    """The heads whose neurons are there, as {stack}/{layer}/{head}; None for all (when `has_neurons`)."""
    sharpest: dict[str, tuple[int, int]] = {}
    """For each stack the layer and head that is shown first where none is named."""


class Neurons(Shape):
    """One head's query and key vectors: chunk `neurons/{stack}/{layer}/{head}`, raw-deflated JSON.

    A score is scale * q.k, then cap * tanh(score / cap) where there is a `soft_cap`, then + bias. The weights are
    the softmax over the visible keys, with `sink` (a score that no key has) counted in where there is one.
    """

    stack: str
    layer: int
    head: int
    scale: float
    queries: list[list[float]]
    """(query, d)"""
    keys: list[list[float]]
    """(key, d)"""
    bias: list[list[float]] | None
    """(query, key) what is added to the scores for the position; 0 where the key is hidden."""
    soft_cap: float | None = None
    sink: float | None = None
    visible: list[tuple[int, int]] | None = None
    """For each query, the first key that it may see and the one after the last; None when it sees all."""
    agrees: bool = True
    """Whether the softmax of these scores was the head's weights, to 1e-3 (3e-2 in half precision)."""
    rotated: bool = False
    note: str


class SeenRequest(Shape):
    """A text to look at, or a pair; for models that read one text and write another, text_b is what is written."""

    model: str
    text_a: str
    text_b: str | None = None
