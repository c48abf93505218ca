"""Looking for known kinds of heads: made text, natural text, and a needle, each through the model once."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from headscope.capture import Capture, check_reachable, surveyed
from headscope.errors import CaptureError, ModelError, OptionError, TextError
from headscope.known_heads import reading
from headscope.known_heads.made import MadeTexts
from headscope.known_heads.needle import SUCCESS, Needle, Trial, draw, retrieve
from headscope.known_heads.result import (
    IN_TEXT,
    IN_TEXT_ENDING,
    MADE,
    RETRIEVAL,
    SINK_WITHOUT_START,
    KnownResult,
)
from headscope.known_heads.written import Writing, WrittenKinds
from headscope.models import Model, load
from headscope.models.stacks import Place
from headscope.probes.result import Source
from headscope.run.controlled import ControlledMeans
from headscope.run.one_pass import in_chunks, run_pass
from headscope.run.options import BatchSize, check_run_options
from headscope.run.reading.reader import Reader, ReadText
from headscope.run.watch import Watch
from headscope.tasks import with_head
from headscope.text.corpus import Corpus, Text, as_corpus
from headscope.text.items import TextPair
from headscope.types import Array, AttentionBatch, HeadGrid, StackName
from headscope.writing.effects import Tokens

TEXTS = 20
TRIALS = 10


def known(
    model: Model | str | os.PathLike[str],
    texts: Corpus | TextPair | Iterable[Text] | None = None,
    *,
    needle: Needle | str | None = None,
    made: int = TEXTS,
    length: int | None = None,
    trials: int = TRIALS,
    needle_length: int | None = None,
    max_length: int = 128,
    limit: int | None = None,
    batch_size: BatchSize = "auto",
    seed: int = 0,
    progress: bool = False,
) -> KnownResult:
    """Which heads of a decoder are of a known kind, each beside a control.

    On `made` texts of random tokens, twice `length` long: previous token, duplicate token, induction and the sink on
    the first token, with and without a start token; copying and copy suppression, by what a head adds directly to the
    score of the token it looks at. From the weights: successor heads. On natural `texts` (those of `analyze`) the same
    kinds but the last. With a
    `needle` ("cue | answer"), which is hidden in the texts, also retrieval. `seed` is that of the random tokens and of
    where the texts around the needle are cut.
    """
    started = perf_counter()
    hidden = Needle.parse(needle) if isinstance(needle, str) else needle
    model = model if isinstance(model, Model) else load(model)
    _decoder(surveyed(model))
    model, refused = _with_scores(model, needed=hidden is not None)
    capture = surveyed(model)
    grid = capture.stacks.grids[0]
    if made < 2 or trials < 2:
        raise OptionError(f"give at least 2 random texts (made) and 2 trials, not {made} and {trials}")
    if hidden is not None and texts is None:
        raise OptionError("a needle is hidden in natural text; give some with --text (texts=)")
    run = _Run(capture, grid, progress=progress)
    words = MadeTexts.of(model, half=length, seed=seed)
    sums = run.on_made(words, made)
    notes = [f"random text: {made} texts of {words.half} random tokens, each repeated once"]
    writing = _writing(capture, refused, notes)
    loudness = None if writing is None else run.on_written(writing, sums, words, made, notes)
    options: dict[str, object] = {"made": made, "length": words.half, "seed": seed}
    reader = None
    if texts is not None:
        check_run_options(model, max_length=max_length, limit=limit, batch_size=batch_size)
        corpus = as_corpus(texts)
        reader = Reader(corpus, run.watch.encoder(max_length), limit)
        natural, ids = run.on_text(reader, batch_size, keeps=hidden is not None)
        sums.merge(natural)
        if writing is not None:
            sums.merge(run.on_written_text(writing, Reader(corpus, reader.encoder, limit), batch_size))
        options |= {"max_length": max_length, "limit": limit}
        if hidden is not None:
            drawn = list(draw(hidden, ids, capture, count=trials, length=needle_length, seed=seed))
            sums.merge(run.on_needle(drawn, notes))
            options |= {"needle": str(hidden), "trials": trials}
    about: dict[str, Any] = {"options": options, "duration": perf_counter() - started, "notes": tuple(notes)}
    source = _made_source(words, made, **about) if reader is None else Source.of_corpus(reader, **about)
    return KnownResult(model, source, grid, sums, loudness)


def _with_scores(model: Model, *, needed: bool) -> tuple[Model, str]:
    """The model with a head that scores tokens; itself, and why, where it has none and none is `needed`."""
    try:
        return with_head(model, "next-token"), ""
    except ModelError as error:
        if needed:
            raise
        return model, str(error)


def _writing(capture: Capture, refused: str, notes: list[str]) -> Writing | None:
    """The straight paths to the scores; None where there are none, or no scores at all, and a note says why."""
    try:
        if not refused:
            return Writing.of(capture)
    except CaptureError as error:
        refused = str(error)
    notes.append(f"copying, copy suppression and successor heads are left out: {refused}")
    return None


def _decoder(capture: Capture) -> None:
    """Raise ModelError for models that are no decoder without an encoder."""
    check_reachable(capture)
    grids = capture.stacks.grids
    if len(grids) > 1 or not grids[0].causal:
        raise ModelError(
            f"{capture.model.name} ({capture.model.architecture}) is not a decoder: known kinds of heads, induction "
            "and the others, are those of models that read from left to right; use headscope analyze and the probes"
        )


@dataclass(frozen=True)
class _Run:
    """One model, and what its heads do on each kind of text."""

    capture: Capture
    grid: HeadGrid
    progress: bool

    @property
    def watch(self) -> Watch:
        return Watch(self.capture)

    def _title(self, what: str) -> str | None:
        return f"{self.capture.model.name} on {what}" if self.progress else None

    def on_made(self, words: MadeTexts, texts: int) -> ControlledMeans:
        """Random tokens: the same ones again, fresh ones, and fresh ones without a start token."""
        kinds = [kind for kind in MADE if kind != SINK_WITHOUT_START or words.start is not None]
        size = max(1, self.watch.texts_at()(2 * words.half + 1))

        def count(part: ControlledMeans, numbers: list[int]) -> None:
            drawn, fresh = words.draw(numbers)
            start = int(words.start is not None)
            copied: dict[int, tuple[Tensor, Tensor]] = {}

            def on_repeated(place: Place, weights: Tensor) -> None:
                copied[place.layer] = (
                    reading.earlier_copy(weights, words.half, start),
                    reading.after_copy(weights, words.half, start),
                )

            def on_fresh(place: Place, weights: Tensor) -> None:
                layer = place.layer
                duplicate, induction = copied.pop(layer)
                numbers = {
                    "previous": reading.previous_token(weights, start),
                    "duplicate": (duplicate, reading.earlier_copy(weights, words.half, start)),
                    "induction": (induction, reading.after_copy(weights, words.half, start)),
                    "sink": reading.first_token(weights),
                }
                for kind, (attention, control) in numbers.items():
                    part.add(kind, layer, attention, control)

            def on_unbegun(place: Place, weights: Tensor) -> None:
                part.add(SINK_WITHOUT_START, place.layer, *reading.first_token(weights))

            self._show(words.begun(torch.cat([drawn, drawn], 1)), on_repeated)
            self._show(words.begun(torch.cat([drawn, fresh], 1)), on_fresh)
            if words.start is not None:
                self._show(torch.cat([drawn, fresh], 1), on_unbegun)

        return run_pass(
            range(texts),
            ControlledMeans.zeros(self.grid, kinds),
            count,
            batches=in_chunks(size),
            title=self._title("random text"),
            expected=lambda done: texts,
        )

    def _show(self, ids: Tensor, see: Callable[[Place, Tensor], None]) -> None:
        """Texts (text, token) of one length through the model."""
        ids = ids.to(self.capture.model.device)
        self.capture.run({"input_ids": ids, "attention_mask": torch.ones_like(ids)}, see)

    def on_text(
        self, reader: Reader, batch_size: BatchSize, *, keeps: bool
    ) -> tuple[ControlledMeans, Tensor]:
        """Natural text; and its tokens one after the other, where a needle is to be hidden in them."""
        watch, ids = self.watch, list[int]()

        def see(part: ControlledMeans, stack: StackName, batch: AttentionBatch) -> None:
            for kind, read in IN_TEXT.items():
                part.add(kind, batch.layer, *read(batch))

        def count(part: ControlledMeans, texts: list[ReadText]) -> None:
            watch.run(watch.batch([text.encoded for text in texts]), partial(see, part))

        def kept(texts: Iterable[ReadText]) -> Iterator[ReadText]:
            for text in texts:
                if keeps:
                    source = text.encoded.source
                    ids.extend(
                        token for token, word in zip(source.ids, source.word, strict=True) if word >= 0
                    )
                yield text

        sums = run_pass(
            kept(reader),
            ControlledMeans.zeros(self.grid, IN_TEXT),
            count,
            batches=watch.batches(batch_size, reader.encoder.max_length),
            title=self._title(reader.corpus.name),
            expected=reader.expected,
        )
        if not reader.read:
            raise TextError(f"{reader.corpus.name} holds no usable text")
        return sums, torch.tensor(ids, dtype=torch.long)

    def on_written(
        self, writing: Writing, sums: ControlledMeans, words: MadeTexts, texts: int, notes: list[str]
    ) -> Array:
        """Kinds by what heads write: on fresh random tokens, and from the weights. (layer, head) how loud they are."""
        watch = Watch(self.capture, holds_all=True)

        def count(part: WrittenKinds, numbers: list[int]) -> None:
            ids = words.begun(torch.cat(words.draw(numbers), 1)).to(self.capture.model.device)
            real = torch.ones_like(ids, dtype=torch.bool)
            ordinary = real if words.start is None else ids != words.start
            tokens = Tokens(ids, real, ordinary)
            writing.count(part, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, tokens)

        written = run_pass(
            range(texts),
            WrittenKinds.zeros(self.grid, ""),
            count,
            batches=in_chunks(max(1, watch.texts_at()(2 * words.half + 1))),
            title=self._title("random text, what heads write"),
            expected=lambda done: texts,
        )
        sums.merge(written.kinds)
        steps = writing.successors(self.grid)
        if steps is None:
            notes.append(
                "successor heads are left out: too few items of ordered lists are a single token, or the weights are "
                "kept in an unknown form"
            )
        else:
            sums.merge(steps)
        return written.loudness.mean()

    def on_written_text(self, writing: Writing, reader: Reader, batch_size: BatchSize) -> ControlledMeans:
        """Copying and copy suppression on natural text."""
        watch = Watch(self.capture, holds_all=True)

        def count(part: WrittenKinds, texts: list[ReadText]) -> None:
            batch = watch.batch([text.encoded for text in texts])
            writing.count(part, batch.inputs, Tokens.of(batch.source), IN_TEXT_ENDING)

        return run_pass(
            reader,
            WrittenKinds.zeros(self.grid, IN_TEXT_ENDING),
            count,
            batches=watch.batches(batch_size, reader.encoder.max_length),
            title=self._title(f"{reader.corpus.name}, what heads write"),
            expected=reader.expected,
        ).kinds

    def on_needle(self, drawn: list[Trial], notes: list[str]) -> ControlledMeans:
        """Trials with a needle; those count in which the model repeated it."""
        sums, repeated = ControlledMeans.zeros(self.grid, [RETRIEVAL]), 0

        def count(part: ControlledMeans, some: list[Trial]) -> None:
            nonlocal repeated
            for trial in some:
                retrieved = retrieve(self.capture, trial)
                if retrieved.written < SUCCESS:
                    continue
                repeated += 1
                for layer, (fetched, control) in enumerate(
                    zip(retrieved.fetched, retrieved.control, strict=True)
                ):
                    part.add(RETRIEVAL, layer, fetched[None], control[None])

        run_pass(
            drawn,
            sums,
            count,
            batches=in_chunks(1),
            title=self._title("the needle"),
            expected=lambda done: len(drawn),
        )
        notes.append(
            f"the model repeated at least half of the needle in {repeated} of {len(drawn)} trials; only these count"
            + ("" if repeated else ", so retrieval could not be scored")
        )
        return sums


def _made_source(words: MadeTexts, made: int, **about: Any) -> Source:
    """Where the numbers come from when there was made text alone."""
    return Source(
        data="random text",
        data_hash=hashlib.sha256(f"{words.half} {words.seed} {made}".encode()).hexdigest(),
        texts=made,
        documents=made,
        tokens=made * (2 * words.half + int(words.start is not None)),
        texts_cut=0,
        **about,
    )
