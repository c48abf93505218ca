"""The parser probes and everything they are measured against, in one run and one table."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

from torch import Tensor

from headscope.models import Model, load
from headscope.probes.means import CaseMeans
from headscope.probes.parser.attention import CACHE_LIMIT
from headscope.probes.parser.baselines import RIGHT_BRANCHING, best_offset, offset_is_right, untrained
from headscope.probes.parser.data import Account, word_counts
from headscope.probes.parser.probe import MAX_EPOCHS, PATIENCE
from headscope.probes.parser.result import PARSERS, ParserResult
from headscope.probes.parser.run import (
    MODEL_VECTORS,
    Data,
    ParserRun,
    Plan,
    Settings,
    Vectors,
    nothing_to_score,
)
from headscope.probes.parser.score import ParserScore, count, is_right
from headscope.probes.parser.training import Learner
from headscope.probes.result import Source
from headscope.run.options import BatchSize
from headscope.text.annotated.treebank import Treebank
from headscope.types import StackName

PLANS = (
    Plan("attention", "model", words=False),
    Plan("attention_words", "model", words=True),
    Plan("distances_words", None, words=True),
    Plan("random_attention", "random", words=False),
    Plan("random_attention_words", "random", words=True),
)


def parser_table(
    model: Model | str | os.PathLike[str],
    *,
    train: Treebank,
    test: Treebank,
    dev: Treebank | None = None,
    vectors: Vectors = MODEL_VECTORS,
    stack: StackName | None = None,
    seed: int = 0,
    max_epochs: int = MAX_EPOCHS,
    patience: int = PATIENCE,
    cache_limit: int = CACHE_LIMIT,
    max_length: int | None = None,
    batch_size: BatchSize = "auto",
    progress: bool = False,
) -> ParserResult:
    """Train the parser probes of a model and their baselines on `train`, and score them on `test`.

    The options are those of `ParserProbe`. The parsers, all scored on the same words:

    - `attention`, `attention_words`: the two probes.
    - `right_branching`: the head is the next word. `best_offset`: it is always so many words before or after, as fits
      most words of `train` (-10 to 10). Neither can choose ROOT, so they miss every root; `uas_headed`
      leaves the roots out.
    - `distances_words`: as `attention_words`, with the distance between the words in place of attention.
    - `random_attention`, `random_attention_words`: the two probes on a network of the same shape that has learned
      nothing. Its word vectors are those of the others, so that it differs in attention alone.

    Where training on `train` stops is decided on `dev`; see `ParserProbe.fit`.
    """
    started = perf_counter()
    probed = model if isinstance(model, Model) else load(model)
    settings = Settings(
        stack=stack,
        seed=seed,
        max_epochs=max_epochs,
        patience=patience,
        cache_limit=cache_limit,
        max_length=max_length,
        batch_size=batch_size,
        progress=progress,
    )
    run = ParserRun({"model": probed, "random": untrained(probed, seed=seed)}, settings, vectors=vectors)
    data = Data(run.batcher, train, dev)
    run.meet(test)
    run.learn_vectors(data.train)
    learners = run.fit(PLANS, data)
    trial = _try(run, data, learners, test)
    duration = perf_counter() - started
    return ParserResult(probed, trial.source(duration), run.grid, trial.scores, learners, trial.offset)


def _try(run: ParserRun, data: Data, learners: Mapping[str, Learner], test: Treebank) -> "_Trial":
    offset = best_offset(data.train)
    accuracy, account = CaseMeans(len(PARSERS)), Account()
    counts = word_counts([], run.lexicon_size)
    for batch, guesses in run.guesses(list(learners.values()), test, account):
        rules = offset_is_right(batch, (RIGHT_BRANCHING, offset))
        right = {"right_branching": rules[:, 0], "best_offset": rules[:, 1]}
        right |= {name: is_right(batch, guess) for name, guess in zip(learners, guesses, strict=True)}
        count(accuracy, batch, [right[name] for name in PARSERS])
        counts += word_counts([batch], len(counts))
    if not account.cases:
        raise nothing_to_score(test.name)
    scores = {name: ParserScore.of(accuracy, place, account.left_out) for place, name in enumerate(PARSERS)}
    return _Trial(run, data, test, learners, offset, scores, account, counts)


@dataclass(frozen=True)
class _Trial:
    """What came out on the test set, and all there is to tell about it."""

    run: ParserRun
    data: Data
    test: Treebank
    learners: Mapping[str, Learner]
    offset: int
    scores: Mapping[str, ParserScore]
    account: Account
    counts: Tensor  # (number,) how often the test set has each word

    def source(self, duration: float) -> Source:
        """Where the numbers come from."""
        files = [*self.data.files, self.test]
        accounts = [*self.data.accounts.values(), self.account]
        annotators = sorted({one.annotator for one in files if one.annotator})
        return Source(
            data=", ".join(dict.fromkeys(one.name for one in files)),
            data_hash=hashlib.sha256(b"".join(one.digest.digest() for one in accounts)).hexdigest(),
            annotator=", ".join(annotators) or None,
            texts=sum(one.sentences for one in accounts),
            documents=sum(one.documents for one in accounts),
            tokens=sum(one.tokens for one in accounts),
            texts_cut=sum(one.cut for one in accounts),
            skipped=sum(one.skipped.count for one in files),
            options={
                "train": self.data.files[0].name,
                "dev": self.data.dev_name,
                "test": self.test.name,
                "vectors": self.run.vectors_name,
                "stack": self.run.grid.stack,
                "seed": self.run.settings.seed,
                "max_epochs": self.run.settings.max_epochs,
                "patience": self.run.settings.patience,
                "max_length": self.run.max_length,
                "batch_size": self.run.settings.batch_size,
            },
            duration=duration,
            notes=(*self._about_training(), *self._left_out(files)),
        )

    def _about_training(self) -> Iterator[str]:
        trained = self.run.coverage(word_counts(self.data.train, len(self.counts)))
        yield (
            f"word vectors: {self.run.vectors_name}; {trained:.1%} of the training words and "
            f"{self.run.coverage(self.counts):.1%} of the test words have one, the others get the mean"
        )
        learners = self.learners.values()
        stops = ", ".join(f"{one.name} {one.best_epoch} of {one.epochs}" for one in learners)
        yield f"training was stopped by the UAS on {self.data.dev_name}; best epoch: {stops}"
        still = [one.name for one in learners if one.best_epoch == self.run.settings.max_epochs]
        if still:
            yield f"still getting better in the last epoch: {', '.join(still)}; raise max_epochs (--max-epochs)"
        score = self.scores["attention"]
        yield (
            f"{1 - score.cases_headed / score.cases:.1%} of the test cases are roots, which right_branching and "
            "best_offset cannot find; uas_headed leaves them out"
        )

    def _left_out(self, files: Sequence[Treebank]) -> Iterator[str]:
        if note := self.run.vectors_skipped():
            yield note
        for one in files:
            if one.annotator:
                yield f"the annotation of {one.name} is automatic, by {one.annotator}; its errors count too"
            if note := one.skipped.note():
                yield note
        for part, account in {**self.data.accounts, "test": self.account}.items():
            if note := account.left_out.note():
                yield f"{part}: {note}"
            if account.cut:
                yield (
                    f"{part}: {account.cut:,} of {account.sentences:,} sentences were longer than "
                    f"{self.run.max_length} tokens and were cut after a whole word"
                )
