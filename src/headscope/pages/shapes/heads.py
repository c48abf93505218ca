"""The page of one head."""

from headscope.facts.scores import Verdict
from headscope.pages.shapes.base import Shape


class ProfilePoint(Shape):
    """The attention a head pays at one offset."""

    offset: int
    value: float | None
    low: float | None = None
    high: float | None = None


class DistanceFeature(Shape):
    """One of the features that heads are sorted by, beside what even attention would give."""

    feature: str
    value: float | None
    uniform: float | None = None


class RoleShare(Shape):
    """The attention a head pays to one kind of token."""

    role: str
    value: float | None
    low: float | None = None
    high: float | None = None
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
    verdict: Verdict = "unclear"
    """How the head compares with all simple rules: `above` when its whole interval lies above theirs."""


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
    edits: int | None = None
    """How many edits `significant` is corrected for; None when it is not corrected, or not known."""
    corrected: bool | None = None
    """Whether it is corrected at all; None when that is not known."""
    possible: bool | None = None
    """Whether any of them could be significant at all, with so few examples; None when it is not known."""


class Comparison(Shape):
    """How the head differs from the same head of another model."""

    what: str
    value: float | None
    low: float | None = None
    high: float | None = None
    other: str = ""


class HeadExample(Shape):
    """A case of a probe: a sentence in which the head does what it was found to be the best at."""

    text: str
    words: list[str]
    marks: list[int]
    """The words that the example is about: who looks first, then what it should find."""
    weights: list[float] | None = None
    """For each word, how much attention the first mark pays it, or gets from it where it is `looked_at`."""
    looked_at: bool = False
    """Whether the head finds the answer by who looks at the first mark, not by where that one looks."""
    note: str


class TypicalSentence(Shape):
    """A sentence of the corpus on which the head is most like itself, and where each of its words looks most."""

    words: list[str]
    """Special tokens in their place."""
    keys: list[str] | None = None
    """What is looked at, in cross attention; None where it is the words themselves."""
    looks_at: list[int]
    """For each word the place, in `keys` or the words, that it looks at most."""
    weights: list[float]
    """How much attention goes there."""
    likeness: float
    """Cosine of the head's profile here with its mean profile, both seen from the mean of all heads."""


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
    """Those where the head is above a simple rule, furthest above first."""
    relations_tested: int = 0
    """How many relations had cases enough to be asked for."""
    ablation: list[AblationEffect] = []
    compare: list[Comparison] = []
    examples: list[HeadExample] = []
    typical: list[TypicalSentence] = []
    """The sentences where it is most typical, the most typical first; three at most."""
    example_map: ExampleMap | None = None
    explanation: dict[str, float | str | list[float | None] | list[str] | None] | None = None
