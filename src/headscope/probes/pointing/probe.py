"""The probe over heads that point: choose the best head of every label on one part, score it on another."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from headscope.atlas import Example
from headscope.errors import OptionError, TextError
from headscope.facts.description import FEW_CASES
from headscope.models import Model, load
from headscope.probes.at_work import AtWork, AtWorkTally, Question
from headscope.probes.halves import SCORE, SELECT
from headscope.probes.observe import Observer, Tally
from headscope.probes.pointing.result import PointingResult, choose
from headscope.probes.pointing.scoring import ALL, Pointing, PointingTally
from headscope.probes.pointing.watching import Account, Reading, numbered, selection
from headscope.probes.predict import Answers, PredictTally
from headscope.probes.result import Source
from headscope.run.options import BatchSize
from headscope.stats.documents import FEWEST_DOCUMENTS
from headscope.text.skipped import Skipped
from headscope.types import HeadId, StackName

"""Labels with fewer cases than this are named in a note: their numbers say little."""


class Data(Protocol):
    """Annotated texts from files."""

    name: str
    annotator: str | None
    skipped: Skipped

    @property
    def progress(self) -> float | None:
        """Share of the files read so far."""


DataT = TypeVar("DataT", bound=Data)


class PointingProbe(ABC, Generic[DataT]):
    """Chooses the best head for every label, and scores it on texts that took no part in the choice."""

    probe: ClassVar[str]
    label_name: ClassVar[str]
    directions: ClassVar[tuple[str, str]]
    baseline_labels: ClassVar[tuple[str, ...] | tuple[int, ...]]
    fewest_documents: ClassVar[int] = FEWEST_DOCUMENTS
    """With cases in fewer documents, the errors of a label are over texts."""
    chosen_things: ClassVar[str] = "best heads"
    """What is chosen on one half, in words."""
    result_kind: ClassVar[type[PointingResult]]

    def __init__(
        self,
        model: Model | str | os.PathLike[str],
        *,
        max_length: int | None = None,
        batch_size: BatchSize = "auto",
        faithful: bool = False,
        progress: bool = False,
    ) -> None:
        """A model or its name. `max_length` is the most tokens of a text, by default what the model takes.

        `faithful` takes attention from a split word's first piece, as the released code of Clark et al. does.
        """
        self.model = model if isinstance(model, Model) else load(model)
        self.faithful = faithful
        self.observer = Observer(self.model, max_length=max_length, batch_size=batch_size, progress=progress)
        self._fitted: dict[StackName, PointingTally] | None = None
        self._fitted_on = self._fitted_hash = ""
        self._fit_notes: list[str] = []

    @abstractmethod
    def items(self, data: DataT, half: int | None) -> Iterable[Pointing]:
        """The texts of the data with their cases, all for one half, or dealt out to both for None."""

    @abstractmethod
    def options(self) -> dict[str, object]:
        """What else was asked for, for the provenance."""

    @property
    @abstractmethod
    def dealt(self) -> str:
        """What the halves of the data read last were made of: document, sentence."""

    def fit(self, data: DataT) -> Self:
        """Choose the best head of every label on this data."""
        tallies = self._empty()
        done = self._observe(data, SELECT, tallies)
        tally = next(iter(tallies.values()))
        if not tally.accuracy[SELECT].count(ALL):
            raise TextError(f"{data.name} has no case to choose on: {self._nothing_to_score()}")
        self._fitted, self._fitted_on = tallies, data.name
        self._fitted_hash = done.account.digest.hexdigest()
        self._fit_notes = [f"in {data.name}: {note}" for note in self._losses(tally, done)]
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
            tally.merge(selection(self._fitted[stack]))
        return self._result(data, tallies, done, started, chosen=self._fitted_on, scores_all=False)

    def fit_score(self, data: DataT) -> PointingResult:
        """Choose on one half of the documents and score on the other, in one pass."""
        started = perf_counter()
        tallies = self._empty()
        done = self._observe(data, None, tallies)
        self._fitted = tallies
        self._fit_notes = []
        self._fitted_on = f"half of the {self.dealt}s of {data.name}"
        self._fitted_hash = done.account.digest.hexdigest()
        return self._result(data, tallies, done, started, chosen=self._fitted_on, scores_all=True)

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
        place = self._stack(stack)
        tally = PredictTally(self._question(data, label, head, direction, place), faithful=self.faithful)
        self._observe(data, SCORE, {place: tally})
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
        place = self._stack(stack)
        asked = self._question(data, label, head, direction, place)
        tally = AtWorkTally(asked, most=most, faithful=self.faithful)
        self._observe(data, SCORE, {place: tally})
        found = tally.result()
        if not found.right and not found.wrong:
            raise TextError(f"{data.name} has no case of {label!r} that the model could be asked about")
        return found

    def _question(
        self,
        data: DataT,
        label: str,
        head: HeadId | str | None,
        direction: str | None,
        stack: StackName,
    ) -> Question:
        if direction is not None and direction not in self.directions:
            raise OptionError(f"{direction!r} is no direction; choose from {', '.join(self.directions)}")
        if head is not None and direction is not None:
            way = self.directions.index(direction)
            chosen = head if isinstance(head, HeadId) else HeadId.parse(head)
        else:
            if self._fitted is None:
                self.fit(data)
            assert self._fitted is not None
            shares = self._fitted[stack].accuracy[SELECT].shares(label)  # (direction, layer, head)
            if np.isnan(shares).any():
                known = [one for one in self._fitted[stack].accuracy[SELECT].labels if one != ALL]
                raise OptionError(
                    f"there is no {self.label_name} {label!r}; there are {', '.join(sorted(known))}"
                )
            chosen, way = self._best(shares, head, direction)
        grid = next(grid for grid in self.observer.grids if grid.stack == stack)
        if chosen.layer >= grid.layers or chosen.head >= grid.heads:
            raise OptionError(
                f"there is no head {chosen}: the {stack} of {self.model.name} has {grid.layers} layers of "
                f"{grid.heads} heads, counted from 0"
            )
        return Question(self.probe, label, chosen, way, self.directions[way])

    def _best(
        self, shares: np.ndarray[Any, Any], head: HeadId | str | None, direction: str | None
    ) -> tuple[HeadId, int]:
        """The best cell among those that the head or the direction, if given, leaves."""
        allowed = np.ones_like(shares, dtype=bool)
        if direction is not None:
            allowed[1 - self.directions.index(direction)] = False
        if head is not None:
            one = head if isinstance(head, HeadId) else HeadId.parse(head)
            if one.layer >= shares.shape[1] or one.head >= shares.shape[2]:
                return one, 0  # told by the caller
            way = int(np.where(allowed, shares, -1.0)[:, one.layer, one.head].argmax())
            return one, way
        best = np.unravel_index(np.where(allowed, shares, -1.0).argmax(), shares.shape)
        return HeadId(int(best[1]), int(best[2])), int(best[0])

    def _stack(self, stack: StackName | None) -> StackName:
        names = [grid.stack for grid in self.observer.grids]
        if stack is not None and stack not in names:
            raise OptionError(
                f"{self.model.name} has no stack {stack!r} to probe; choose from {', '.join(names)}"
            )
        return stack or names[0]

    def _empty(self) -> dict[StackName, PointingTally]:
        return {
            grid.stack: PointingTally(
                grid,
                baselines=len(self.baseline_labels),
                faithful=self.faithful,
                fewest_documents=self.fewest_documents,
            )
            for grid in self.observer.grids
        }

    def _observe(
        self, data: DataT, half: int | None, tallies: Mapping[StackName, Tally[Pointing]]
    ) -> Reading:
        account = Account()
        seen = self.observer.observe(
            account.of(self.items(data, half)),
            {stack: [tally] for stack, tally in tallies.items()},
            name=data.name,
            share=lambda: data.progress,
        )
        return Reading(seen, account, data.skipped)

    def _result(
        self,
        data: DataT,
        tallies: dict[StackName, PointingTally],
        done: Reading,
        started: float,
        *,
        chosen: str,
        scores_all: bool,
    ) -> PointingResult:
        tally = next(iter(tallies.values()))
        if not tally.accuracy[SCORE].count(ALL):
            skipped = done.skipped.note()
            raise TextError(
                f"{data.name} has no case to score: {self._nothing_to_score()}{f' ({skipped})' if skipped else ''}"
            )
        source = Source(
            data=data.name,
            data_hash=done.account.digest.hexdigest(),
            annotator=data.annotator,
            texts=done.seen.texts,
            documents=done.account.documents,
            tokens=done.seen.tokens,
            texts_cut=done.seen.texts_cut,
            skipped=done.skipped.count,
            options={
                "chosen_on": chosen,
                "chosen_on_hash": f"sha256:{self._fitted_hash}",
                "max_length": self.observer.max_length,
                "faithful": self.faithful,
                **self.options(),
            },
            duration=0.0,
            notes=tuple(self._notes(data, tally, done, chosen, split=scores_all)),
        )
        # Reads the data again, and with that begins all counts of what was left out anew: after the notes.
        examples = self._exemplars(data, tallies)
        data.skipped = done.skipped
        return self.result_kind(
            self.model,
            replace(source, duration=perf_counter() - started),
            tallies,
            self.baseline_labels,
            chosen,
            scores_all,
            examples=examples,
        )

    def _nothing_to_score(self) -> str:
        return "give a file with more annotated texts"

    def _notes(
        self, data: DataT, tally: PointingTally, done: Reading, chosen: str, *, split: bool
    ) -> Iterator[str]:
        if data.annotator:
            yield f"the annotation is automatic, by {data.annotator}; its errors count against the heads"
        if split and not tally.accuracy[SELECT].count(ALL):
            yield f"{data.name} is too small to be split, so no head was chosen; give a second file (--select)"
        elif split:
            yield (
                f"{self.chosen_things} were chosen on {chosen} and scored on the other half; give a second file "
                "(--select) to choose on"
            )
        elif self._fitted_hash == done.account.digest.hexdigest():
            yield (
                f"{self.chosen_things} were chosen on the very texts they are scored on, which flatters them; choose "
                "on others"
            )
        yield from self._fit_notes
        yield from self._losses(tally, done)
        parts = (SELECT, SCORE) if split else (SCORE,)
        counts = {
            label: sum(tally.accuracy[half].count(label) for half in parts) for label in tally.first_seen
        }
        rare = [
            f"{label} ({count}, {tally.first_seen[label]})"
            for label, count in counts.items()
            if count < FEW_CASES
        ]
        if rare:
            yield f"fewer than {FEW_CASES} cases, so that the numbers say little: {', '.join(sorted(rare))}"

    def _losses(self, tally: PointingTally, done: Reading) -> Iterator[str]:
        """What of the data could not be used."""
        for skipped in (done.skipped, tally.lost):
            if note := skipped.note():
                yield note
        if done.seen.texts_cut:
            yield (
                f"{done.seen.texts_cut:,} of {done.seen.texts:,} {self.result_kind.unit} were longer than "
                f"{self.observer.max_length} tokens and were cut after a whole word"
            )

    def _exemplars(self, data: DataT, tallies: Mapping[StackName, PointingTally]) -> dict[str, list[Example]]:
        """For every label the text that shows its best head best: found in the pass, shown again for its weights."""
        wanted: dict[StackName, list[AtWorkTally]] = {}
        numbers: set[int] = set()
        for stack, tally in tallies.items():
            wanted[stack] = []
            for label in tally.exemplars.labels:
                choice = choose(tally.accuracy[SELECT], label)
                if choice is None:
                    continue
                spot = tally.exemplars.spot(label, choice.direction, choice.head.layer, choice.head.head)
                if spot is not None:
                    numbers.add(spot.text)
                    asked = Question(
                        self.probe, label, choice.head, choice.direction, self.directions[choice.direction]
                    )
                    wanted[stack].append(
                        AtWorkTally(asked, most=1, readable_first=True, faithful=self.faithful)
                    )
        if not numbers:
            return {}
        half = SCORE  # the numbering is the same whatever the half
        chosen = numbered(self.items(data, half), numbers)
        self.observer.observe(chosen, wanted, name=None)
        return {
            stack: [one for tally in own for one in tally.result().right] for stack, own in wanted.items()
        }
