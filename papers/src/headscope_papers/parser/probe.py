"""All heads together as a dependency parser: how much syntax a model's attention holds."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from torch import Tensor

from headscope.errors import OptionError, TextError
from headscope.facts.description import Description
from headscope.models import Model, ModelName, loaded
from headscope.passes.options import BatchSize, check_batch_size
from headscope.passes.progress import RunProgress, progress_bar
from headscope.probes.halves import SCORE, SELECT, Turns
from headscope.probes.means import CaseMeans
from headscope.probes.observe import Observer
from headscope.text.annotated.treebank import ROOT, ParsedSentence, Treebank
from headscope.types import HeadGrid, StackName, WeighedBy
from headscope_papers.parser.attention import CACHE_LIMIT, MapCache, StoredMaps, WordMaps, moment
from headscope_papers.parser.data import Account, Batch, Batcher, running_words
from headscope_papers.parser.lexicon import FileLexicon, Lexicon, ModelLexicon
from headscope_papers.parser.result import DESCRIPTION, ParserScore, count
from headscope_papers.parser.scorers import (
    AttentionScorer,
    AttentionWordsScorer,
    DistanceWordsScorer,
    Scorer,
    even_mixing,
)
from headscope_papers.parser.training import Learner, Lot, train

MAX_EPOCHS, PATIENCE = 30, 3
HELD_OUT_EVERY = 10

UNSEEN = -2
"""What `predict` gives for a word without a token, which the model was not shown."""

Vectors = str | os.PathLike[str]
"""A file of word vectors, or "model" for the network's own input embeddings."""

MODEL_VECTORS = "model"


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
        turns = Turns(train, kind="sentence", every=HELD_OUT_EVERY)
        parts: list[Iterable[ParsedSentence]] = [train, dev] if dev else [turns.of(SELECT), turns.of(SCORE)]
        self.train, self.dev = (
            list(batcher.batches(part, account))
            for part, account in zip(parts, self.accounts.values(), strict=True)
        )
        self.dev_name = dev.name if dev else f"every tenth {turns.unit} of {train.name}"
        if dev is None and not (self.accounts["train"].cases and self.accounts["dev"].cases):
            raise TextError(
                f"{train.name} has too few usable sentences to train on some and to stop by the others; give a larger "
                "file, or one to stop by as well (dev=, --dev)"
            )
        for account, name in zip(self.accounts.values(), (train.name, self.dev_name), strict=True):
            if not account.cases:
                raise nothing_to_score(name)


@dataclass(kw_only=True, eq=False)
class Options:
    """How parsers are trained, and how sentences go through the networks.

    `stack` is the first one by default. Training stops after `patience` epochs without a better UAS on the dev set.
    `batch_size` is how many sentences a step of the training takes. `weigh="moved"` shows the parser what heads move
    instead of where they look.
    """

    stack: StackName | None = None
    seed: int = 0
    max_epochs: int = MAX_EPOCHS
    patience: int = PATIENCE
    cache_limit: int = CACHE_LIMIT
    max_length: int | None = None
    batch_size: BatchSize = "auto"
    weigh: WeighedBy = "looked"
    progress: bool = False

    def __post_init__(self) -> None:
        for name, least in (("max_epochs", 1), ("patience", 1), ("cache_limit", 0)):
            if getattr(self, name) < least:
                raise OptionError(f"{name} must be at least {least}, not {getattr(self, name)}")
        check_batch_size(self.batch_size)


class ParserRun:
    """Networks that take the same tokens, and the words they are shown."""

    def __init__(
        self,
        networks: Mapping[str, Model],
        options: Options,
        *,
        vectors: Vectors | None,
        limit: int | None = None,
    ) -> None:
        """`networks` by name, the probed one first. `vectors` None: no scorer needs any. `limit`: see Batcher."""
        self.options = options
        self.model = next(iter(networks.values()))
        observers = {
            name: Observer(network, max_length=options.max_length, holds_all=True, weigh=options.weigh)
            for name, network in networks.items()
        }
        self.maps = {
            name: WordMaps(observer.watch, observer.grid(options.stack))
            for name, observer in observers.items()
        }
        first, *_ = observers.values()
        self.max_length = first.max_length
        self.grid: HeadGrid = next(iter(self.maps.values())).grid
        self.lexicon: Lexicon[Any] | None = None
        if vectors is not None:
            is_model = os.fspath(vectors) == MODEL_VECTORS
            self.lexicon = ModelLexicon(self.model) if is_model else FileLexicon(vectors)
        self.batcher = Batcher(first.encoder, self.grid.stack, self.lexicon, options.batch_size, limit)

    def read(self, sentences: Iterable[ParsedSentence], account: Account) -> list[Batch]:
        """Sentences to score, in batches. A file of vectors is read once for all words read before training."""
        return list(self.batcher.batches(sentences, account))

    def fit(self, plans: Sequence[Plan], data: Data) -> dict[str, Learner]:
        """Train a scorer for each plan."""
        if self.lexicon is not None:
            self.lexicon.learn(running_words(data.train))
        options = self.options
        with MapCache(options.cache_limit) as cache:
            training = self._lot(data.train, cache)
            mixings = {name: even_mixing(moment(maps)) for name, maps in training.maps.items()}
            learners = {plan.name: self._learner(plan, mixings) for plan in plans}
            train(
                list(learners.values()),
                training,
                self._lot(data.dev, cache),
                max_epochs=options.max_epochs,
                patience=options.patience,
                seed=options.seed,
                progress=f"parser probe of {self.model.name}" if options.progress else None,
            )
        return learners

    def guesses(
        self, learners: Sequence[Learner], batches: Sequence[Batch]
    ) -> Iterator[tuple[Batch, list[Tensor]]]:
        """Every batch, and what each learner chooses, (text, word); see `Learner.guess`."""
        sentences = sum(len(batch.encoded) for batch in batches)
        with progress_bar(f"{self.model.name} parses" if self.options.progress else None) as tell:
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


