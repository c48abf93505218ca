"""A text as a model saw it; an atlas, every head by every measure; what a server or a page has."""

from typing import Literal

from headscope.facts.scores import Verdict
from headscope.pages.shapes.base import Coarse, Known, Number, Shape
from headscope.pages.shapes.head import HeadPage, Stacked
from headscope.pages.views import Control, Subject
from headscope.types import MapWeigh, WeighedBy


class Tokens(Shape):
    """The tokens of a text, or of the two texts of a pair, in the order in which the model read them."""

    pieces: list[str]
    words: list[str]
    word: list[int]
    """For each piece, its index into `words`; -1 for special tokens."""
    segment: list[int]
    """For each piece, 0 in the first text and 1 in the second; -1 for special tokens."""
    special: list[bool]
    generated: list[bool] = []
    """For each piece, whether the model wrote it; empty where it wrote none."""


class StackShape(Shape):
    """One stack of layers, and which tokens ask and answer in it."""

    name: Literal["encoder", "decoder", "cross"]
    layers: int
    heads: int
    queries: Literal["source", "target"]
    keys: Literal["source", "target"]
    causal: bool
    module_layers: list[int] = []
    """The numbers that its layers have in the network; empty where they are counted one by one there too."""


class Reading(Shape):
    """A text or pair as a model, or anything that gives attention, read it."""

    model: str
    architecture: str
    text_a: str
    text_b: str | None
    output: str | None = None
    """What the model wrote; null where it only read."""
    source: Tokens
    target: Tokens | None
    stacks: list[StackShape]
    rotated: bool
    """Whether queries and keys are those after rotation (RoPE)."""
    note: str
    """What one should know, such as a text that was cut; empty when there is nothing."""
    cards: dict[str, list[str]] = {}
    """What an atlas says that each head does: by stack, layer by layer; without an atlas there is none."""
    weigh: MapWeigh = "looked"
    """What the maps hold: attention, shares of what is moved, or signed shares of what a head gives."""
    weigh_note: str = ""
    """Why only attention can be shown; empty where the other two can be told."""


class StoredMaps(Shape):
    """How the maps of a text are stored: see `Seen`."""

    levels: list[float | None]
    """The weight of each byte, 256 numbers, rising; the first is 0 (below it where signed). null is no number."""
    max_error: float
    """The most by which a weight that was stored differs from the true one."""
    word_error: float
    """The same for weights between words: the sum over a word's pieces looked at, the mean over those that look."""
    fine: bool = False
    """Whether every map goes on with a second plane; see `Seen`."""
    signed: bool = False
    """Whether the numbers may be below 0."""


class AlsoStored(StoredMaps):
    """The same text weighed in another way: its chunks are named {weigh}/maps/{stack}/{layer}."""

    weigh: MapWeigh


class Seen(Reading, StoredMaps):
    """What a model made of a text; the maps themselves are chunks.

    A chunk `maps/{stack}/{layer}` is raw-deflated uint8[head][query][key]; `levels` says what weight each byte
    stands for. Where it is `fine`, as many bytes follow, in the same order: 0 to 255 says where the weight lies between
    the two middles around its level, the middle of two levels being half-way (the first level below the first, the last
    above the last).
    """

    id: str
    edit: str = ""
    """The heads that were edited while the text was read, in words; empty for none."""
    difference: bool = False
    """Whether the numbers are what the edit changes: weights with it less weights without."""
    also: list[AlsoStored] = []
    """How else the text is weighed in this file or notebook; a server is asked."""
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
    values: list[Number]
    """Layer by layer; for categories an index into `labels`."""
    labels: list[str] | None = None
    stderr: list[Coarse] | None = None
    about: str
    weigh: WeighedBy = "looked"
    """Whether it is of where heads look or of what they move."""
    other: str | None = None
    """The key of the same number weighed the other way; null where there is none."""
    rank: str | None = None
    """How heads are chosen by it, as in "top 10 by entropy"; null where they have no order."""


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
    value: Number
    low: Number = None
    high: Number = None
    """The ends of the 95 % interval."""
    control: Number = None
    control_name: str = ""
    """What the value is held against."""
    verdict: Verdict | None = None
    units: str = "1"


class HeadMap(Shape):
    """Heads as points: who lies near whom."""

    key: str
    """Stable, used in links, such as mds."""
    title: str
    about: str
    points: list[tuple[Known, Known]]
    """Layer by layer."""


class SelectionRow(Shape):
    """One number: its mean over some heads and over all others, and their difference with its 95 % interval."""

    title: str
    unit: str
    selected: Number
    rest: Number
    difference: Number
    low: Number = None
    high: Number = None
    verdict: Verdict


class Selection(Shape):
    """Some heads against the rest."""

    rows: list[SelectionRow]
    about: str


class AtlasStack(Shape):
    """The heads of one stack, in every colour the atlas has for them."""

    name: str
    layers: int
    heads: int
    module_layers: list[int] = []
    """The numbers that its layers have in the network; empty where they are counted one by one there too."""
    colourings: list[Colouring]
    first_colouring: str | None = None
    """The key of the one that is shown first."""
    first_measures: tuple[str, str] | None = None
    """The keys of the two numbers that heads are placed by at first, across and up; null where there are not two."""
    first_head: int | None = None
    """The head that is shown first, counted layer by layer."""
    maps: list[HeadMap]
    """The one that is shown first leads; empty when heads are too few or distances are missing."""
    stacked: Stacked | None = None
    """What names explain of every head."""


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
    command: str
    """What opens this atlas with its model in the explorer."""


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


class ViewInfo(Shape):
    """A view that another package adds."""

    name: str
    title: str
    about: str
    subject: Subject
    controls: list[Control] = []


class About(Shape):
    """What the source of a page has."""

    version: str
    models: list[ModelInfo]
    atlases: list[AtlasInfo]
    views: list[ViewInfo] = []
    """Their data are chunks of JSON, `view/{name}` or `view/{name}/{stack}/{layer}/{head}`."""
    start: str = ""
    """What a server's page shows first, written as in a link's fragment; empty for the first view."""


class Chunk(Shape):
    """Where a chunk lies in the widget's blob."""

    key: str
    start: int
    length: int


class Embedded(Shape):
    """What the single file (script "headscope-data") and the widget (trait `about`) hold as JSON."""

    about: About
    seen: Seen | None = None
    beside: Seen | None = None
    """A second text or model, shown beside the first; its chunks are named beside/{key}."""
    atlas: AtlasData | None = None
    head_pages: dict[str, HeadPage] = {}
    """By {stack}/{layer}/{head}."""
    start: str = ""
    """The state to begin with, written as in a link's fragment, without the #; the link's own state wins."""
    chunks: list[Chunk] = []
    """The widget's only: in a file each chunk is a script element of its own."""
