"""What a server or a page has, and how it says that something is wrong."""

from headscope.pages.shapes.atlases import AtlasData
from headscope.pages.shapes.base import Shape
from headscope.pages.shapes.heads import HeadPage
from headscope.pages.shapes.texts import Seen


class ModelInfo(Shape):
    """A model that can be asked."""

    name: str
    architecture: str
    task: str | None
    max_length: int | None
    pairs: bool


class AtlasInfo(Shape):
    """An atlas that can be opened."""

    id: str
    name: str
    model: str


class About(Shape):
    """What the source of a page has."""

    version: str
    models: list[ModelInfo]
    atlases: list[AtlasInfo]


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


class Chunk(Shape):
    """Where a chunk lies in the widget's blob."""

    key: str
    start: int
    length: int


class Embedded(Shape):
    """What the single file (script "headscope-data") and the widget (trait `about`) hold as JSON."""

    about: About
    seen: Seen | None = None
    atlas: AtlasData | None = None
    head_pages: dict[str, HeadPage] = {}
    """By {stack}/{layer}/{head}."""
    start: str = ""
    """The state to begin with, written as in a link's fragment, without the #; the link's own state wins."""
    chunks: list[Chunk] = []
    """The widget's only: in a file each chunk is a script element of its own."""
