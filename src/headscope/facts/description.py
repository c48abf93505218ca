"""What an analysis says of its result: what was asked, what rows and numbers are called, what they are held against.

A description is plain data. It stands beside the probe, in its own file or in a TOML file of the same name, and is
written into the atlas together with the numbers. The command line, `--json`, the report, head pages, charts and
findings all render it, so a probe that has one is shown everywhere, and an atlas can be read without the package that
made it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from functools import cache
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    Protocol,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from headscope.atlas.files import MOVED
from headscope.data import beside
from headscope.facts.wording import capital
from headscope.registry import BUILT_IN, Registry
from headscope.remembered import once

if TYPE_CHECKING:
    from headscope.atlas import Atlas

ALL = "all"
"""The label of the row over all cases."""

FEW_CASES = 30
"""Fewer cases than this say little about a head: of 30, a share of one half is known to 17 points either way."""

_BY_MOVED = "Attention is weighed by what it moves: each weight times the length of what is fetched there, as a share."

T = TypeVar("T")
Format = Literal["plain", "percent", "points", "number", "p_value", "signed", "direction", "verdict"]


@dataclass(frozen=True)
class Column:
    """A column of a table: where its cells come from, what it is called, and how its cells are written.

    `percent` is a share, `points` a signed difference of shares, `signed` an offset, `plain` any other value.
    """

    key: str
    heading: str = ""
    """Empty: the key in words."""
    format: Format = "plain"
    digits: int = 1
    """Digits after the point."""
    low: str = ""
    high: str = ""
    """The columns of a 95 % interval, which gets a column of its own behind this one."""
    stderr: str = ""
    """The column of a standard error, which is written behind the number."""


@dataclass(frozen=True)
class Table:
    """A table of the result: some of its rows, some of its columns."""

    columns: tuple[Column, ...]
    caption: str = ""
    title: str = "Best heads"
    """The heading above it in the report; tables of one title stand below each other."""
    about: str = ""
    where: Mapping[str, str] = field(default_factory=dict)
    """Only rows with these values: {"queries": "all"}."""
    needs: str = ""
    """Only where rows have this column, as that of a second model."""

    def rows_of(self, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The rows that belong into this table."""
        return [
            row
            for row in rows
            if all(row.get(key) == value for key, value in self.where.items())
            and (not self.needs or self.needs in row)
        ]


@dataclass(frozen=True)
class Baseline:
    """What needs no attention: a rule that answers the same question."""

    name: str
    value: str
    low: str = ""
    high: str = ""
    """The columns of the table with its share, and the ends of its interval."""
    detail: str = ""
    """The column that says which one it is, where there were several to choose from: the offset."""
    label: str = ""
    """What it is called in the array of all baselines; empty where the best of them all is meant."""
    article: str = "the "

    @property
    def phrase(self) -> str:
        """Its name in a sentence."""
        return f"{self.article}{self.name}"


@dataclass(frozen=True)
class ArrayText:
    """What one array of the result holds."""

    title: str
    """Of one slice; {} stands for the names of the chosen labels."""
    unit: str = "share of attention"
    kind: Literal["share", "guesses", "number"] = "share"
    """Shares of attention can be added up, shares of right guesses cannot, and a number is no share at all."""


@dataclass(frozen=True)
class EveryHead:
    """Where the number of every head stands, not only of the best: for head pages, and for maps of all heads."""

    array: str
    """By label, layer and head, and direction where there is one; the larger direction counts."""
    start: str
    """How the names of the arrays begin that say how many cases (`_count`) and what errors are over (`_units`)."""
    overall: str = ""
    """The array over all labels."""
    value: str = ""
    """The array that is shown, where it is not the one by which the direction is chosen."""
    value_name: str = ""
    baseline: str = ""
    """The array of the baselines on the same cases: by label and rule, or for every head its own control."""
    baseline_name: str = ""
    """What a control is called; rules have the names of the baselines."""
    ending: str = ""
    """How the names of all these arrays end."""

    def moved(self) -> "EveryHead":
        """The same of what was asked by what heads move."""
        names = ("array", "overall", "value", "baseline")
        own = {name: getattr(self, name) and f"{getattr(self, name)}{MOVED}" for name in names}
        return replace(self, ending=MOVED, **own)


