"""Pairs of a predicate and an argument: which of them count, sentence by sentence."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from headscope.errors import OptionError
from headscope.probes.pointing.scoring import Case
from headscope.text.annotated.roles import Argument, Predicate
from headscope.text.words import WordText

PAPER = {"max_words": 12, "max_argument": 3, "min_distance": 2}
"""What Kovaleva et al. kept of FrameNet."""


@dataclass(frozen=True)
class Pair(Case):
    """A predicate and one argument: `asking` is the predicate's first word, `right` are the argument's words."""

    predicate: tuple[int, ...] = ()
    # file:line; not in the repr, from which the data's hash is made: it is no matter where a file lies.
    where: str = field(default="", repr=False)


@dataclass(frozen=True)
class RoleSentence:
    """A sentence with all its pairs."""

    content: WordText
    pairs: tuple[Pair, ...]
    name: str  # its id, or where it stands
    document: int
    place: str  # file:line of its first predicate


@dataclass(frozen=True)
class Filters:
    """Which pairs count; None stands for no limit."""

    max_words: int | None = None
    max_argument: int | None = None
    min_distance: int | None = None
    core_only: bool = True

    def __post_init__(self) -> None:
        for name in PAPER:
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise OptionError(
                    f"{name} must be a whole number from 1, not {value!r}; leave it out for no limit"
                )

    def keep(self, predicate: Predicate, argument: Argument) -> bool:
        """Whether a pair counts. An argument of which nobody knows whether it is core counts as if it were."""
        return (
            not (self.core_only and argument.is_core is False)
            and (self.max_words is None or len(predicate.content) <= self.max_words)
            and (self.max_argument is None or len(argument.words) <= self.max_argument)
            and (self.min_distance is None or distance(predicate, argument) >= self.min_distance)
        )

    def __str__(self) -> str:
        """What counts, for a note."""
        parts = [
            (self.core_only, "core roles (core_only)"),
            (self.max_words, f"sentences of at most {self.max_words} words (max_words)"),
            (self.max_argument, f"arguments of at most {self.max_argument} (max_argument)"),
            (self.min_distance, f"pairs at least {self.min_distance} apart (min_distance)"),
        ]
        return ", ".join(text for is_set, text in parts if is_set)


@dataclass
class Sifted:
    """How many pairs were read, and what became of them."""

    filters: Filters
    read: int = 0
    left_out: int = 0
    core_unknown: int = 0

    def sentences(self, predicates: Iterable[Predicate]) -> Iterator[RoleSentence]:
        """The sentences that have a pair that counts; the predicates of a sentence follow each other."""
        for _, group in groupby(predicates, key=lambda one: (one.path, one.name, one.content)):
            rows = list(group)
            pairs = tuple(pair for row in rows for pair in self._pairs(row))
            if pairs:
                first = rows[0]
                name = first.name or first.where()
                yield RoleSentence(first.content, pairs, name, first.document, first.where())

    def _pairs(self, row: Predicate) -> Iterator[Pair]:
        for argument in row.arguments:
            self.read += 1
            if not self.filters.keep(row, argument):
                self.left_out += 1
                continue
            self.core_unknown += argument.is_core is None
            yield Pair(
                argument.label,
                row.predicate[0],
                tuple(argument.words),
                predicate=row.predicate,
                where=row.where(),
            )


def distance(predicate: Predicate, argument: Argument) -> int:
    """How many words the nearest words of the two lie apart; 1 for neighbours."""
    return min(abs(word - end) for word in predicate.predicate for end in (argument.start, argument.end - 1))
