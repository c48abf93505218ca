"""What the views are given: the one definition of the data interface.

The server answers with these shapes, the single file and the widget embed them, and the TypeScript types of the
front end are made from them. Names are the same in JSON. A number that does not exist is null, never NaN; a field
that has a default may be left out. In order: a text as a model saw it; an atlas, every head by every measure; the page
of one head; what a server or a page has.
"""

import math
import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from headscope.facts.scores import Verdict
from headscope.pages.views import Control, Subject

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


class Seen(Reading):
    """What a model made of a text; the maps themselves are chunks.

    A chunk `maps/{stack}/{layer}` is raw-deflated uint8[head][query][key]; `levels` says what weight each byte
    stands for. Where it is `fine`, as many bytes follow, in the same order: 0 to 255 says where the weight lies between
    the two middles around its level, the middle of two levels being half-way (the first level below the first, 1 above
    the last).
    """

    id: str
    levels: list[float]
    """The weight of each byte, 256 numbers, the first 0 (-1 where signed), rising to 1 and 1 from there on."""
    max_error: float
    """The most by which a weight that was stored differs from the true one."""
    word_error: float
    """The same for weights between words: the sum over a word's pieces looked at, the mean over those that look."""
    fine: bool = False
    """Whether every map goes on with a second plane; see above."""
    edit: str = ""
    """The heads that were edited while the text was read, in words; empty for none."""
    signed: bool = False
    """Whether the numbers are what the edit changes: weights with it less weights without, from -1 to 1."""
    has_neurons: bool
    neuron_heads: list[str] | None = None
    """The heads whose neurons are there, as {stack}/{layer}/{head}; None for all (when `has_neurons`)."""


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


class AtlasStack(Shape):
    """The heads of one stack, in every colour the atlas has for them."""

    name: str
    layers: int
    heads: int
    colourings: list[Colouring]
    maps: dict[str, list[tuple[Known, Known]]]
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


class Bar(Shape):
    """One number of a head: drawn as a bar or column, with its interval, beside what it is held against."""

    label: str
    value: Number
    low: Number = None
    high: Number = None
    mark: Number = None
    """What it is held against, drawn as a tick: even attention, a simple rule."""
    mark_name: str = ""
    verdict: Verdict | None = None
    """How it compares with what it is held against, where that was tested."""
    pale: bool = False
    """Whether it may well be nothing."""
    worse: bool | None = None
    """Whether it is bad news; null where that is not known, or is being below 0."""
    muted: bool = False
    """Whether it stands apart from the others, as attention to the token itself."""
    tick: str = ""
    """What is written below a column."""
    note: str = ""


class Chart(Shape):
    """Numbers on one scale: a row each (bars), or side by side (columns)."""

    title: str = ""
    kind: Literal["bars", "columns"] = "bars"
    bars: list[Bar]
    is_share: bool = False
    """Whether the scale is from 0 to 1, whatever the numbers are."""
    caption: str = ""
    """What columns are counted in."""


class NearHead(Shape):
    """A head that does much the same."""

    head: str
    distance: Known


class ExampleMap(Shape):
    """The head's attention on one text of the corpus, the same for all heads; a cell holds its largest weight."""

    cells: list[list[Coarse]]
    """(row, column), queries down and keys across"""
    queries: int | None
    """How many tokens the rows and columns stand for."""
    keys: int | None


class Section(Shape):
    """One analysis of a head, as its page shows it: sentences, charts, and what they are."""

    key: str
    """The analysis."""
    title: str
    said: list[str] = []
    charts: list[Chart] = []
    heads: list[NearHead] = []
    map: ExampleMap | None = None
    about: str = ""


class HeadExample(Shape):
    """A case of a probe: a sentence in which the head does what it was found to be the best at."""

    text: str
    words: list[str]
    marks: list[int]
    """The words that the example is about: who looks first, then what it should find."""
    weights: list[Known] | None = None
    """For each word, how much attention the first mark pays it, or gets from it (which the note then says)."""
    note: str


class TypicalSentence(Shape):
    """A sentence of the corpus on which the head is most like itself, and where each of its words looks most."""

    words: list[str]
    """Special tokens in their place."""
    keys: list[str] | None = None
    """What is looked at, in cross attention; None where it is the words themselves."""
    looks_at: list[int]
    """For each word the place, in `keys` or the words, that it looks at most."""
    weights: list[Annotated[float, BeforeValidator(lambda value: plain(value, 3) or 0.0)]]
    """How much attention goes there."""
    likeness: Known
    """Cosine of the head's profile here with its mean profile, both seen from the mean of all heads."""
    special: list[str]
    """Those of its words that are special tokens."""
    strongest: list[int]
    """The words whose looks stand for the sentence, strongest first."""
    said: str
    """What most of the words do alike, and how much like itself the head is."""


class HeadPage(Shape):
    """All that an atlas knows of one head; what it does not know is empty or null."""

    stack: str
    layer: int
    head: int
    kind: str | None = None
    card: list[str] = []
    """What it does, clear of its controls, and what the model loses without it: a few sentences."""
    sections: list[Section] = []
    examples: list[HeadExample] = []
    typical: list[TypicalSentence] = []
    """The sentences where it is most typical, the most typical first; three at most."""
    notes: list[str] = []
    """What is said of the whole page: how to read it, what is not there."""


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
    atlas: AtlasData | None = None
    head_pages: dict[str, HeadPage] = {}
    """By {stack}/{layer}/{head}."""
    start: str = ""
    """The state to begin with, written as in a link's fragment, without the #; the link's own state wins."""
    chunks: list[Chunk] = []
    """The widget's only: in a file each chunk is a script element of its own."""