@dataclass(frozen=True)
class Sentences:
    """How the findings read: `Head 3.2 finds the noun of a determiner (det): …`."""

    topic: str
    does: str = "finds {}"
    """What the best head of a row does; {} is what the row is about."""
    objects: Mapping[str, str] = field(default_factory=dict)
    """By label, what {} stands for; without an entry the label's name, or `other`."""
    labelled: bool = True
    """Whether the label follows in brackets."""
    other: str = "{}"
    whole: str = ""
    """What the best head of the row over all cases does, when it is clearly above; empty where that row is as any."""
    only_above: bool = True
    """Whether only rows are told whose head is clearly above its baselines, the most frequent first."""
    more: str = ""
    """What a difference is more than: `of attention more than between other words at that distance`."""
    row: str = ""
    """For a table that is not about single heads: the row that is told, by `does`, with {} for its share."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """The rows it stands beside, and how they are told: {"best_offset": "for the best fixed offset"}."""

    def moved(self) -> "Sentences":
        """The same of what was asked by what heads move."""
        by = f"by what {'heads move' if self.row else 'it moves'}"
        return replace(self, does=f"{self.does} {by}", whole=self.whole and f"{self.whole}, {by}")


@dataclass(frozen=True)
class Description:
    """All that is to be said of the result of an analysis, whatever its numbers are."""

    name: str
    title: str = ""
    """The heading of its section."""
    question: str = ""
    """What was asked and how it was counted, in a few sentences; {heads} stands for the number of heads."""
    subject: str = ""
    """What heads are asked to know: syntax, coreference."""
    outlook: str = ""
    """For what does not ask what heads know: what is looked at."""
    group: str = ""
    """The heading of its arrays where all arrays of an atlas are listed."""
    label: str = ""
    """The column of the table, and the dimension of the arrays, that says what a row is about."""
    labels: str = "rows"
    """What rows are about, in the plural."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Labels in words, where they differ from the label; those of other dimensions by `dimension=label`."""
    value: str = ""
    """The column of the score; `low` and `high` are the ends of its interval."""
    value_name: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    """What the numbers of a label are counted in, where they are no shares: logits."""
    is_difference: bool = False
    """Whether the control is taken off the score already, so that it is held against 0."""
    least: float = 0.0
    """The smallest difference that counts: a smaller one may be sure, and is still not worth a name."""
    baselines: tuple[Baseline, ...] = ()
    own_rows: tuple[str, ...] = ()
    """Where some rows are baselines of others: those that are not."""
    is_choice: bool = False
    """Whether the head of a row was chosen on other texts than those it is scored on."""
    few_cases: int = FEW_CASES
    tables: tuple[Table, ...] = ()
    chart: str = ""
    """The title of the chart of all rows; empty for none."""
    chart_caption: str = ""
    arrays: Mapping[str, ArrayText] = field(default_factory=dict)
    every_head: EveryHead | None = None
    directions: tuple[str, ...] = ()
    """Which way heads look: from the word that asks, and, second, the way in which it is looked at itself."""
    texts: str = "sentences"
    """What a text is, in the plural."""
    sentences: Sentences | None = None

    @property
    def words(self) -> str:
        """The name in words."""
        return self.name.replace("_", " ")

    @property
    def heading(self) -> str:
        """The title, or the name where there is none."""
        return self.title or capital(self.words)

    def row_name(self, label: str) -> str:
        """What a row is about, in words."""
        return self.names.get(label, label.replace("_", " "))

    def moved(self) -> "Description":
        """The same of what was asked by what heads move instead of where they look; its arrays end in `_moved`."""
        return replace(
            self,
            name=f"{self.name}{MOVED}",
            title=f"{self.heading.rstrip('?')}, by what heads move{'?' if self.heading.endswith('?') else ''}",
            question=" ".join(filter(None, (self.question, _BY_MOVED))),
            outlook=self.outlook and f"{self.outlook}, by what they move",
            group=f"{self.group or self.heading}, moved",
            arrays={
                f"{name}{MOVED}": replace(
                    text, title=f"{text.title}, moved", unit=text.unit.replace("attention", "what is moved")
                )
                for name, text in self.arrays.items()
            },
            every_head=None if self.every_head is None else self.every_head.moved(),
            sentences=None if self.sentences is None else self.sentences.moved(),
        )

    def to_data(self) -> dict[str, Any]:
        """As JSON takes it, without what is as usual."""
        data: dict[str, Any] = _data(self)
        return data


