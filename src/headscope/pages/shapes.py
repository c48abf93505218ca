"""What the views are given: the one definition of the data interface.

The server answers with these shapes, the single file and the widget embed them, and the TypeScript types of the
front end are made from them. Names are the same in JSON. A number that does not exist is null, never NaN; a field
that has a default may be left out. In order: an atlas, every head by every measure; the page of one head; what a server
or a page has. A text as a model saw it is in `text_shapes`.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator

from headscope.facts.scores import Verdict
from headscope.pages.text_shapes import Coarse, Known, Number, Seen, Shape, plain
from headscope.pages.views import Control, Subject


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


class AtlasStack(Shape):
    """The heads of one stack, in every colour the atlas has for them."""

    name: str
    layers: int
    heads: int
    colourings: list[Colouring]
    first_colouring: str | None = None
    """The key of the one that is shown first."""
    first_measures: tuple[str, str] | None = None
    """The keys of the two numbers that heads are placed by at first, across and up; null where there are not two."""
    first_head: int | None = None
    """The head that is shown first, counted layer by layer."""
    maps: list[HeadMap]
    """The one that is shown first leads; empty when heads are too few or distances are missing."""


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
