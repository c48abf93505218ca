"""What the parser probes of one run share: networks, batches, word vectors, training and scoring."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from headscope.errors import ModelError, OptionError, TextError
from headscope.models import Model
from headscope.probes.observe import Observer
from headscope.probes.parser.attention import MapCache, StoredMaps, WordMaps, moment
from headscope.probes.parser.data import Account, Batch, Batcher, HoldOut, running_words
from headscope.probes.parser.lexicon import FileLexicon, Lexicon, ModelLexicon
from headscope.probes.parser.scorers import (
    AttentionScorer,
    AttentionWordsScorer,
    DistanceWordsScorer,
    Scorer,
    even_mixing,
)
from headscope.probes.parser.training import Learner, Lot, train
from headscope.run.options import BatchSize, check_batch_size
from headscope.run.progress import RunProgress, progress_bar
from headscope.text.annotated.treebank import ParsedSentence, Treebank
from headscope.types import HeadGrid, StackName

Vectors = str | os.PathLike[str]
"""A file of word vectors, or "model" for the network's own input embeddings."""

MODEL_VECTORS = "model"


@dataclass(frozen=True)
class Settings:
    """How probes are trained; checked once."""

    stack: StackName | None
    seed: int
    max_epochs: int
    patience: int
    cache_limit: int
    max_length: int | None
    batch_size: BatchSize
    progress: bool

    def __post_init__(self) -> None:
        for name, least in (("max_epochs", 1), ("patience", 1), ("cache_limit", 0)):
            if getattr(self, name) < least:
                raise OptionError(f"{name} must be at least {least}, not {getattr(self, name)}")
        check_batch_size(self.batch_size)


@dataclass(frozen=True)
class Plan:
    """A scorer to train."""

    name: str
    network: str | None  # the one whose attention it looks at; None for distances in place of attention
    words: bool  # whether its weights depend on the words


class Data:
    """The sentences to train on, and those that tell when to stop."""

    def __init__(self, batcher: Batcher, train: Treebank, dev: Treebank | None) -> None:
        self.accounts = {"train": Account(), "dev": Account()}
        self.files = [train] if dev is None else [train, dev]
        if dev is None:
            hold_out = HoldOut(train)
            self.dev_name = f"every tenth {hold_out.unit} of {train.name}"
            parts: dict[str, Iterable[ParsedSentence]] = {
                "train": hold_out.part(held_out=False),
                "dev": hold_out.part(held_out=True),
            }
        else:
            self.dev_name = dev.name
            parts = {"train": train, "dev": dev}
        self.train, self.dev = (
            list(batcher.batches(parts[name], self.accounts[name])) for name in ("train", "dev")
        )
        if dev is None and not (self.accounts["train"].cases and self.accounts["dev"].cases):
            raise TextError(
                f"{train.name} has too few usable sentences to train on some and to stop by the others; give a larger "
                "file, or one to stop by as well (dev=, --dev)"
            )
        for account, name in zip(self.accounts.values(), (train.name, self.dev_name), strict=True):
            if not account.cases:
                raise nothing_to_score(name)


class ParserRun:
    """Networks that take the same tokens, and the words they are shown."""

    def __init__(
        self,
        networks: Mapping[str, Model],
        settings: Settings,
        *,
        vectors: Vectors | None,
    ) -> None:
        """`networks` by name, the probed one first. `vectors` None: no scorer needs any."""
        self.settings = settings
        self.model = next(iter(networks.values()))
        self.maps: dict[str, WordMaps] = {}
        for name, network in networks.items():
            observer = Observer(network, max_length=settings.max_length, holds_all=True)
            self.maps[name] = WordMaps(observer.watch, _grid(observer, settings.stack))
            if network is self.model:
                self.max_length, encoder = observer.max_length, observer.encoder
        self.grid: HeadGrid = next(iter(self.maps.values())).grid
        self.lexicon: Lexicon[Any] | None = None
        if vectors is not None:
            is_model = os.fspath(vectors) == MODEL_VECTORS
            self.lexicon = ModelLexicon(self.model) if is_model else FileLexicon(vectors)
        self.batcher = Batcher(encoder, self.grid.stack, self.lexicon, settings.batch_size)

    def read(self, sentences: Iterable[ParsedSentence], account: Account) -> list[Batch]:
        """Sentences to score, in batches. A file of vectors is read once for all words read before training."""
        return list(self.batcher.batches(sentences, account))

    def fit(self, plans: Sequence[Plan], data: Data) -> dict[str, Learner]:
        """Train a scorer for each plan."""
        if self.lexicon is not None:
            self.lexicon.learn(running_words(data.train))
        with MapCache(self.settings.cache_limit) as cache:
            training = self._lot(data.train, cache)
            mixings = {name: even_mixing(moment(maps)) for name, maps in training.maps.items()}
            learners = {plan.name: self._learner(plan, mixings) for plan in plans}
            train(
                list(learners.values()),
                training,
                self._lot(data.dev, cache),
                max_epochs=self.settings.max_epochs,
                patience=self.settings.patience,
                seed=self.settings.seed,
                progress=f"parser probe of {self.model.name}" if self.settings.progress else None,
            )
        return learners

    def guesses(
        self, learners: Sequence[Learner], batches: Sequence[Batch]
    ) -> Iterator[tuple[Batch, list[Tensor]]]:
        """Every batch, and what each learner chooses, (text, word); see `Learner.guess`."""
        sentences = sum(len(batch.encoded) for batch in batches)
        with progress_bar(f"{self.model.name} parses" if self.settings.progress else None) as tell:
            done = 0
            for batch, guesses in self._lot(batches, MapCache(0)).guesses(learners):
                yield batch, guesses
                done += len(batch.encoded)
                tell(RunProgress(done, sentences))

    def _lot(self, batches: Sequence[Batch], cache: MapCache) -> Lot:
        maps = {name: StoredMaps(own, batches, cache) for name, own in self.maps.items()}
        vectors = None if self.lexicon is None else self.lexicon.vectors()
        return Lot(batches, maps, vectors, self.model.device)

    def _learner(self, plan: Plan, mixings: Mapping[str, Tensor]) -> Learner:
        dimension = 0 if self.lexicon is None else self.lexicon.vectors().shape[1]
        scorer: Scorer
        if plan.network is None:
            scorer = DistanceWordsScorer(dimension)
        elif plan.words:
            scorer = AttentionWordsScorer(mixings[plan.network], dimension)
        else:
            scorer = AttentionScorer(mixings[plan.network])
        return Learner(plan.name, scorer, network=plan.network, device=self.model.device)


def nothing_to_score(name: str) -> TextError:
    """The error for a treebank in which no word can be asked for its head."""
    return TextError(
        f"{name} has no word to ask for its head: all are punctuation or unknown to the tokenizer; give another file"
    )


def _grid(observer: Observer, stack: StackName | None) -> HeadGrid:
    grids = {grid.stack: grid for grid in observer.grids}
    if not grids:
        raise ModelError(f"{observer.model.name} has no attention between the words of one text to probe")
    if stack is not None and stack not in grids:
        raise OptionError(
            f"{observer.model.name} has no stack {stack!r} to probe; choose from {', '.join(grids)}"
        )
    return next(iter(grids.values())) if stack is None else grids[stack]
