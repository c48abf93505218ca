"""Attention to nouns, verbs, pronouns, subjects, objects, negation words, [CLS] and [SEP], head by head."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from typing import ClassVar, Self

from headscope.accumulator import Sums
from headscope.errors import OptionError
from headscope.facts.description import FEW_CASES, PROBES, Description
from headscope.models import ModelName, loaded
from headscope.passes.options import longest_text
from headscope.passes.reader import expected_texts
from headscope.passes.run_pass import in_chunks, run_pass
from headscope.probes.features.classes import FEATURES, FeatureText
from headscope.probes.features.result import DESCRIPTION, FeaturesResult, StackSums
from headscope.probes.features.tally import QUANTITIES, FeatureMeans, FeatureTally
from headscope.probes.observe import Account, Observer, Pass, WordProbe
from headscope.probes.result import compared_with
from headscope.text.annotated.treebank import Treebank
from headscope.text.skipped import Skipped
from headscope.types import StackName

HELD_BYTES = 16 << 20
MOST_HELD = 1024


@PROBES.register("features")
@dataclass(kw_only=True, eq=False)
class FeaturesProbe(WordProbe):
    """How much attention every head gives to classes of words and to [CLS] and [SEP] (Kovaleva et al. 2019).

    A token's attention is the mean over all queries of what they give it. A class's is that of its most attended
    token in a text, and then the mean over the texts that have the class.

        result = FeaturesProbe("demo", against="demo-mrpc").score(read_treebank("dev.conllu"))
        result.table()

    With `against`, a second model of the same shape, it says what changed; that may have a tokenizer of its own: texts
    are compared, not tokens, and by default as long as both models take them. The other options are those of all probes
    (`headscope.probes.observe.WordProbe`); `faithful` changes nothing: the published form is the only one.
    """

    description: ClassVar[Description] = DESCRIPTION

    against: ModelName | None = None

    def __post_init__(self) -> None:
        models = [loaded(model) for model in (self.model, self.against) if model is not None]
        longest = min(longest_text(shown, self.max_length) for shown in models)
        self._observers = [
            Observer(shown, max_length=longest, batch_size=self.batch_size, weigh=self.weigh)
            for shown in models
        ]
        _check_alike(self._observers)

    def fit(self, data: Treebank) -> Self:
        """Nothing is learned."""
        return self

    def score(self, data: Treebank) -> FeaturesResult:
        """Every head's attention to each class over the sentences of a treebank."""
        started = perf_counter()
        account = Account()
        texts = (FeatureText(sentence, number) for number, sentence in enumerate(islice(data, self.limit)))
        name = " and ".join(observer.model.name for observer in self._observers)
        counted = run_pass(
            account.of(texts),
            self._empty(),
            self._count,
            batches=in_chunks(self._texts_held),
            title=f"{name} on {data.name}" if self.progress else None,
            expected=lambda done: expected_texts(done, done, data.progress, limit=self.limit),
        )
        account.seen = counted.passes[0]
        source = account.source(
            data,
            options=self._options(),
            duration=perf_counter() - started,
            notes=self._notes(data, counted),
        )
        model, *others = (observer.model for observer in self._observers)
        return FeaturesResult(model, source, counted.stacks, *others)

    def _empty(self) -> "_Counted":
        """Nothing counted yet."""
        kinds = 1 if len(self._observers) == 1 else 3
        return _Counted(
            {
                grid.stack: StackSums(grid, *(FeatureMeans.zeros(grid) for _ in range(kinds)))
                for grid in self._observers[0].grids
            },
            tuple(Pass() for _ in self._observers),
            tuple(Skipped("words") for _ in self._observers),
        )

    @property
    def _texts_held(self) -> int:
        """How many texts' own numbers are held at a time, so that those of two models can be compared."""
        heads = sum(grid.size for grid in self._observers[0].grids)
        return max(1, min(MOST_HELD, HELD_BYTES // (4 * len(QUANTITIES) * len(FEATURES) * heads)))

    def _count(self, part: "_Counted", texts: list[FeatureText]) -> None:
        """Show the texts to each model, and count."""
        values = []  # of each model, by stack
        for observer, done, lost in zip(self._observers, part.passes, part.lost, strict=True):
            tallies = {grid.stack: FeatureTally(grid) for grid in observer.grids}
            done.merge(observer.observe(texts, {stack: [tally] for stack, tally in tallies.items()}))
            lost.merge(next(iter(tallies.values())).lost)
            values.append({stack: tally.result() for stack, tally in tallies.items()})
        for stack, sums in part.stacks.items():
            first, *others = (of_model[stack] for of_model in values)
            sums.model.add(first)
            for second in others:
                assert sums.against is not None
                assert sums.change is not None
                sums.against.add(second)
                sums.change.add(second.minus(first))
        tokens = [next(iter(of_model.values())).tokens for of_model in values]
        part.split_differently += int((tokens[0] != tokens[-1]).sum())

    def _options(self) -> dict[str, object]:
        first, *others = self._observers
        against = compared_with(others[0].model) if others else {"against": None}
        return {**self._settings(first.max_length), **against}

    def _notes(self, data: Treebank, counted: "_Counted") -> Iterator[str]:
        if data.annotator:
            yield f"the annotation is automatic, by {data.annotator}; its errors count as the heads' own"
        if note := data.skipped.note():
            yield note
        yield from self._by_model([lost.note() for lost in counted.lost])
        longest = self._observers[0].max_length
        yield from self._by_model([seen.cut_note("sentences", longest) for seen in counted.passes])
        if counted.split_differently:
            yield (
                f"the two models split {counted.split_differently:,} of {counted.passes[0].texts:,} sentences into "
                "different numbers of tokens, which alone changes attention per token; trust preference before "
                "attention"
            )
        if self.faithful:
            yield "faithful changes nothing in this probe: feature_attention is the published form already"
        yield from _rare(counted.stacks)

    def _by_model(self, notes: list[str | None]) -> Iterator[str]:
        """What is told of each model, once where it is the same for both."""
        if len(set(notes)) == 1:
            yield from filter(None, notes[:1])
            return
        for observer, note in zip(self._observers, notes, strict=True):
            if note is not None:
                yield f"{observer.model.name}: {note}"


def _rare(stacks: Mapping[StackName, StackSums]) -> Iterator[str]:
    for stack, sums in stacks.items():
        of = f"in the {stack}, " if len(stacks) > 1 else ""
        counts = {feature: sums.model.even.texts(feature) for feature in FEATURES}
        if none := [feature for feature, count in counts.items() if not count]:
            yield f"{of}no sentence has a token of: {', '.join(none)}"
        if few := [f"{feature} ({count})" for feature, count in counts.items() if 0 < count < FEW_CASES]:
            yield f"{of}fewer than {FEW_CASES} sentences, too few to say much: {', '.join(few)}"


@dataclass
class _Counted(Sums):
    """What one or two models did with the texts."""

    stacks: Mapping[StackName, StackSums]
    passes: tuple[Pass, ...]
    lost: tuple[Skipped, ...]
    split_differently: int = 0


def _check_alike(observers: list[Observer]) -> None:
    """Heads can be compared one by one only where there are as many of them."""
    shapes = [
        ", ".join(f"{grid.stack} of {grid.layers} layers x {grid.heads} heads" for grid in observer.grids)
        for observer in observers
    ]
    if shapes[0] != shapes[-1]:
        first, second = (observer.model.name for observer in observers)
        raise OptionError(
            f"{first} ({shapes[0]}) and {second} ({shapes[1]}) differ in shape, so their heads cannot be compared; "
            "give as against (--against) a model of the same shape"
        )
