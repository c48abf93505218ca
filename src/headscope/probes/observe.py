"""Showing a model annotated texts and letting tallies count what its heads do with their words."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, Self, TypeVar

from torch import Tensor

from headscope.capture import survey
from headscope.errors import OptionError
from headscope.models import Model
from headscope.probes.words import words_present
from headscope.run.progress import RunProgress, progress_bar, silent
from headscope.run.watch import Watch, in_halves
from headscope.text.batching import bucketed
from headscope.text.encode import EncodedInput, TextEncoder
from headscope.text.words import WordText
from headscope.types import AttentionBatch, HeadGrid, StackName, TokenBatch

LONGEST_WITHOUT_LIMIT = 512
"""Most tokens of a text for models that name no limit."""

USUAL = 128
"""Most tokens an annotated text usually has; how many texts are read ahead goes by it."""


class Annotated(Protocol):
    """A text with an annotation of its words: a parsed sentence, a window of coreference, a predicate."""

    @property
    def content(self) -> WordText:
        """The words the model is shown."""


Item = TypeVar("Item", bound=Annotated)


class Tally(ABC, Generic[Item]):
    """Sums over items of what the heads of one stack do; merges exactly and in any order."""

    @abstractmethod
    def empty(self) -> Self:
        """A tally of the same kind that has counted nothing."""

    @abstractmethod
    def begin(self, items: Sequence[Item], present: Tensor, tokens: TokenBatch) -> None:
        """Look at a batch before its first layer; `present` (item, word) is False for words without a token."""

    @abstractmethod
    def update(self, seen: AttentionBatch) -> None:
        """Count one layer of the batch."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Count all that `other` has counted."""


@dataclass(frozen=True)
class _Shown(Generic[Item]):
    item: Item
    encoded: EncodedInput

    def __len__(self) -> int:
        return len(self.encoded)


@dataclass
class Pass:
    """What went through the model."""

    texts: int = 0
    tokens: int = 0
    texts_cut: int = 0


Tallies = Mapping[StackName, Sequence[Tally[Item]]]


class Observer:
    """One model, ready to be shown annotated texts."""

    def __init__(
        self,
        model: Model,
        *,
        max_length: int | None = None,
        batch_size: int | Literal["auto"] = "auto",
        progress: bool = False,
        holds_all: bool = False,
    ) -> None:
        """`max_length` is the most tokens of a text, by default what the model takes; `holds_all`: see `Watch`."""
        self.model = model
        self.max_length = self._longest(max_length)
        if batch_size != "auto" and (not isinstance(batch_size, int) or batch_size < 1):
            raise OptionError(f"batch_size must be auto or at least 1, not {batch_size!r}")
        self.batch_size: int | Literal["auto"] = batch_size
        self.progress = progress
        self.watch = Watch(survey(model), holds_all=holds_all)
        self.encoder: TextEncoder = self.watch.encoder(self.max_length)

    @property
    def grids(self) -> list[HeadGrid]:
        """The stacks that words can be probed in: all but cross attention."""
        return [grid for grid in self.watch.capture.stacks.grids if not grid.cross]

    def observe(
        self,
        items: Iterable[Item],
        tallies: Tallies[Item],
        *,
        name: str = "texts",
        share: Callable[[], float | None] = lambda: None,
    ) -> Pass:
        """Show the model every item; each stack's tallies count. `share` tells how much of the input was read."""
        done = Pass()
        read = 0

        def shown() -> Iterator[_Shown[Item]]:
            nonlocal read
            for item in items:
                read += 1
                yield _Shown(item, self.encoder.encode_words(item.content))

        def add(batch: list[_Shown[Item]]) -> None:
            texts = self.watch.batch([one.encoded for one in batch])
            parts = {stack: [tally.empty() for tally in own] for stack, own in tallies.items()}
            begun: set[StackName] = set()

            def see(stack: StackName, seen: AttentionBatch) -> None:
                for part in parts.get(stack, []):
                    if stack not in begun:
                        present = words_present(seen.queries)
                        part.begin([one.item for one in batch], present, seen.queries)
                    part.update(seen)
                begun.add(stack)

            self.watch.run(texts, see)
            for stack, own in tallies.items():
                for tally, part in zip(own, parts[stack], strict=True):
                    tally.merge(part)
            done.texts += texts.texts
            done.tokens += texts.tokens
            done.texts_cut += sum(one.encoded.cut for one in batch)

        description = f"{self.model.name} on {name}"
        with progress_bar(description) if self.progress else nullcontext(silent) as tell:
            texts_at = self.watch.texts_at(self.batch_size)
            for batch in bucketed(shown(), texts_at=texts_at, longest=min(USUAL, self.max_length)):
                in_halves(batch, add)
                part = share()
                tell(RunProgress(done.texts, max(done.texts, read / part) if part else None))
        return done

    def _longest(self, max_length: int | None) -> int:
        limit = self.model.max_length
        if max_length is None:
            return limit or LONGEST_WITHOUT_LIMIT
        if limit is not None and max_length > limit:
            raise OptionError(
                f"max_length {max_length} is more than the {limit} tokens {self.model.name} takes; give "
                f"--max-length {limit} (max_length={limit}) or less"
            )
        return max_length
