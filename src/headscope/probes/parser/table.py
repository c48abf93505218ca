"""The parser probes and everything they are measured against, in one run and one table."""

import copy
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from headscope.models import Model, ModelName, loaded, wrap
from headscope.probes.means import CaseMeans
from headscope.probes.observe import Pass
from headscope.probes.parser.attention import CACHE_LIMIT
from headscope.probes.parser.data import Account, Batch, running_words
from headscope.probes.parser.probe import (
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
from headscope.probes.parser.result import PARSERS, RIGHT_BRANCHING, ParserResult, ParserScore, count
from headscope.probes.parser.training import Learner
from headscope.probes.pointing.dependency import OFFSETS
from headscope.probes.result import Source
from headscope.run.options import BatchSize
from headscope.text.annotated.treebank import Treebank
from headscope.text.skipped import Skipped
from headscope.types import StackName, WeighedBy, weigh_option

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
        stack, seed, max_epochs, patience, cache_limit, max_length, batch_size, progress, limit, weigh
    )
    networks = {"model": probed, "random": untrained(probed, seed=seed)}
    run = ParserRun(networks, options, vectors=vectors)
    data = Data(run.batcher, train, dev)
    accounts = {**data.accounts, "test": Account()}
    batches = run.read(test, accounts["test"])
    if not accounts["test"].cases:
        raise nothing_to_score(test.name)
    learners = run.fit(PLANS, data)
    offset = best_offset(data.train)
    scores = _scores(run, learners, batches, offset, accounts["test"].left_out)
    notes = (
        *_about_training(run, data, list(learners.values()), batches, scores["attention"]),
        *_left_out(run, [*data.files, test], accounts),
    )
    source = _source(run, data, test, accounts.values(), notes, duration=perf_counter() - started)
    return ParserResult(probed, source, run.grid, scores, learners, offset)


def _scores(
    run: ParserRun, learners: Mapping[str, Learner], test: Sequence[Batch], offset: int, left_out: Skipped
) -> dict[str, ParserScore]:
    """How well every parser does on the test set."""
    means = CaseMeans(len(PARSERS))
    for batch, guesses in run.guesses(list(learners.values()), test):
        rules = offset_is_right(batch, (RIGHT_BRANCHING, offset))
        right = {"right_branching": rules[:, 0], "best_offset": rules[:, 1]}
        right |= {name: batch.is_right(guess) for name, guess in zip(learners, guesses, strict=True)}
        count(means, batch, [right[name] for name in PARSERS])
    return {name: ParserScore.of(means, place, left_out) for place, name in enumerate(PARSERS)}


def _source(
    run: ParserRun,
    data: Data,
    test: Treebank,
    accounts: Iterable[Account],
    notes: tuple[str, ...],
    *,
    duration: float,
) -> Source:
    files = [*data.files, test]
    seen = Pass()
    for account in accounts:
        seen.merge(account.seen)
    return Source(
        data=", ".join(dict.fromkeys(file.name for file in files)),
        data_hash=hashlib.sha256(b"".join(account.digest.digest() for account in accounts)).hexdigest(),
        annotator=", ".join(sorted({file.annotator for file in files if file.annotator})) or None,
        texts=seen.texts,
        documents=sum(len(account.documents) for account in accounts),
        tokens=seen.tokens,
        texts_cut=seen.texts_cut,
        skipped=sum(file.skipped.count for file in files),
        options={
            "train": data.files[0].name,
            "dev": data.dev_name,
            "test": test.name,
            "vectors": "none" if run.lexicon is None else run.lexicon.name,
            "stack": run.grid.stack,
            **({} if run.options.limit is None else {"limit": run.options.limit}),
            **{key: getattr(run.options, key) for key in ("seed", "max_epochs", "patience")},
            "max_length": run.max_length,
            "batch_size": run.options.batch_size,
            **weigh_option(run.options.weigh),
        },
        duration=duration,
        notes=notes,
    )


def _about_training(
    run: ParserRun, data: Data, learners: Sequence[Learner], test: Sequence[Batch], score: ParserScore
) -> Iterator[str]:
    assert run.lexicon is not None
    trained, tested = (run.lexicon.coverage(running_words(batches)) for batches in (data.train, test))
    yield (
        f"word vectors: {run.lexicon.name}; {trained:.1%} of the training words and {tested:.1%} of the test words "
        "have one, the others get the mean"
    )
    stops = ", ".join(f"{learner.name} {learner.best_epoch} of {learner.epochs}" for learner in learners)
    yield f"training was stopped by the UAS on {data.dev_name}; best epoch: {stops}"
    still = [learner.name for learner in learners if learner.best_epoch == run.options.max_epochs]
    if still:
        yield f"still getting better in the last epoch: {', '.join(still)}; raise max_epochs (--max-epochs)"
    yield (
        f"{1 - score.cases_headed / score.cases:.1%} of the test cases are roots, which right_branching and "
        "best_offset cannot find; uas_headed leaves them out"
    )


def _left_out(run: ParserRun, files: Sequence[Treebank], accounts: Mapping[str, Account]) -> Iterator[str]:
    assert run.lexicon is not None
    for skipped in (run.lexicon.skipped, *(file.skipped for file in files)):
        if skipped is not None and (note := skipped.note()):
            yield note
    for file in files:
        if file.annotator:
            yield f"the annotation of {file.name} is automatic, by {file.annotator}; its errors count too"
    for part, account in accounts.items():
        for note in filter(
            None, (account.left_out.note(), account.seen.cut_note("sentences", run.max_length))
        ):
            yield f"{part}: {note}"


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


def untrained(model: Model, *, seed: int) -> Model:
    """A network of the same shape with the random weights its training would start from, and the same tokenizer."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network: Any = type(model.core)(copy.deepcopy(model.core.config))
    network.to(device=model.device, dtype=model.dtype)
    return wrap(network.eval(), model.tokenizer, name=f"{model.name} with random weights")