@dataclass(kw_only=True, eq=False)
class ParserProbe(Options):
    """Learns to tell every word's syntactic head from attention alone (Clark et al. 2019, section 5).

    The probability that word i (or ROOT) is the head of word j is the softmax over i of
    sum_k (w_k A_k[j, i] + u_k A_k[i, j]), k over all heads of a stack, A their attention between words. ROOT's score
    is a + b log(number of words). Only w, u, a and b are learned, by cross-entropy. With `words` each of them is a
    linear function of the pair's word vectors (of the dependent's, for ROOT). A word is no candidate for
    itself, punctuation is a candidate but is not asked, and every word chooses for itself: no tree is enforced.

        probe = ParserProbe("demo").fit(read_treebank("train.conllu"))
        probe.score(read_treebank("dev.conllu")).uas
        probe.predict(sentences)  # for every word the index of its head, -1 for the root

    The attention of the training set is kept in a temporary file of at most `cache_limit` bytes, and computed again in
    every epoch as far as it does not fit; that changes no result. What is kept in memory are the words.

    `words` lets the weights depend on the words, by their `vectors`: a file (GloVe or word2vec text), or "model" for
    the network's own input embeddings. For the other options see Options.
    """

    description: ClassVar[Description] = DESCRIPTION

    model: ModelName = field(kw_only=False)
    words: bool = False
    vectors: Vectors = MODEL_VECTORS

    def __post_init__(self) -> None:
        super().__post_init__()
        self.model = model = loaded(self.model)
        self._run = ParserRun({"model": model}, self, vectors=self.vectors if self.words else None)
        self._learner: Learner | None = None

    def fit(self, train: Treebank, dev: Treebank | None = None) -> Self:
        """Learn from a treebank, until the UAS on `dev` gets no better.

        Without `dev` every tenth document of `train` is held out, or every tenth sentence if it is one document.
        """
        data = Data(self._run.batcher, train, dev)
        [self._learner] = self._run.fit([Plan("model", "model", self.words)], data).values()
        return self

    @property
    def scorer_(self) -> Scorer:
        """What was learned."""
        return self._fitted.scorer

    @property
    def epochs_(self) -> int:
        """How many epochs the training took up to its best one."""
        return self._fitted.best_epoch

    @property
    def dev_uas_(self) -> float:
        """The UAS on the dev set in the best epoch."""
        return self._fitted.best_uas

    @property
    def _fitted(self) -> Learner:
        if self._learner is None:
            raise OptionError("the probe has learned nothing yet; call fit(train) first")
        return self._learner

    def score(self, test: Treebank) -> ParserScore:
        """The UAS on a treebank, without punctuation; the root counts, and its head is ROOT."""
        learner, account = self._fitted, Account()
        batches = self._run.read(test, account)
        if not account.cases:
            raise nothing_to_score(test.name)
        means = CaseMeans(1)
        for batch, [guess] in self._run.guesses([learner], batches):
            count(means, batch, [batch.is_right(guess)])
        return ParserScore.of(means, 0, account.left_out)

    def predict(self, sentences: Iterable[ParsedSentence]) -> list[list[int]]:
        """For every word of every sentence the index of its head, ROOT (-1), or UNSEEN for words without a token."""
        learner = self._fitted
        wanted = list(sentences)
        heads = [[UNSEEN] * len(sentence) for sentence in wanted]
        for batch, [guess] in self._run.guesses([learner], self._run.read(wanted, Account())):
            for row, place in enumerate(batch.places):
                for word in batch.present[row].nonzero()[:, 0].tolist():
                    head = int(guess[row, word])
                    heads[place][word] = ROOT if head == batch.words else head
        return heads
