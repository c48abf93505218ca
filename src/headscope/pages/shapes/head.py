"""The page of one head as the views are given it; see `headscope.pages.shapes`."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator

from headscope.facts.scores import Score, Verdict
from headscope.pages.shapes.base import Coarse, Known, Number, Shape, plain


class Bar(Shape):
    """One number of a head: drawn as a bar or column, with its interval, beside what it is held against."""

    label: str
    value: Number
    low: Number = None
    high: Number = None
    mark: Number = None
    """What it is held against, drawn as a tick: even attention, a simple rule."""
    mark_name: str = ""
    moved: Number = None
    """The same weighed by what is moved, beside a number that says where the head looks."""
    moved_low: Number = None
    moved_high: Number = None
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

    @classmethod
    def of(cls, label: str, score: Score, control: Score | None = None, **more: Any) -> Self:
        """A score with its interval, beside what it is held against."""
        if control is not None:
            more |= {"mark": control.value, "mark_name": control.name}
        return cls(label=label, value=score.value, low=score.low, high=score.high, **more)


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
    """Another head that a head's page leads to, as it does much the same or is read by it."""

    head: str
    distance: Known
    note: str = ""


class ExampleMap(Shape):
    """The head's attention on one text of the corpus, the same for all heads; a cell holds its largest weight."""

    cells: list[list[Coarse]]
    """(row, column), queries down and keys across"""
    queries: int | None
    """How many tokens the rows and columns stand for."""
    keys: int | None


class Stacked(Shape):
    """Shares of heads that add up to 1, each drawn as one bar; the last name is for what has none."""

    title: str = ""
    names: list[str]
    heads: list[list[Known]]
    """(head, name), layer by layer"""


class Section(Shape):
    """One analysis of a head, as its page shows it: sentences, charts, and what they are."""

    key: str
    """The analysis."""
    title: str
    said: list[str] = []
    charts: list[Chart] = []
    heads: list[NearHead] = []
    map: ExampleMap | None = None
    stacked: Stacked | None = None
    """Of this head alone."""
    about: str = ""
    folded: list[Chart] = []
    """What is shown only when asked for, under its title."""
    folded_title: str = ""


class HeadExample(Shape):
    """A case of a probe: a sentence in which the head does what it was found to be the best at."""

    text: str
    words: list[str]
    marks: list[int]
    """The words that the example is about: who looks first, then what it should find."""
    weights: list[Known] | None = None
    """For each word, how much attention the first mark pays it, or gets from it where it `is_looked_at`."""
    guess: int = -1
    """The word that the head chose; -1 where that is not known."""
    is_right: bool = False
    is_looked_at: bool = False
    note: str


class SentenceLinks(Shape):
    """Where each word of a sentence looks most, or takes most from."""

    looks_at: list[int]
    """For each word the place, in the sentence's `keys` or words."""
    weights: list[Annotated[float, BeforeValidator(lambda value: plain(value, 3) or 0.0)]]
    """How much attention goes there, or which share of what is moved comes from there."""
    strongest: list[int]
    """The words whose looks stand for the sentence, strongest first."""
    said: str
    """What most of the words do alike, and how much like itself the head is."""


class TypicalSentence(SentenceLinks):
    """A sentence of the corpus on which the head is most like itself, and where each of its words looks most."""

    words: list[str]
    """Special tokens in their place."""
    keys: list[str] | None = None
    """What is looked at, in cross attention; None where it is the words themselves."""
    likeness: Known
    """Cosine of the head's profile here with its mean profile, both seen from the mean of all heads."""
    special: list[str]
    """Those of its words that are special tokens."""
    moved: SentenceLinks | None = None
    """The same by what is moved; null where the atlas does not know it."""


class CardLine(Shape):
    """A sentence on what a head does, and the number behind it beside what it is held against."""

    text: str
    bar: Bar | None = None
    """A share; null where there is nothing to say."""


class HeadPage(Shape):
    """All that an atlas knows of one head; what it does not know is empty or null."""

    stack: str
    layer: int
    head: int
    kind: str | None = None
    card: list[CardLine] = []
    """What it does, clear of its controls: a few sentences."""
    without: str = ""
    """What the model loses without it, in a sentence; empty where that was not tried."""
    named: str
    """How this head is named among those to switch off."""
    at_work: list[HeadExample] = []
    """The cases that show best what the card says."""
    sections: list[Section] = []
    examples: list[HeadExample] = []
    typical: list[TypicalSentence] = []
    """The sentences where it is most typical, the most typical first; three at most."""
    notes: list[str] = []
    """What is said of the whole page: how to read it, what is not there."""