def direction_name(direction: object) -> str:
    """Which way a head looks, in words."""
    return str(direction).replace("_to_", " to ").replace("_", " ")


def _data(thing: Any) -> Any:
    """Plain data, without fields that are as usual."""
    if is_dataclass(thing):
        values = {field.name: (getattr(thing, field.name), _usual(field)) for field in fields(thing)}
        return {name: _data(value) for name, (value, usual) in values.items() if value != usual}
    if isinstance(thing, Mapping):
        return {str(key): _data(value) for key, value in thing.items()}
    return [_data(item) for item in thing] if isinstance(thing, tuple) else thing


def _usual(of: Field[Any]) -> Any:
    return of.default if of.default_factory is MISSING else of.default_factory()


def described_in(module: str, kind: Callable[..., Description] = Description) -> Description:
    """What the TOML file beside a module says; `kind` makes the description of its fields."""
    return from_data(kind, beside(module))


def from_data(kind: Callable[..., T], data: Mapping[str, Any]) -> T:
    """A dataclass from plain data, as `Description.to_data` writes it; TypeError or ValueError for anything else.

    So are the dataclasses in it, by the types of its fields. Keys that a later version added are passed over.
    """
    of: Any = kind  # not Hashable, by its types
    hints = _hints(of)
    return kind(**{name: _read(hints[name], value) for name, value in dict(data).items() if name in hints})


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _read(kind: Any, data: Any) -> Any:
    """Plain data as the type says."""
    if get_origin(kind) is UnionType:
        kind = type(None) if data is None else get_args(kind)[0]
    if isinstance(kind, type) and is_dataclass(kind):
        return from_data(kind, data)
    if get_origin(kind) is tuple:
        return tuple(_read(get_args(kind)[0], item) for item in data)
    if get_origin(kind) is not None and isinstance(data, dict):
        return {str(key): _read(get_args(kind)[1], value) for key, value in data.items()}
    if isinstance(kind, type) and not isinstance(data, (int, float) if kind is float else kind):
        raise TypeError(f"{data!r} is not {kind.__name__}")
    return data


class Described(Protocol):
    """A probe: a class with a description of what its results say."""

    description: ClassVar[Description]


PROBES: Registry[type[Described]] = Registry("probe", home="headscope.probes")
"""The probes by name; other packages add theirs by decorator, or by an entry point in `headscope.probes`."""

_AGAINST = "_against"
"""How the names of arrays end that are about a second model."""


@once
def descriptions(atlas: "Atlas") -> dict[str, Description]:
    """The descriptions of all that was found in an atlas beside its measures, by name."""
    return {name: _description(name, facts) for name, facts in atlas.probes.items()}


def description_of(atlas: "Atlas", probe: str) -> Description:
    """How to speak of what a probe found; the registry's word for an atlas of an older headscope."""
    return descriptions(atlas).get(probe) or _description(probe, {})


def _description(name: str, facts: Mapping[str, Any]) -> Description:
    try:
        return from_data(Description, facts["description"])
    except (KeyError, TypeError, ValueError, AttributeError):  # an atlas from elsewhere may hold anything
        pass
    return PROBES.get(name).description if name in BUILT_IN["probe"] else Description(name)


def array_text(atlas: "Atlas", measure: str) -> ArrayText | None:
    """What an array of a probe holds; None for a measure, and for what no probe describes."""
    whole = measure.removesuffix("_stderr")
    looked = whole.removesuffix(MOVED)
    base = looked.removesuffix(_AGAINST) + whole[len(looked) :]
    texts = (described.arrays.get(base) for described in descriptions(atlas).values())
    return next((text for text in texts if text is not None), None)
