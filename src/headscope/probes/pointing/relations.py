"""Heads that tie a predicate to its arguments: how much attention passes between them, against a control.

For a pair of a predicate and one of its arguments (words `P` and words `A` of a sentence) and a head with word
attention `W[i, j]`, what word i gives word j,

    score(P, A) = max of W[p, a] over p in P, a in A       (predicate_to_argument; a to p for the other direction)

The **control** of the pair is the mean of the same score over the pair moved through its sentence: `P + k` and
`A + k` for every k but 0 that leaves both inside. These are all pairs at the same distance, in the same order and
of the same lengths, so nothing is drawn at random. A pair that fills its sentence has no control. (Where a predicate
has several words, one of them may come to stand on another, so that a cell of the pair is in its own control; that
makes the difference smaller, never larger.)

Means are over pairs, by role and over all; the difference `score - control` is taken pair by pair, and its standard
error is over documents where at least ten have such pairs, else over sentences. The best head of a role is the one
with the largest difference.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import attrgetter
from typing import ClassVar

from headscope.errors import OptionError
from headscope.facts.description import PROBES, described_in
from headscope.probes.halves import SCORE
from headscope.probes.pointing.cases import ALL, Pointing
from headscope.probes.pointing.pairs import Pair, PairBatch
from headscope.probes.pointing.probe import Fitted, PointingProbe, Reading
from headscope.probes.pointing.result import Count, PointingResult, Quantity
from headscope.probes.pointing.tally import PointingTally
from headscope.stats.intervals import mean_interval
from headscope.text.annotated.roles import Argument, Predicate, RoleCorpus

PAPER = {"max_words": 12, "max_argument": 3, "min_distance": 2}
"""What Kovaleva et al. kept of FrameNet."""


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

    def texts(self, predicates: Iterable[Predicate]) -> Iterator[Pointing]:
        """The sentences that have a pair that counts; the predicates of a sentence follow each other."""
        same = attrgetter("path", "name", "content")
        for _, group in groupby(predicates, key=same):
            rows = list(group)
            pairs = tuple(pair for row in rows for pair in self._pairs(row))
            if pairs:
                first = rows[0]
                places = {pair.asking: pair.where for pair in reversed(pairs)}
                name = first.name or first.where()
                yield Pointing(first.content, pairs, first.document, name, places.__getitem__)

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


DESCRIPTION = described_in(__file__)


@dataclass(frozen=True)
class RelationsResult(PointingResult):
    """Every head's attention between predicate and argument by role and direction, and each role's best head."""

    description = DESCRIPTION
    baseline_dim = None  # the control is taken off already
    quantities: ClassVar[Mapping[str, Quantity]] = {
        name: Quantity(f"relation_{name}", f"relation_overall_{name}", words)
        for name, words in (
            ("difference", "strongest attention minus its control,"),
            ("attention", "strongest attention between predicate and argument,"),
            ("control", "the same between other words of the sentence at that distance,"),
        )
    }
    counts: ClassVar[Mapping[str, Count]] = {
        "cases": Count("count", "attention", "how many pairs"),
        "compared": Count("compared", "difference", "how many pairs with a control"),
    }

    @staticmethod
    def interval(mean: float, error: float, cases: int, units: float) -> tuple[float, float]:
        """The 95 % interval of a difference; not known when all pairs are of one text."""
        return mean_interval(mean, error, units)


@PROBES.register("relations")
@dataclass(kw_only=True, eq=False)
class RelationsProbe(PointingProbe[RoleCorpus]):
    """Which head puts attention between predicates and their arguments, role by role.

        probe = RelationsProbe("demo")
        result = probe.fit_score(read_roles("roles.jsonl"))
        result.table()

    `fit` chooses for every role the head and direction with the largest difference between the attention and its
    control, `score` scores them on other data, `fit_score` does both on halves of one file. `examples` has the
    pairs where a predicate and its argument attend to each other most: right when no other word gets more.

    In a model that only looks back, a pair scores 0 in the direction that would look ahead, as does its control.

    Which pairs count: `max_words` is the longest sentence and `max_argument` the longest argument in words,
    `min_distance` how far the nearest words of predicate and argument must lie apart (neighbours: 1). `core_only`
    leaves out what is no core element in FrameNet and PropBank's modifiers, ARGM. `paper_filters` are those of Kovaleva
    et al. for FrameNet: 12, 3 and 2, where nothing else is given.
    """

    description = DESCRIPTION
    result_kind = RelationsResult
    batch_kind = PairBatch

    max_words: int | None = None
    max_argument: int | None = None
    min_distance: int | None = None
    core_only: bool = True
    paper_filters: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        limits: dict[str, int | None] = {name: getattr(self, name) for name in PAPER}
        if self.paper_filters:
            limits = {name: PAPER[name] if value is None else value for name, value in limits.items()}
        self.filters = Filters(**limits, core_only=self.core_only)
        self._sifted = Sifted(self.filters)

    def texts(self, data: RoleCorpus) -> Iterator[Pointing]:
        """The sentences that have pairs that count."""
        self._sifted = Sifted(self.filters)
        yield from self._sifted.texts(data)

    def options(self) -> dict[str, object]:
        """What else was asked for."""
        return asdict(self.filters)

    def _nothing_to_score(self) -> str:
        sifted = self._sifted
        if sifted.left_out:
            return (
                f"{sifted.left_out:,} of {sifted.read:,} pairs are left out, what counts are {self.filters}"
            )
        return super()._nothing_to_score()

    def _notes(
        self, data: RoleCorpus, tally: PointingTally, done: Reading, fitted: Fitted, *, split: bool
    ) -> Iterator[str]:
        yield from super()._notes(data, tally, done, fitted, split=split)
        sifted = self._sifted
        if sifted.left_out:
            yield f"{sifted.left_out:,} of {sifted.read:,} pairs are left out: what counts are {self.filters}"
        if sifted.core_unknown:
            yield (
                f"{sifted.core_unknown:,} pairs count although no file says whether they are core; FrameNet's frame "
                "folder, beside fulltext, would"
            )
        without = tally.means["attention"][SCORE].count(ALL) - tally.scores[SCORE].count(ALL)
        if without:
            yield (
                f"{without:,} scored pairs have no control, as they fit nowhere else in their sentence; they count "
                "in the attention, not in the difference"
            )
        if any(grid.causal for grid in self.observer.grids):
            yield "the model only looks back: a pair scores 0 in the direction that would look ahead"
