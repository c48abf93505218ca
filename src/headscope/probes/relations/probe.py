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

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headscope.facts.description import PROBES
from headscope.models import Model
from headscope.probes.halves import SCORE, Turns
from headscope.probes.pointing.probe import PointingProbe
from headscope.probes.pointing.scoring import ALL, Pointing, PointingTally
from headscope.probes.pointing.watching import Reading
from headscope.probes.relations.pairs import PAPER, Filters, Pair, RoleSentence, Sifted
from headscope.probes.relations.result import RelationsResult
from headscope.probes.relations.tally import RelationsTally
from headscope.run.options import BatchSize
from headscope.text.annotated.roles import RoleCorpus
from headscope.text.words import WordText
from headscope.types import StackName


@dataclass(frozen=True)
class _Roles:
    """A sentence with its pairs, what it is for, and its place among all that were read."""

    sentence: RoleSentence
    half: int
    number: int

    @property
    def content(self) -> WordText:
        return self.sentence.content

    @property
    def document(self) -> int:
        return self.sentence.document

    @property
    def name(self) -> str:
        return self.sentence.name

    @property
    def cases(self) -> tuple[Pair, ...]:
        return self.sentence.pairs

    def where(self, word: int) -> str:
        return self.sentence.place


@PROBES.register("relations")
class RelationsProbe(PointingProbe[RoleCorpus]):
    """Which head puts attention between predicates and their arguments, role by role.

        probe = RelationsProbe("demo")
        result = probe.fit_score(read_roles("roles.jsonl"))
        result.table()

    `fit` chooses for every role the head and direction with the largest difference between the attention and its
    control, `score` scores them on other data, `fit_score` does both on halves of one file. `examples` has the
    pairs where a predicate and its argument attend to each other most: right when no other word gets more.

    In a model that only looks back, a pair scores 0 in the direction that would look ahead, as does its control.
    """

    probe = "relations"
    description = RelationsResult.description
    label_name = "role"
    directions = RelationsResult.directions
    baseline_labels = ()
    result_kind = RelationsResult

    def __init__(
        self,
        model: Model | str | os.PathLike[str],
        *,
        max_words: int | None = None,
        max_argument: int | None = None,
        min_distance: int | None = None,
        core_only: bool = True,
        paper_filters: bool = False,
        max_length: int | None = None,
        batch_size: BatchSize = "auto",
        faithful: bool = False,
        progress: bool = False,
    ) -> None:
        """Which pairs count, and how they are shown to the model; for the latter see PointingProbe.

        `max_words` is the longest sentence and `max_argument` the longest argument in words, `min_distance` how far
        the nearest words of predicate and argument must lie apart (neighbours: 1). `core_only` leaves out what is
        no core element in FrameNet and PropBank's modifiers, ARGM. `paper_filters` are those of Kovaleva et al. for
        FrameNet: 12, 3 and 2, where nothing else is given.
        """
        super().__init__(
            model, max_length=max_length, batch_size=batch_size, faithful=faithful, progress=progress
        )
        limits = {"max_words": max_words, "max_argument": max_argument, "min_distance": min_distance}
        if paper_filters:
            limits = {name: PAPER[name] if value is None else value for name, value in limits.items()}
        self.filters = Filters(**limits, core_only=core_only)
        self._turns: Turns[RoleSentence] = Turns([], kind="sentence")
        self._sifted = Sifted(self.filters)

    @property
    def dealt(self) -> str:
        """What the halves of the data read last were made of."""
        return self._turns.unit

    def items(self, data: RoleCorpus, half: int | None) -> Iterable[Pointing]:
        """The sentences that have pairs that count."""
        self._sifted = Sifted(self.filters)
        self._turns = Turns(self._sifted.sentences(data), kind="sentence")
        if half is None:
            return (_Roles(*placed) for placed in self._turns)
        return (_Roles(one, half, number) for number, one in enumerate(self._turns.texts))

    def options(self) -> dict[str, object]:
        """What else was asked for."""
        filters = self.filters
        return {
            "max_words": filters.max_words,
            "max_argument": filters.max_argument,
            "min_distance": filters.min_distance,
            "core_only": filters.core_only,
        }

    def _empty(self) -> dict[StackName, PointingTally]:
        return {grid.stack: RelationsTally(grid, faithful=self.faithful) for grid in self.observer.grids}

    def _nothing_to_score(self) -> str:
        sifted = self._sifted
        if sifted.left_out:
            return (
                f"{sifted.left_out:,} of {sifted.read:,} pairs are left out, what counts are {self.filters}"
            )
        return super()._nothing_to_score()

    def _notes(
        self, data: RoleCorpus, tally: PointingTally, done: Reading, chosen: str, *, split: bool
    ) -> Iterator[str]:
        yield from super()._notes(data, tally, done, chosen, split=split)
        assert isinstance(tally, RelationsTally)
        sifted = self._sifted
        if sifted.left_out:
            yield f"{sifted.left_out:,} of {sifted.read:,} pairs are left out: what counts are {self.filters}"
        if sifted.core_unknown:
            yield (
                f"{sifted.core_unknown:,} pairs count although no file says whether they are core; FrameNet's frame "
                "folder, beside fulltext, would"
            )
        without = tally.attention[SCORE].count(ALL) - tally.accuracy[SCORE].count(ALL)
        if without:
            yield (
                f"{without:,} scored pairs have no control, as they fit nowhere else in their sentence; they count "
                "in the attention, not in the difference"
            )
        if any(grid.causal for grid in self.observer.grids):
            yield "the model only looks back: a pair scores 0 in the direction that would look ahead"
