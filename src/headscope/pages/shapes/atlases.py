"""An atlas: every head by every measure."""

from typing import Literal

from headscope.facts.scores import Verdict
from headscope.pages.shapes.base import Shape


class Colouring(Shape):
    """One number or kind for every head of a stack."""

    key: str
    """Stable, used in links, such as offset_attention:offset=-1."""
    group: str
    """The name of the measure or probe."""
    title: str
    unit: str
    kind: Literal["number", "category"]
    diverging: bool
    """Whether 0 is in the middle: changes, signs."""
    values: list[float | None]
    """Layer by layer; for categories an index into `labels`."""
    labels: list[str] | None = None
    stderr: list[float | None] | None = None
    about: str


class FindingPart(Shape):
    """A piece of a sentence."""

    text: str
    head: str | None = None
    """The head that the text names, as layer.head; null for words."""


class Finding(Shape):
    """One thing that the atlas shows: a sentence, and the number behind it."""

    topic: str
    stack: str
    parts: list[FindingPart]
    heads: list[str]
    """The heads it is about, the foremost first; none when it is about a layer or the whole stack."""
    value: float | None
    low: float | None = None
    high: float | None = None
    """The ends of the 95 % interval."""
    control: float | None = None
    control_name: str = ""
    """What the value is held against."""
    verdict: Verdict | None = None
    units: str = "1"


class AtlasStack(Shape):
    """The heads of one stack, in every colour the atlas has for them."""

    name: str
    layers: int
    heads: int
    colourings: list[Colouring]
    maps: dict[str, list[tuple[float, float]]]
    """Heads as points, layer by layer: "mds", "tsne"; empty when heads are too few or distances are missing."""


class AtlasData(Shape):
    """An atlas as the atlas view and the map view show it."""

    id: str
    name: str
    model: str
    architecture: str
    about: str
    """What was read: texts, tokens."""
    stacks: list[AtlasStack]
    findings: list[Finding]
