"""What only the server is asked and answers: predictions, with and without heads, and how it fares."""

from typing import Literal

from headscope.pages.shapes.base import Shape
from headscope.pages.shapes.views import SeenRequest
from headscope.types import MapWeigh


class Edit(Shape):
    """Heads to switch off, as in "3.2, layer 7"."""

    heads: str
    how: Literal["zero", "uniform"]


class PredictRequest(SeenRequest):
    """A text to predict from, with and without the edits."""

    edits: tuple[Edit, ...] = ()


class LookRequest(PredictRequest):
    """A text to look at: as the model is, or with the edits."""

    difference: bool = False
    """Whether the maps are what the edits change: weights with them less weights without."""
    weigh: MapWeigh = "looked"
    """Where heads look, what they move from there, or signed shares of what they give."""
    generate: int = 0
    """How many tokens the model is to write after the first text; each is then shown as it was made."""


class Option(Shape):
    """One thing the model might say."""

    text: str
    probability: float
    other: float | None = None
    """What the model on the other side of an edit gives it; null where it is not among that one's best."""
    fares: Literal["new", "up", "down", "same"] = "same"
    """Its place beside the one on the other side."""


class Guess(Shape):
    """What the model says in one place, best first."""

    place: str
    """The masked word, question, or next token that is guessed; "" for the whole text."""
    options: list[Option]
    changed: bool = False
    """Whether the best option is another one after the edits."""


class TokenChange(Shape):
    """How far a token's vector of the last layer moves."""

    token: str
    place: int
    """Its place in the text, counted from 0."""
    distance: float
    """Cosine distance: 0 for none, 1 at a right angle, 2 at most."""


class EmbeddingChange(Shape):
    """How far the embedding of a text moves: the mean of the last layer's vectors over all tokens."""

    distance: float
    """Cosine distance."""
    tokens: list[TokenChange]
    """Those that move farthest, the farthest first."""


class Predicted(Shape):
    """What the model says as it is, and with the edits; of one that predicts nothing, where its embedding moves."""

    task: Literal["mlm", "qa", "classification", "lm", "embedding"]
    before: list[Guess]
    after: list[Guess]
    embedding: EmbeddingChange | None = None
    said: str = ""
    """What the edits changed, in a sentence."""
    note: str = ""


Characters = tuple[int, int]
"""Where a word of a text begins and ends."""


class ArrowLine(Shape):
    """A text with arrows, as a line of `headscope find --arrows` holds it."""

    text: str
    arrows: list[tuple[Characters, Characters]]
    """From the word that looks to the word that is looked at."""


class DrawnText(ArrowLine):
    """The same cut into words, so that arrows can be drawn between them."""

    words: list[str]
    spans: list[Characters]


class DrawRequest(Shape):
    """Sentences, one a line; a line of JSON may have arrows."""

    lines: str


class Drawn(Shape):
    """Texts to draw arrows on."""

    texts: list[DrawnText]
    note: str = ""
    """What could not be used, line by line; empty when all could."""


class FindRequest(Shape):
    """Arrows that a head is searched for that looks along them; texts without arrows do not count."""

    model: str
    texts: list[ArrowLine]


class FoundHeads(Shape):
    """The best heads of a stack, as a table, and the answer in sentences."""

    stack: str
    sentences: list[str]
    heads: list[str]
    headings: list[str]
    rows: list[list[str]]


class Found(Shape):
    """Which heads look along the arrows."""

    stacks: list[FoundHeads]
    notes: list[str]


class HeadName(Shape):
    """One head."""

    stack: str
    layer: int
    head: int


class NamedHeads(Shape):
    """The heads that the edits of a request name."""

    heads: list[HeadName]


class Status(Shape):
    """What the server is busy with."""

    working: str
    """Such as "loading demo"; empty when it is idle."""
    waiting: int
    """How many more requests wait for their turn."""


class Problem(Shape):
    """What every answer is that is not the one asked for."""

    error: str
    """One line: what was given, what was expected, what fixes it."""
