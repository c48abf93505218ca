"""Showing a model annotated texts and letting tallies count what its heads do with their words."""

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, Self, TypeVar

from torch import Tensor

from headscope.accumulator import Accumulator, Counted, Sums
from headscope.errors import ModelError, OptionError
from headscope.models import Model, ModelName
from headscope.passes.options import BatchSize, check_batch_size, longest_text
from headscope.passes.provenance import Source
from headscope.passes.reader import expected_texts
from headscope.passes.run_pass import run_pass
from headscope.probes.words import words_present
from headscope.stats.documents import Documents
from headscope.text.annotated.files import AnnotatedFiles
from headscope.text.encode import EncodedInput, Shown, TextEncoder
from headscope.text.words import WordText
from headscope.trace import survey
from headscope.trace.watch import Watch
from headscope.types import HeadGrid, HeadId, LayerAttention, StackName, TokenBatch, WeighedBy, weigh_option

USUAL = 128
"""Most tokens an annotated text usually has; how many texts are read ahead goes by it."""


class Annotated(Protocol):
    """A text with an annotation of its words: a parsed sentence, a window of coreference, a predicate."""

    @property
    def content(self) -> WordText:
        """The words the model is shown."""

    @property
    def document(self) -> int:
        """The number of its document."""

    @property
    def signature(self) -> str:
        """All of it that matters, in writing: what the hash of the data is made of."""


Item = TypeVar("Item", bound=Annotated)


@dataclass(eq=False)
class Tally(Accumulator, Generic[Item]):
    """Sums over items of what the heads of one stack do; merges exactly and in any order.

    A dataclass: its options are what it is made of, and what it counts begins anew with every one that is made.
    """

    def empty(self) -> Self:
        """A tally of the same kind that has counted nothing."""
        return replace(self)

    @abstractmethod
    def begin(self, items: Sequence[Item], present: Tensor, tokens: TokenBatch) -> None:
        """Look at a batch before its first layer; `present` (item, word) is False for words without a token."""

    @abstractmethod
    def update(self, seen: LayerAttention) -> None:
        """Count one layer of the batch."""


def check_head_in(grid: HeadGrid, head: HeadId, whose: str) -> None:
    """Raise OptionError for a head that a stack does not have."""
    if head.layer >= grid.layers or head.head >= grid.heads:
        raise OptionError(
            f"there is no head {head}: {whose} has {grid.layers} layers of {grid.heads} heads, counted from 0"
        )


@dataclass(frozen=True)
class _ShownItem(Shown, Generic[Item]):
    item: Item

    @property
    def signature(self) -> str:
        """All of the item that matters, in writing."""
        return self.item.signature


@dataclass
class Pass(Sums):
    """What went through the model."""

    texts: int = 0
    tokens: int = 0
    texts_cut: int = 0

    def update(self, text: EncodedInput) -> None:
        """Count a text."""
        self.texts += 1
        self.tokens += len(text.source) + (0 if text.target is None else len(text.target))
        self.texts_cut += text.cut

    def cut_note(self, texts: str, max_length: int) -> str | None:
        """What to tell where texts (`texts` is what they are) lost their end."""
        if not self.texts_cut:
            return None
        return (
            f"{self.texts_cut:,} of {self.texts:,} {texts} were longer than {max_length} tokens and were cut after a "
            "whole word"
        )


@dataclass
class Account:
    """What of the data was read, and what a model saw of it."""

    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    documents: Documents = field(default_factory=Documents)
    seen: Pass = field(default_factory=Pass)

    def of(self, texts: Iterable[Item]) -> Iterator[Item]:
        """The texts as they come, accounted for."""
        for text in texts:
            self.read(text.document, text.signature)
            yield text

    def read(self, document: int, signature: str) -> None:
        """Account for a text that was read."""
        self.documents.add(document)
        self.digest.update(signature.encode())

    @property
    def data_hash(self) -> str:
        """SHA-256 over what was read."""
        return self.digest.hexdigest()

    def source(
        self,
        data: AnnotatedFiles,
        *,
        options: Mapping[str, object],
        duration: float,
        notes: Iterable[str] = (),
    ) -> Source:
        """Where numbers come from that were made of these annotated files."""
        return Source(
            data=data.name,
            data_hash=self.data_hash,
            annotator=data.annotator,
            texts=self.seen.texts,
            documents=len(self.documents),
            tokens=self.seen.tokens,
            texts_cut=self.seen.texts_cut,
            skipped=data.skipped.count,
            options=options,
            duration=duration,
            notes=tuple(notes),
        )


