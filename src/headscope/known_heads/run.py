"""Looking for known kinds of heads: made text, natural text, and a needle, each through the model once."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import Any, TypeVar

import torch
from torch import Tensor

from headscope.errors import CaptureError, ModelError, OptionError
from headscope.known_heads import reading
from headscope.known_heads.made import MadeTexts
from headscope.known_heads.needle import SUCCESS, Needle, Trial, draw, retrieve
from headscope.known_heads.result import (
    IN_TEXT,
    IN_TEXT_ENDING,
    MADE,
    RETRIEVAL,
    KnownResult,
)
from headscope.known_heads.written import WrittenKinds, count_written
from headscope.models import Model, ModelName, loaded
from headscope.passes.controlled import ControlledMeans
from headscope.passes.options import BatchSize, check_run_options
from headscope.passes.provenance import Source
from headscope.passes.reader import Reader, ReadText
from headscope.passes.run_pass import S, in_chunks, run_pass
from headscope.tasks import with_head
from headscope.text.corpus import Corpus, Text, as_corpus
from headscope.text.items import TextPair
from headscope.trace import Capture, check_reachable, surveyed
from headscope.trace.architecture import Place
from headscope.trace.watch import Watch
from headscope.types import Array, LayerAttention, StackName
from headscope.writing.effects import Tokens
from headscope.writing.readout import StraightPaths

T = TypeVar("T")
TEXTS = 20
TRIALS = 10


def known(
    model: ModelName,
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
    the first token; copying and copy suppression, by what a head adds directly to the score of the token it looks at.
    On natural `texts` (those of `analyze`) the same kinds. With a `needle` ("cue | answer"), which is hidden in the
    texts, also retrieval. `seed` is that of the random tokens and of where the texts around the needle are cut.
    """
    started = perf_counter()
    hidden = Needle.parse(needle) if isinstance(needle, str) else needle
    model = loaded(model)
    _check_decoder(surveyed(model))
    model, refused = _with_scores(model, needed=hidden is not None)
    if made < 2 or trials < 2:
        raise OptionError(f"give at least 2 random texts (made) and 2 trials, not {made} and {trials}")
    if hidden is not None and texts is None:
        raise OptionError("a needle is hidden in natural text; give some with --text (texts=)")
    words = MadeTexts.of(model, half=length, seed=seed)
    run = _Run(surveyed(model), refused, progress=progress)
    run.notes.insert(0, f"random text: {made} texts of {words.half} random tokens, each repeated once")
    run.on_made(words, made)
    loudness = run.on_written(words, made)
    options: dict[str, object] = {"made": made, "length": words.half, "seed": seed}
    reader = None
    if texts is not None:
        check_run_options(model, max_length=max_length, limit=limit, batch_size=batch_size)
        reader = Reader(as_corpus(texts), run.watch.encoder(max_length), limit)
        ids = run.on_text(reader, batch_size, keeps=hidden is not None)
        options |= {"max_length": max_length, "limit": limit}
        if hidden is not None:
            run.on_needle(list(draw(hidden, ids, run.capture, count=trials, length=needle_length, seed=seed)))
            options |= {"needle": str(hidden), "trials": trials}
    about: dict[str, Any] = {
        "options": options,
        "duration": perf_counter() - started,
        "notes": tuple(run.notes),
    }
    source = _made_source(words, made, **about) if reader is None else Source.of_corpus(reader, **about)
    return KnownResult(model, source, run.grid, run.sums, loudness)


def _with_scores(model: Model, *, needed: bool) -> tuple[Model, str]:
    """The model with a head that scores tokens; itself, and why, where it has none and none is `needed`."""
    try:
        return with_head(model, "next-token"), ""
    except ModelError as error:
        if needed:
            raise
        return model, str(error)


def _check_decoder(capture: Capture) -> None:
    """Raise ModelError for models that are no decoder without an encoder."""
    check_reachable(capture)
    grids = capture.stacks.grids
    if len(grids) > 1 or not grids[0].causal:
        raise ModelError(
            f"{capture.model.name} ({capture.model.architecture}) is not a decoder: known kinds of heads, induction "
            "and the others, are those of models that read from left to right; use headscope analyze and the probes"
        )


