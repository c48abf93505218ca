"""What the views are given: the one definition of the data interface.

The server answers with these shapes, the single file and the widget embed them, and the TypeScript types of the
front end are made from them. Names are the same in JSON. A number that does not exist is null, never NaN.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class Shape(BaseModel):
    """Base of all: nothing but the named fields, and never changed once made."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="null")


# One text or pair, as a model saw it


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


class Seen(Shape):
    """What a model made of a text; the maps themselves are chunks.

    A chunk `maps/{stack}/{layer}` is raw-deflated uint8[head][query][key]; `levels` says what weight each byte
    stands for.
    """

    id: str
    model: str
    architecture: str
    text_a: str
    text_b: str | None
    source: Tokens
    target: Tokens | None
    stacks: list[StackShape]
    levels: list[float]
    """The weight of each byte, 256 rising numbers of which the first is 0."""
    max_error: float
    """The most by which a weight that was stored differs from the true one."""
    rotated: bool
    """Whether queries and keys are those after rotation (RoPE)."""
    has_neurons: bool
    neuron_heads: list[str] | None = None
    """The heads whose neurons are there, as {stack}/{layer}/{head}; None for all (when `has_neurons`)."""
    note: str
    """What one should know, such as a text that was cut; empty when there is nothing."""


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


# An atlas


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
    findings: list[str]


class ProfilePoint(Shape):
    """The attention a head pays at one offset."""

    offset: int
    value: float | None
    stderr: float | None = None


class DistanceFeature(Shape):
    """One of the features that heads are sorted by, beside what even attention would give."""

    feature: str
    value: float | None
    uniform: float | None = None


class RoleShare(Shape):
    """The attention a head pays to one kind of token."""

    role: str
    value: float | None
    stderr: float | None = None
    uniform: float | None = None


class NearHead(Shape):
    """A head that does much the same."""

    head: str
    distance: float


class RelationScore(Shape):
    """How often a head's strongest link is a relation's, beside the best simple rule."""

    relation: str
    accuracy: float | None
    low: float | None = None
    high: float | None = None
    baseline: float | None = None
    baseline_name: str = ""
    probe: str = ""
    """Which probe asked: dependency, coreference, relations."""
    direction: str = ""
    """Which way the head looks, in words."""
    what: str = "share of right guesses"
    """What `accuracy` and `baseline` are; for semantic roles shares of attention."""
    cases: int | None = None


class AblationEffect(Shape):
    """What a task loses or gains when the head is switched off."""

    metric: str
    change: float | None
    low: float | None = None
    high: float | None = None
    significant: bool | None = None
    data: str = ""
    unit: str = ""
    edit: str = ""
    """What was done to the head, in words."""
    higher_is_better: bool = True


class Comparison(Shape):
    """How the head differs from the same head of another model."""

    what: str
    value: float | None
    low: float | None = None
    high: float | None = None
    other: str = ""


class HeadExample(Shape):
    """A sentence of the corpus in which the head does what it typically does."""

    text: str
    words: list[str]
    marks: list[int]
    """The words that the example is about: who looks first, then what it should find."""
    weights: list[float] | None = None
    """For each word, how much attention the first mark pays it."""
    note: str


class ExampleMap(Shape):
    """The head's attention on one text of the corpus, the same for all heads; a cell holds its largest weight."""

    cells: list[list[float | None]]
    """(row, column), queries down and keys across"""
    queries: int | None
    """How many tokens the rows and columns stand for."""
    keys: int | None


class HeadPage(Shape):
    """All that an atlas knows of one head; what it does not know is empty or null."""

    stack: str
    layer: int
    head: int
    kind: str | None = None
    pattern: dict[str, float] | None = None
    profile: list[ProfilePoint] = []
    distances: list[DistanceFeature] = []
    roles: list[RoleShare] = []
    habits: list[RoleShare] = []
    """Named habits, such as the next word or what followed an earlier copy."""
    nearest: list[NearHead] = []
    relations: list[RelationScore] = []
    ablation: list[AblationEffect] = []
    compare: list[Comparison] = []
    examples: list[HeadExample] = []
    example_map: ExampleMap | None = None
    explanation: dict[str, float | str | list[float] | list[str] | None] | None = None


# Predictions


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


# What there is


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
