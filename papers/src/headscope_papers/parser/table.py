"""The parser probes and everything they are measured against, in one run and one table."""

import hashlib
from collections.abc import Iterable, Iterator
from time import perf_counter

import torch
from torch import Tensor

from headscope.models import ModelName, loaded
from headscope.models.untrained import untrained
from headscope.passes.options import BatchSize
from headscope.passes.provenance import Source
from headscope.probes.means import CaseMeans
from headscope.probes.observe import Pass
from headscope.probes.pointing.dependency import OFFSETS
from headscope.text.annotated.treebank import Treebank
from headscope.types import StackName, WeighedBy, weigh_option
from headscope_papers.parser.attention import CACHE_LIMIT
from headscope_papers.parser.data import Account, Batch, running_words
from headscope_papers.parser.probe import (
    MAX_EPOCHS,
    MODEL_VECTORS,
    PATIENCE,
    Data,
    Options,
    ParserRun,
    Plan,
    Vectors,
    nothing_to_score,
)
from headscope_papers.parser.result import PARSERS, RIGHT_BRANCHING, ParserResult, ParserScore, count

PLANS = (
    Plan("attention", "model", words=False),
    Plan("attention_words", "model", words=True),
    Plan("distances_words", None, words=True),
    Plan("random_attention", "random", words=False),
    Plan("random_attention_words", "random", words=True),
)


def parser_table(
    model: ModelName,
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
    limit: int | None = None,
    max_length: int | None = None,
    batch_size: BatchSize = "auto",
    weigh: WeighedBy = "looked",
    progress: bool = False,
) -> ParserResult:
    """Train the parser probes of a model and their baselines on `train`, and score them on `test`.

    The options are those of `ParserProbe`; `limit` is the most sentences of each file. The parsers, all scored on the
    same words:

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
    probed = loaded(model)
    options = Options(
        stack=stack,
        seed=seed,
        max_epochs=max_epochs,
        patience=patience,
        cache_limit=cache_limit,
        max_length=max_length,
        batch_size=batch_size,
        weigh=weigh,
        progress=progress,
    )
    networks = {"model": probed, "random": untrained(probed, seed=seed)}
    run = ParserRun(networks, options, vectors=vectors, limit=limit)
    table = _Table(run, Data(run.batcher, train, dev), test)
    scores = table.scores()
    source = table.source(scores["attention"], duration=perf_counter() - started)
    return ParserResult(probed, source, run.grid, scores, table.learners, table.offset)


class _Table:
    """The trained parsers, and the sentences they are scored on."""

    def __init__(self, run: ParserRun, data: Data, test: Treebank) -> None:
        self.run, self.data, self.test = run, data, test
        self.files = [*data.files, test]
        self.accounts = {**data.accounts, "test": Account()}
        self.batches = run.read(test, self.accounts["test"])
        if not self.accounts["test"].cases:
            raise nothing_to_score(test.name)
        self.learners = run.fit(PLANS, data)
        self.offset = best_offset(data.train)

    def scores(self) -> dict[str, ParserScore]:
        """How well every parser does on the test set."""
        means = CaseMeans(len(PARSERS))
        for batch, guesses in self.run.guesses(list(self.learners.values()), self.batches):
            rules = offset_is_right(batch, (RIGHT_BRANCHING, self.offset))
            right = {"right_branching": rules[:, 0], "best_offset": rules[:, 1]}
            right |= {name: batch.is_right(guess) for name, guess in zip(self.learners, guesses, strict=True)}
            count(means, batch, [right[name] for name in PARSERS])
        left_out = self.accounts["test"].left_out
        return {name: ParserScore.of(means, place, left_out) for place, name in enumerate(PARSERS)}

    def source(self, score: ParserScore, *, duration: float) -> Source:
        """Where the numbers come from; `score` is that of attention alone."""
        run, data, accounts, seen = self.run, self.data, self.accounts.values(), Pass()
        for account in accounts:
            seen.merge(account.seen)
        return Source(
            data=", ".join(dict.fromkeys(file.name for file in self.files)),
            data_hash=hashlib.sha256(b"".join(account.digest.digest() for account in accounts)).hexdigest(),
            annotator=", ".join(sorted({file.annotator for file in self.files if file.annotator})) or None,
            texts=seen.texts,
            documents=sum(len(account.documents) for account in accounts),
            tokens=seen.tokens,
            texts_cut=seen.texts_cut,
            skipped=sum(file.skipped.count for file in self.files),
            options={
                "train": data.files[0].name,
                "dev": data.dev_name,
                "test": self.test.name,
                "vectors": "none" if run.lexicon is None else run.lexicon.name,
                "stack": run.grid.stack,
                **({} if run.batcher.limit is None else {"limit": run.batcher.limit}),
                **{key: getattr(run.options, key) for key in ("seed", "max_epochs", "patience")},
                "max_length": run.max_length,
                "batch_size": run.options.batch_size,
                **weigh_option(run.options.weigh),
            },
            duration=duration,
            notes=(*self._about_training(score), *self._left_out()),
        )

    def _about_training(self, score: ParserScore) -> Iterator[str]:
        lexicon, learners = self.run.lexicon, list(self.learners.values())
        assert lexicon is not None
        trained, tested = (lexicon.coverage(running_words(part)) for part in (self.data.train, self.batches))
        yield (
            f"word vectors: {lexicon.name}; {trained:.1%} of the training words and {tested:.1%} of the test words "
            "have one, the others get the mean"
        )
        stops = ", ".join(f"{learner.name} {learner.best_epoch} of {learner.epochs}" for learner in learners)
        yield f"training was stopped by the UAS on {self.data.dev_name}; best epoch: {stops}"
        still = [learner.name for learner in learners if learner.best_epoch == self.run.options.max_epochs]
        if still:
            yield f"still getting better in the last epoch: {', '.join(still)}; raise max_epochs (--max-epochs)"
        yield (
            f"{1 - score.cases_headed / score.cases:.1%} of the test cases are roots, which right_branching and "
            "best_offset cannot find; uas_headed leaves them out"
        )

    def _left_out(self) -> Iterator[str]:
        assert self.run.lexicon is not None
        for skipped in (self.run.lexicon.skipped, *(file.skipped for file in self.files)):
            if skipped is not None and (note := skipped.note()):
                yield note
        for file in self.files:
            if file.annotator:
                yield f"the annotation of {file.name} is automatic, by {file.annotator}; its errors count too"
        for part, account in self.accounts.items():
            cut = account.seen.cut_note("sentences", self.run.max_length)
            yield from (f"{part}: {note}" for note in (account.left_out.note(), cut) if note)


def offset_is_right(batch: Batch, offsets: Iterable[int] = OFFSETS) -> Tensor:
    """(case, offset) whether the word at each offset is the case's head; never so where the head is ROOT."""
    text, word = batch.cases()
    distance = (batch.head[text, word] - word)[:, None]
    is_root = (batch.head[text, word] < 0)[:, None]
    return (distance == torch.tensor(list(offsets))) & ~is_root


def best_offset(batches: Iterable[Batch]) -> int:
    """The offset that finds the head of most cases, the nearest one of equals."""
    right = torch.zeros(len(OFFSETS), dtype=torch.long)
    for batch in batches:
        right += offset_is_right(batch).sum(0)
    return max(OFFSETS, key=lambda offset: (int(right[OFFSETS.index(offset)]), -abs(offset), offset))
