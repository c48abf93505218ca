"""Attention to nouns, verbs, pronouns, subjects, objects, negation words, [CLS] and [SEP], head by head."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter
from typing import ClassVar, Self

from headscope.accumulator import Sums
from headscope.capture.observe import edits_of
from headscope.errors import OptionError
from headscope.facts.description import FEW_CASES, PROBES, Description
from headscope.models import Model, load
from headscope.probes.features.classes import FEATURES, FeatureText
from headscope.probes.features.result import DESCRIPTION, FeaturesResult, StackSums
from headscope.probes.features.sums import FeatureSums
from headscope.probes.features.tally import QUANTITIES, FeatureTally
from headscope.probes.observe import Observer, Pass
from headscope.probes.result import Source
from headscope.run.one_pass import run_pass, whole
from headscope.run.options import BatchSize
from headscope.run.reader import expected_texts
from headscope.text.annotated.treebank import ParsedSentence, Treebank
from headscope.text.skipped import Skipped
from headscope.types import HeadGrid, StackName

"""Classes that fewer texts have are named in a note: their numbers say little."""

# Texts go through both models a few hundred at a time, so that their own numbers can be compared.
HELD_BYTES = 16 << 20
MOST_HELD = 1024

ModelName = Model | str | os.PathLike[str]


@PROBES.register("features")
class FeaturesProbe:
    """How much attention every head gives to classes of words and to [CLS] and [SEP] (Kovaleva et al. 2019).

    A token's attention is the mean over all queries of what they give it. A class's is that of its most attended
    token in a text, and then the mean over the texts that have the class.

        result = FeaturesProbe("demo", against="demo-mrpc").score(read_treebank("dev.conllu"))
        result.table()
    """

    description: ClassVar[Description] = DESCRIPTION

    def __init__(
        self,
        model: ModelName,
        *,
        against: ModelName | None = None,
        max_length: int | None = None,
        batch_size: BatchSize = "auto",
        faithful: bool = False,
        progress: bool = False,
    ) -> None:
        """A model or its name, and with `against` a second one of the same shape, to see what changed.

        The second model may have a tokenizer of its own: texts are compared, not tokens. `max_length` is the most
        tokens of a text, by default what both models take. `faithful` changes nothing: the published form of
        `feature_attention` is the only one.
        """
        self.model = _loaded(model)
        self.against = None if against is None else _loaded(against)
        self.faithful = faithful
        self.progress = progress
        self._observers = [Observer(self.model, max_length=max_length, batch_size=batch_size)]
        if self.against is not None:
            second = Observer(self.against, max_length=max_length, batch_size=batch_size)
            self._observers.append(second)
            _check_alike(*self._observers)
            longest = min(observer.max_length for observer in self._observers)
            self._observers = [
                Observer(observer.model, max_length=longest, batch_size=batch_size)
                if observer.max_length > longest
                else observer
                for observer in self._observers
            ]

    def fit(self, data: Treebank) -> Self:
        """Nothing is learned."""
        return self

    def score(self, data: Treebank) -> FeaturesResult:
        """Every head's attention to each class over the sentences of a treebank."""
        started = perf_counter()
        reading = _Reading()
        run = _Run(self._observers)
        name = self.model.name if self.against is None else f"{self.model.name} and {self.against.name}"
        counted = run_pass(
            whole(reading.of(data)),
            run.empty(),
            run.count,
            batches=run.chunks,
            title=f"{name} on {data.name}" if self.progress else None,
            expected=lambda done: expected_texts(done, done, data.progress),
        )
        seen = counted.passes[0]
        source = Source(
            data=data.name,
            data_hash=reading.digest.hexdigest(),
            annotator=data.annotator,
            texts=seen.texts,
            documents=reading.documents,
            tokens=seen.tokens,
            texts_cut=seen.texts_cut,
            skipped=data.skipped.count,
            options=self._options(),
            duration=perf_counter() - started,
            notes=tuple(self._notes(data, run, counted)),
        )
        return FeaturesResult(self.model, source, counted.stacks, self.against)

    def _options(self) -> dict[str, object]:
        options: dict[str, object] = {
            "max_length": self._observers[0].max_length,
            "faithful": self.faithful,
            "against": None,
        }
        if self.against is not None:
            options |= {
                "against": self.against.name,
                "against_weights_hash": f"sha256:{self.against.weights_hash}",
            }
            edits = edits_of(self.against.network)
            options |= {"against_edits": list(edits)} if edits else {}
        return options

    def _notes(self, data: Treebank, run: "_Run", counted: "_Counted") -> Iterator[str]:
        if data.annotator:
            yield f"the annotation is automatic, by {data.annotator}; its errors count as the heads' own"
        if note := data.skipped.note():
            yield note
        yield from run.notes(counted)
        if counted.split_differently:
            yield (
                f"the two models split {counted.split_differently:,} of {counted.passes[0].texts:,} sentences into "
                "different numbers of tokens, which alone changes attention per token; trust preference before "
                "attention"
            )
        if self.faithful:
            yield "faithful changes nothing in this probe: feature_attention is the published form as it is"
        yield from _rare(counted.stacks)


