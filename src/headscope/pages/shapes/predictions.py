"""Predictions, untouched and with heads switched off."""

from typing import Literal

from headscope.pages.shapes.base import Shape


class Edit(Shape):
    """Heads to switch off, as in "3.2, layer 7"."""

    heads: str
    how: Literal["zero", "uniform"]


class PredictRequest(Shape):
    """A text to predict from, with and without the edits."""

    model: str
    text_a: str
    text_b: str | None = None
    edits: list[Edit] = []


class Option(Shape):
    """One thing the model might say."""

    text: str
    probability: float


class Guess(Shape):
    """What the model says in one place, best first."""

    place: str
    """The masked word, question, or next token that is guessed; "" for the whole text."""
    options: list[Option]


class Predicted(Shape):
    """What the model says as it is, and with the edits."""

    task: Literal["mlm", "qa", "classification", "lm"]
    before: list[Guess]
    after: list[Guess]
    note: str = ""
