"""The probe over heads that point: choose the best head of every label on one part, score it on another."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from time import perf_counter
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np

from headscope.atlas import Example
from headscope.errors import OptionError, TextError
from headscope.facts.description import FEW_CASES, Description
from headscope.models import loaded
from headscope.probes.halves import HALVES, SCORE, SELECT, Turns
from headscope.probes.observe import Account, Observer, Tally, WordProbe, check_head_in
from headscope.probes.pointing.answers import Answers, AtWork, AtWorkTally, PredictTally, Question
from headscope.probes.pointing.cases import ALL, DIRECTIONS, CaseBatch, Pointing, PointingBatch
from headscope.probes.pointing.result import PointingResult, choose
from headscope.probes.pointing.tally import PointingTally
from headscope.stats.documents import FEWEST_DOCUMENTS
from headscope.text.annotated.files import AnnotatedFiles
from headscope.text.skipped import Skipped
from headscope.types import Array, HeadId, StackName

DataT = TypeVar("DataT", bound=AnnotatedFiles)


@dataclass
class Reading(Account):
    """One pass over the data."""

    skipped: Skipped = field(default_factory=lambda: Skipped("texts"))
    """What the reader left out in this pass; a later one starts a new count."""


@dataclass(frozen=True)
class Fitted:
    """What heads are chosen by, and what of: its name, its hash, and what of it could not be used."""

    tallies: Mapping[StackName, PointingTally]
    data: str
    data_hash: str
    notes: tuple[str, ...] = ()


@dataclass(kw_only=True, eq=False)
class PointingProbe(WordProbe, ABC, Generic[DataT]):
    """Chooses the best head for every label, and scores it on texts that took no part in the choice.

    A probe says in `texts` who asks and what would be right, and in `result_kind` what its numbers are called. Its
    options are those of WordProbe; `faithful` takes attention from a split word's first piece, as the released code of
    Clark et al. does.
    """

    description: ClassVar[Description]
    result_kind: ClassVar[type[PointingResult]]
    batch_kind: ClassVar[type[CaseBatch]] = PointingBatch
    """What is measured of a batch's cases."""
    baseline_labels: ClassVar[tuple[str, ...] | tuple[int, ...]] = ()
    fewest_documents: ClassVar[int] = FEWEST_DOCUMENTS
    """With cases in fewer documents, the errors of a label are over texts."""
    chosen_things: ClassVar[str] = "best heads"
    """What is chosen on one half, in words."""

    def __post_init__(self) -> None:
        self.model = model = loaded(self.model)
        self.observer = Observer(
            model,
            max_length=self.max_length,
            batch_size=self.batch_size,
            weigh=self.weigh,
            progress=self.progress,
        )
        self._fitted: Fitted | None = None
        self._dealt = ""  # what the halves of the data read last were made of: document, sentence

    @abstractmethod
    def texts(self, data: DataT) -> Iterable[Pointing]:
        """The texts of the data with their cases."""

    def options(self) -> dict[str, object]:
        """What else was asked for, for the provenance."""
        return {}

    def items(self, data: DataT, half: int | None) -> Iterator[Pointing]:
        """The texts in their places, all for one half, or dealt out to both for None."""
        turns = Turns(islice(self.texts(data), self.limit), kind=self.result_kind.unit.removesuffix("s"))
        placed: Iterable[tuple[Pointing, int, int]] = turns
        if half is not None:
            placed = ((text, half, number) for number, text in enumerate(turns.texts))
        for text, own_half, number in placed:
            self._dealt = turns.unit
            yield replace(text, half=own_half, number=number)

    def fit(self, data: DataT) -> Self:
        """Choose the best head of every label on this data."""
        tallies = self._empty()
        done = self._observe(data, SELECT, tallies)
        tally = next(iter(tallies.values()))
        if not tally.scores[SELECT].count(ALL):
            raise TextError(f"{data.name} has no case to choose on: {self._nothing_to_score()}")
        notes = tuple(f"in {data.name}: {note}" for note in self._losses(tally, done))
        self._fitted = Fitted(tallies, data.name, done.data_hash, notes)
        return self

    def score(self, data: DataT) -> PointingResult:
        """Score every head on this data, and the best ones as `fit` chose them."""
        if self._fitted is None:
            raise OptionError(
                "nothing is chosen yet; call fit(data) first, or fit_score(data) to split one file"
            )
        started = perf_counter()
        tallies = self._empty()
        done = self._observe(data, SCORE, tallies)
        for stack, tally in tallies.items():
            tally.choose_by(self._fitted.tallies[stack])
        return self._result(data, tallies, done, self._fitted, started, split=False)

    def fit_score(self, data: DataT) -> PointingResult:
        """Choose on one half of the documents and score on the other, in one pass."""
        started = perf_counter()
        tallies = self._empty()
        done = self._observe(data, None, tallies)
        chosen_on = f"half of the {self._dealt}s of {data.name}"
        self._fitted = Fitted(tallies, chosen_on, done.data_hash)
        return self._result(data, tallies, done, self._fitted, started, split=True)

    def predict(
        self,
        data: DataT,
        label: str = ALL,
        *,
        head: HeadId | str | None = None,
        direction: str | None = None,
        stack: StackName | None = None,
    ) -> list[Answers]:
        """For every text the word that the best head of a label (or the one given) chooses for each that asks.

        A dict a text, from the number of the asking word to that of the chosen one. A word for which the head
        sees no candidate is not in it.
        """
        question, probed = self._ask(data, label, head, direction, stack)
        tally = PredictTally(question, faithful=self.faithful)
        self._observe(data, SCORE, {probed: tally})
        return tally.result()

    def examples(
        self,
        data: DataT,
        label: str = ALL,
        *,
        head: HeadId | str | None = None,
        direction: str | None = None,
        stack: StackName | None = None,
        most: int = 5,
    ) -> AtWork:
        """The cases of a label where a head is most sure and right, and most sure and wrong.

        Without a head: the best one for the label, which is looked for in the same data if nothing was fitted.
        """
        if most < 1:
            raise OptionError(f"most must be at least 1, not {most}")
        question, probed = self._ask(data, label, head, direction, stack)
        tally = AtWorkTally(question, most=most, faithful=self.faithful)
        self._observe(data, SCORE, {probed: tally})
        at_work = tally.result()
        if not at_work.right and not at_work.wrong:
            raise TextError(f"{data.name} has no case of {label!r} that the model could be asked about")
        return at_work

    def _ask(
        self,
        data: DataT,
        label: str,
        head: HeadId | str | None,
        direction: str | None,
        stack: StackName | None,
    ) -> tuple[Question, StackName]:
        """The question to a head, and the head's stack; what is left open is chosen by what was fitted."""
        directions = self.result_kind.directions
        grid = self.observer.grid(stack)
        if direction is not None and direction not in directions:
            raise OptionError(f"{direction!r} is no direction; choose from {', '.join(directions)}")
        wanted = HeadId.parse(head) if isinstance(head, str) else head
        if wanted is not None:
            check_head_in(grid, wanted, f"the {grid.stack} of {self.observer.model.name}")
        is_allowed = np.zeros((DIRECTIONS, *grid.shape), dtype=bool)
        way = slice(None) if direction is None else directions.index(direction)
        is_allowed[(way, *((...,) if wanted is None else (wanted.layer, wanted.head)))] = True
        means = np.where(is_allowed, 0.0, -np.inf)
        if is_allowed.sum() > 1:
            means += self._chosen_by(data, label, grid.stack)
        best = [int(place) for place in np.unravel_index(means.argmax(), means.shape)]
        return self._question(label, HeadId(best[1], best[2]), best[0]), grid.stack

    def _chosen_by(self, data: DataT, label: str, stack: StackName) -> Array:
        """(direction, layer, head) what a label's best head is chosen by; on this data if nothing was fitted."""
        if self._fitted is None:
            self.fit(data)
        assert self._fitted is not None
        scores = self._fitted.tallies[stack].scores[SELECT]
        if not scores.count(label):
            known = ", ".join(sorted(set(scores.labels) - {ALL}))
            raise OptionError(f"there is no {self.result_kind.label_name} {label!r}; there are {known}")
        return scores.mean(label)

    def _question(self, label: str, head: HeadId, direction: int) -> Question:
        return Question(
            self.result_kind.probe, label, head, direction, self.result_kind.directions[direction]
        )

    def _empty(self) -> dict[StackName, PointingTally]:
        return {
            grid.stack: PointingTally(
                grid,
                batch_kind=self.batch_kind,
                baselines=len(self.baseline_labels),
                faithful=self.faithful,
                fewest_documents=self.fewest_documents,
            )
            for grid in self.observer.grids
        }

    def _observe(
        self, data: DataT, half: int | None, tallies: Mapping[StackName, Tally[Pointing]]
    ) -> Reading:
        reading = Reading()
        reading.seen = self.observer.observe(
            reading.of(self.items(data, half)),
            {stack: [tally] for stack, tally in tallies.items()},
            name=data.name,
            share=lambda: data.progress,
            limit=self.limit,
        )
        reading.skipped = data.skipped
        return reading

    def _result(
        self,
        data: DataT,
        tallies: dict[StackName, PointingTally],
        done: Reading,
        fitted: Fitted,
        started: float,
        *,
        split: bool,
    ) -> PointingResult:
        tally = next(iter(tallies.values()))
        if not tally.scores[SCORE].count(ALL):
            skipped = done.skipped.note()
            raise TextError(
                f"{data.name} has no case to score: {self._nothing_to_score()}{f' ({skipped})' if skipped else ''}"
            )
        source = done.source(
            data,
            options={
                "chosen_on": fitted.data,
                "chosen_on_hash": f"sha256:{fitted.data_hash}",
                **self._settings(self.observer.max_length),
                **self.options(),
            },
            duration=0.0,
            notes=self._notes(data, tally, done, fitted, split=split),
        )
        # Reads the data again, and with that begins all counts of what was left out anew: after the notes.
        examples = self._exemplars(data, tallies)
        data.skipped = done.skipped
        return self.result_kind(
            self.observer.model,
            replace(source, duration=perf_counter() - started),
            tallies,
            self.baseline_labels,
            fitted.data,
            split,
            examples=examples,
        )

    def _nothing_to_score(self) -> str:
        return "give a file with more annotated texts"

    def _notes(
        self, data: DataT, tally: PointingTally, done: Reading, fitted: Fitted, *, split: bool
    ) -> Iterator[str]:
        if data.annotator:
            yield f"the annotation is automatic, by {data.annotator}; its errors count against the heads"
        if split and not tally.scores[SELECT].count(ALL):
            yield f"{data.name} is too small to be split, so no head was chosen; give a second file (--select)"
        elif split:
            yield (
                f"{self.chosen_things} were chosen on {fitted.data} and scored on the other half; give a second file "
                "(--select) to choose on"
            )
        elif fitted.data_hash == done.data_hash:
            yield (
                f"{self.chosen_things} were chosen on the same texts they are scored on, which inflates their scores; "
                "choose on others"
            )
        yield from fitted.notes
        yield from self._losses(tally, done)
        halves = HALVES if split else (SCORE,)
        rare = [
            f"{label} ({count}, {where})"
            for label, where in tally.first_seen.items()
            if (count := sum(tally.scores[half].count(label) for half in halves)) < FEW_CASES
        ]
        if rare:
            yield f"fewer than {FEW_CASES} cases, too few to say much: {', '.join(sorted(rare))}"

    def _losses(self, tally: PointingTally, done: Reading) -> Iterator[str]:
        """What of the data could not be used."""
        cut = done.seen.cut_note(self.result_kind.unit, self.observer.max_length)
        yield from filter(None, (done.skipped.note(), tally.lost.note(), cut))

    def _exemplars(self, data: DataT, tallies: Mapping[StackName, PointingTally]) -> dict[str, list[Example]]:
        """For every label the text that shows its best head best: found in the pass, shown again for its weights."""
        wanted: dict[StackName, list[AtWorkTally]] = {stack: [] for stack in tallies}
        numbers: set[int] = set()
        for stack, tally in tallies.items():
            for label in tally.exemplars.labels:
                choice = choose(tally.scores[SELECT], label)
                spot = None if choice is None else tally.exemplars.spot(label, *choice.place)
                if choice is not None and spot is not None:
                    numbers.add(spot.text)
                    asked = self._question(label, choice.head, choice.direction)
                    wanted[stack].append(
                        AtWorkTally(asked, most=1, readable_first=True, faithful=self.faithful)
                    )
        if not numbers:
            return {}
        # The numbering is the same whatever the half; what comes after the last text is not read.
        up_to_last = islice(self.items(data, SCORE), max(numbers) + 1)
        self.observer.observe((text for text in up_to_last if text.number in numbers), wanted, name=None)
        return {
            stack: [example for tally in own for example in tally.result().right]
            for stack, own in wanted.items()
        }