class _Run:
    """One model, and what its heads do on each kind of text."""

    def __init__(self, capture: Capture, refused: str, *, progress: bool) -> None:
        """`refused` says why the model has no scores; empty where it has them."""
        self.capture, self.grid = capture, capture.stacks.grids[0]
        self.watch, self.holding = Watch(capture), Watch(capture, holds_all=True)
        self.who = capture.model.name if progress else None
        self.sums = ControlledMeans({})
        self.notes: list[str] = []
        self.paths: StraightPaths | None = None
        """From heads to scores; None where there are no straight ones, or no scores at all, and a note says why."""
        try:
            self.paths = None if refused else StraightPaths.of(capture)
        except CaptureError as error:
            refused = str(error)
        if refused:
            self.notes.append(f"copying and copy suppression are left out: {refused}")

    def _each(
        self, things: Sequence[T], sums: S, count: Callable[[S, list[T]], None], *, size: int, on: str
    ) -> S:
        """The things (texts, trials) through the model, `size` at a time; a bar says what they are."""
        title = self.who and f"{self.who} on {on}"
        batches, number = in_chunks(max(1, size)), len(things)
        return run_pass(things, sums, count, batches=batches, title=title, expected=lambda done: number)

    def on_made(self, words: MadeTexts, texts: int) -> None:
        """Random tokens: the same ones again, and fresh ones."""
        half, start = words.half, int(words.start is not None)

        def count(part: ControlledMeans, numbers: list[int]) -> None:
            drawn, fresh = words.draw(numbers)
            copied: dict[int, tuple[Tensor, Tensor]] = {}

            def on_repeated(place: Place, weights: Tensor) -> None:
                earlier = reading.earlier_copy(weights, half, start)
                copied[place.layer] = (earlier, reading.after_copy(weights, half, start))

            def on_fresh(place: Place, weights: Tensor) -> None:
                layer = place.layer
                duplicate, induction = copied.pop(layer)
                part.add("previous", layer, *reading.previous_token(weights, start))
                part.add("duplicate", layer, duplicate, reading.earlier_copy(weights, half, start))
                part.add("induction", layer, induction, reading.after_copy(weights, half, start))
                part.add("sink", layer, *reading.first_token(weights))

            self.capture.run(self._inputs(words.begun(torch.cat([drawn, drawn], 1))), on_repeated)
            self.capture.run(self._inputs(words.begun(torch.cat([drawn, fresh], 1))), on_fresh)

        empty, size = ControlledMeans.zeros(self.grid, MADE), self.watch.texts_at()(2 * half + 1)
        self.sums.merge(self._each(range(texts), empty, count, size=size, on="random text"))

    def _inputs(self, ids: Tensor) -> dict[str, Tensor]:
        """Texts (text, token) of one length as the model takes them."""
        ids = ids.to(self.capture.model.device)
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    def on_text(self, reader: Reader, batch_size: BatchSize, *, keeps: bool) -> Tensor:
        """Natural text. (token,) its tokens one after the other, where a needle is to be hidden in them."""
        ids: list[int] = []

        def see(part: ControlledMeans, stack: StackName, batch: LayerAttention) -> None:
            for kind, read in IN_TEXT.items():
                part.add(kind, batch.layer, *read(batch))

        def count(part: ControlledMeans, texts: list[ReadText]) -> None:
            self.watch.run(self.watch.batch([text.encoded for text in texts]), partial(see, part))

        def kept(texts: Iterable[ReadText]) -> Iterator[ReadText]:
            for text in texts:
                source = text.encoded.source
                ids.extend(token for token, word in zip(source.ids, source.word, strict=True) if word >= 0)
                yield text

        batches = self.watch.batches(batch_size, reader.encoder.max_length)
        empty, texts = ControlledMeans.zeros(self.grid, IN_TEXT), kept(reader) if keeps else None
        self.sums.merge(reader.through(empty, count, batches=batches, who=self.who, texts=texts))
        self._on_written_text(Reader(reader.corpus, reader.encoder, reader.limit), batch_size)
        return torch.tensor(ids, dtype=torch.long)

    def on_written(self, words: MadeTexts, texts: int) -> Array | None:
        """Kinds by what heads write on fresh random tokens. (layer, head) how loud they are."""
        if (paths := self.paths) is None:
            return None

        def count(part: WrittenKinds, numbers: list[int]) -> None:
            inputs = self._inputs(words.begun(torch.cat(words.draw(numbers), 1)))
            ids = inputs["input_ids"]
            real = torch.ones_like(ids, dtype=torch.bool)
            tokens = Tokens(ids, real, real if words.start is None else ids != words.start)
            count_written(part, paths, inputs, tokens)

        empty, size = WrittenKinds.zeros(self.grid, ""), self.holding.texts_at()(2 * words.half + 1)
        written = self._each(range(texts), empty, count, size=size, on="random text, what heads write")
        self.sums.merge(written.kinds)
        return written.loudness.mean()

    def _on_written_text(self, reader: Reader, batch_size: BatchSize) -> None:
        """Copying and copy suppression on natural text."""
        if (paths := self.paths) is None:
            return

        def count(part: WrittenKinds, texts: list[ReadText]) -> None:
            batch = self.holding.batch([text.encoded for text in texts])
            count_written(part, paths, batch.inputs, Tokens.of(batch.source), IN_TEXT_ENDING)

        batches = self.holding.batches(batch_size, reader.encoder.max_length)
        empty, who = (
            WrittenKinds.zeros(self.grid, IN_TEXT_ENDING),
            self.who and f"what heads of {self.who} write",
        )
        self.sums.merge(reader.through(empty, count, batches=batches, who=who).kinds)

    def on_needle(self, drawn: list[Trial]) -> None:
        """Trials with a needle; those count in which the model repeated it."""
        repeated = 0

        def count(part: ControlledMeans, trials: list[Trial]) -> None:
            nonlocal repeated
            for trial in trials:
                retrieved = retrieve(self.capture, trial)
                if retrieved.written < SUCCESS:
                    continue
                repeated += 1
                both = zip(retrieved.fetched, retrieved.control, strict=True)
                for layer, (fetched, control) in enumerate(both):
                    part.add(RETRIEVAL, layer, fetched[None], control[None])

        empty = ControlledMeans.zeros(self.grid, [RETRIEVAL])
        self.sums.merge(self._each(drawn, empty, count, size=1, on="the needle"))
        self.notes.append(
            f"the model repeated at least half of the needle in {repeated} of {len(drawn)} trials; only these count"
            + ("" if repeated else ", so retrieval could not be scored")
        )


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