@dataclass(kw_only=True, eq=False)
class WordProbe:
    """The options of probes that show a model annotated texts.

    `model` is a model or its name. `limit` stops after so many texts; `max_length` is the most tokens of a text, by
    default what the model takes. `faithful` asks for the published form. `weigh="moved"` asks heads by what they move
    instead of where they look.
    """

    model: ModelName = field(kw_only=False)
    limit: int | None = None
    max_length: int | None = None
    batch_size: BatchSize = "auto"
    faithful: bool = False
    weigh: WeighedBy = "looked"
    progress: bool = False

    def _settings(self, max_length: int) -> dict[str, object]:
        """The options that decide the numbers, with the length that was settled on, for the provenance."""
        limit = {} if self.limit is None else {"limit": self.limit}
        return {"max_length": max_length, "faithful": self.faithful, **limit, **weigh_option(self.weigh)}


Tallies = Mapping[StackName, Sequence[Tally[Item]]]
_OfStacks = Mapping[StackName, tuple[Tally[Item], ...]]


class Observer:
    """One model, ready to be shown annotated texts."""

    def __init__(
        self,
        model: Model,
        *,
        max_length: int | None = None,
        batch_size: BatchSize = "auto",
        progress: bool = False,
        holds_all: bool = False,
        weigh: WeighedBy = "looked",
    ) -> None:
        """`max_length` is the most tokens of a text, by default what the model takes; for the others see `Watch`."""
        self.model = model
        self.max_length = longest_text(model, max_length)
        check_batch_size(batch_size)
        self.batch_size: BatchSize = batch_size
        self.progress = progress
        self.watch = Watch(survey(model), holds_all=holds_all, weigh=weigh)
        self.encoder: TextEncoder = self.watch.encoder(self.max_length)

    @property
    def grids(self) -> list[HeadGrid]:
        """The stacks that words can be probed in: all but cross attention."""
        return [grid for grid in self.watch.capture.stacks.grids if not grid.cross]

    def grid(self, stack: StackName | None) -> HeadGrid:
        """The stack of that name, or the first one; an error where words cannot be probed in it."""
        grids = {grid.stack: grid for grid in self.grids}
        if not grids:
            raise ModelError(f"{self.model.name} has no attention between the words of one text to probe")
        if stack is not None and stack not in grids:
            raise OptionError(
                f"{self.model.name} has no stack {stack!r} to probe; choose from {', '.join(grids)}"
            )
        return next(iter(grids.values())) if stack is None else grids[stack]

    def observe(
        self,
        items: Iterable[Item],
        tallies: Tallies[Item],
        *,
        name: str | None = "texts",
        share: Callable[[], float | None] = lambda: None,
        limit: int | None = None,
    ) -> Pass:
        """Show the model every item; each stack's tallies count.

        `name` is what the texts are called while it goes on; None tells nothing. `share` is how much of them was read,
        and `limit` how many there are at most.
        """
        done = Pass()

        def shown() -> Iterator[_ShownItem[Item]]:
            for item in items:
                encoded = self.encoder.encode_words(item.content)
                done.update(encoded)
                yield _ShownItem(encoded, item)

        def count(part: Counted[_OfStacks[Item]], batch: list[_ShownItem[Item]]) -> None:
            chosen = [text.item for text in batch]
            begun: set[StackName] = set()

            def see(stack: StackName, seen: LayerAttention) -> None:
                for tally in part.value.get(stack, ()):
                    if stack not in begun:
                        tally.begin(chosen, words_present(seen.queries), seen.queries)
                    tally.update(seen)
                begun.add(stack)

            self.watch.run(self.watch.batch([text.encoded for text in batch]), see)

        of_stacks: Counted[_OfStacks[Item]] = Counted({stack: tuple(own) for stack, own in tallies.items()})
        run_pass(
            shown(),
            of_stacks,
            count,
            batches=self.watch.batches(self.batch_size, min(USUAL, self.max_length)),
            title=f"{self.model.name} on {name}" if self.progress and name else None,
            expected=lambda texts: expected_texts(texts, done.texts, share(), limit=limit),
        )
        return done
