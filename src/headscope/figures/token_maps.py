"""What the pictures of one text share: weights and tokens that fit together, and how tokens are written."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from headscope.errors import OptionError
from headscope.facts.wording import printed
from headscope.figures.colours import INK
from headscope.figures.sentence import short, text_width

Array = np.ndarray[Any, Any]

TOKEN_SIZE = 7.5  # points
ROW = 11.0  # points from one token to the next

HEAD_COLOURS = (
    "#4947c3",
    "#f1757a",
    "#880609",
    "#22a5f6",
    "#7d8103",
    "#4e1491",
    "#7a4066",
    "#b466bf",
    "#d44781",
    "#74a807",
    "#640461",
    "#d188be",
    "#616631",
    "#a73694",
    "#6f62e0",
    "#064b33",
)
"""One a head, told apart by every kind of sight, as in the front end; they repeat after sixteen."""


def head_colour(head: int) -> str:
    """The colour of a head."""
    return HEAD_COLOURS[head % len(HEAD_COLOURS)]


def checked(weights: Any, tokens: Sequence[str], key_tokens: Sequence[str] | None, *, dims: int) -> Array:
    """The weights as an array of `dims` axes, the last two (query, key), that fit the tokens."""
    array = np.asarray(weights.detach().cpu() if hasattr(weights, "detach") else weights, dtype=float)
    names = "(head, query, key)" if dims == 3 else "(query, key)"
    if array.ndim != dims:
        raise OptionError(f"the weights have shape {array.shape}; expected {names}")
    keys = tokens if key_tokens is None else key_tokens
    if array.shape[-2:] != (len(tokens), len(keys)):
        raise OptionError(
            f"the weights are of {array.shape[-2]} queries and {array.shape[-1]} keys, and there are {len(tokens)} "
            f"tokens and {len(keys)} key tokens"
        )
    if not np.isfinite(array).all() or array.size == 0 or array.min() < 0:
        raise OptionError("the weights must be numbers of at least 0, and there must be some")
    return array


def labels(tokens: Sequence[str]) -> list[str]:
    """The tokens as they are written: long ones without their middle, nothing that turns the text around."""
    return [short(printed(token)) for token in tokens]


def widest(texts: Sequence[str]) -> float:
    """Points that the longest of some labels takes."""
    return max(text_width(text, TOKEN_SIZE) for text in texts)


def write(ax: Axes, x: float, y: float, text: str, *, side: str, rotation: float = 0) -> None:
    """A token; `side` is which end of it is at x."""
    ax.text(
        x,
        y,
        text,
        fontsize=TOKEN_SIZE,
        color=INK,
        ha=side if rotation == 0 else "center",
        va="center" if rotation == 0 else "bottom",
        rotation=rotation,
        parse_math=False,
        in_layout=False,  # asking for its size would need a font that has its letters
        clip_on=False,
    )