def _rare(stacks: Mapping[StackName, StackSums]) -> Iterator[str]:
    for stack, sums in stacks.items():
        of = f"in the {stack}, " if len(stacks) > 1 else ""
        counts = dict(zip(FEATURES, (int(count) for count in sums.model.texts), strict=True))
        if none := [feature for feature, count in counts.items() if not count]:
            yield f"{of}no sentence has a token of: {', '.join(none)}"
        if few := [f"{feature} ({count})" for feature, count in counts.items() if 0 < count < FEW_CASES]:
            yield f"{of}fewer than {FEW_CASES} sentences, so that the numbers say little: {', '.join(few)}"


@dataclass
class _Counted(Sums):
    """What one or two models did with the texts."""

    stacks: Mapping[StackName, StackSums]
    passes: tuple[Pass, ...]
    lost: tuple[Skipped, ...]
    split_differently: int = 0


class _Run:
    """One or two models over the same texts, some hundred at a time."""

    def __init__(self, observers: list[Observer]) -> None:
        self.observers = observers
        self.grids = observers[0].grids
        cells = len(QUANTITIES) * len(FEATURES) * sum(grid.layers * grid.heads for grid in self.grids)
        self.texts_held = max(1, min(MOST_HELD, HELD_BYTES // (4 * cells)))

    def empty(self) -> _Counted:
        """Nothing counted yet."""
        return _Counted(
            {grid.stack: _sums(grid, pair=len(self.observers) > 1) for grid in self.grids},
            tuple(Pass() for _ in self.observers),
            tuple(Skipped("words") for _ in self.observers),
        )

    def chunks(self, texts: Iterable[FeatureText]) -> Iterator[list[FeatureText]]:
        """As many texts at a time as may be held."""
        stream = iter(texts)
        while chunk := list(islice(stream, self.texts_held)):
            yield chunk

    def count(self, part: _Counted, texts: list[FeatureText]) -> None:
        """Show the texts to each model, and count."""
        values = []
        for observer, done, lost in zip(self.observers, part.passes, part.lost, strict=True):
            tallies = {grid.stack: FeatureTally(grid) for grid in observer.grids}
            done.merge(observer.observe(texts, {stack: [tally] for stack, tally in tallies.items()}))
            lost.merge(next(iter(tallies.values())).lost)
            values.append({stack: tally.result() for stack, tally in tallies.items()})
        for stack, sums in part.stacks.items():
            first = values[0][stack]
            sums.model.add(first)
            if sums.against is not None and sums.change is not None:
                second = values[1][stack]
                sums.against.add(second)
                sums.change.add(second.minus(first))
        if len(values) > 1:
            stack = next(iter(part.stacks))
            part.split_differently += int((values[0][stack].tokens != values[1][stack].tokens).sum())

    def notes(self, counted: _Counted) -> Iterator[str]:
        """What each model could not use, once where it is the same for both."""
        cut = [
            f"{seen.texts_cut:,} of {seen.texts:,} sentences were longer than {observer.max_length} tokens and were "
            "cut after a whole word"
            if seen.texts_cut
            else None
            for observer, seen in zip(self.observers, counted.passes, strict=True)
        ]
        for by_model in ([lost.note() for lost in counted.lost], cut):
            if len(set(by_model)) == 1:
                yield from filter(None, by_model[:1])
                continue
            for observer, note in zip(self.observers, by_model, strict=True):
                if note is not None:
                    yield f"{observer.model.name}: {note}"


@dataclass
class _Reading:
    """What was read: a digest, and how many documents."""

    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    documents: int = 0

    def of(self, sentences: Iterable[ParsedSentence]) -> Iterator[FeatureText]:
        document: int | None = None
        for number, sentence in enumerate(sentences):
            self.documents += sentence.document != document
            document = sentence.document
            text = FeatureText(sentence, number)
            self.digest.update(f"{text.content.text}\0{text.targets!r}\n".encode())
            yield text


def _loaded(model: ModelName) -> Model:
    return model if isinstance(model, Model) else load(model)


def _sums(grid: HeadGrid, *, pair: bool) -> StackSums:
    if not pair:
        return StackSums(grid, FeatureSums.zeros(grid))
    return StackSums(grid, *(FeatureSums.zeros(grid) for _ in range(3)))


def _check_alike(first: Observer, second: Observer) -> None:
    """Heads can be compared one by one only where there are as many of them."""
    shapes = [
        ", ".join(f"{grid.stack} of {grid.layers} layers x {grid.heads} heads" for grid in observer.grids)
        for observer in (first, second)
    ]
    if shapes[0] != shapes[1]:
        raise OptionError(
            f"{first.model.name} ({shapes[0]}) and {second.model.name} ({shapes[1]}) differ in shape, so that their "
            "heads cannot be compared; give as against (--against) a model of the same shape"
        )
