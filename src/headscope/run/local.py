"""The main job in one process: texts in, every head observed, an atlas out."""

import hashlib
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from typing import Literal

import torch
from torch import Tensor

from headscope.atlas import Atlas
from headscope.capture import Capture, survey
from headscope.errors import HeadscopeWarning, OptionError, TextError
from headscope.measures import MEASURES, HeadDistance, Measure
from headscope.models import Model, load
from headscope.models.stacks import Place
from headscope.run.progress import RunProgress, progress_bar, silent
from headscope.run.provenance import provenance
from headscope.text.batching import TextBatch, bucketed, collate
from headscope.text.corpus import Corpus, Text, as_corpus
from headscope.text.encode import EncodedInput, Layout, TextEncoder
from headscope.text.items import TextPair
from headscope.text.segments import segments
from headscope.types import AttentionBatch, LabelledArray, StackName, TokenBatch

# How much is put through the model at once. On a CPU one batch's maps of one layer should stay in cache; an
# accelerator wants to be kept busy. Head distances hold all layers' maps of a batch, which bounds it too.
CPU_TOKENS = 1024
ACCELERATOR_TOKENS = 32_768
LAYER_BYTES = 1 << 30
HELD_BYTES = {"cpu": 256 << 20}
HELD_BYTES_ELSEWHERE = 4 << 30

UNKNOWN_WORTH_TELLING = 0.1


def analyze(
    model: Model | str | os.PathLike[str],
    texts: Corpus | TextPair | Iterable[Text],
    *,
    measures: Sequence[str] | Literal["all"] = "all",
    max_length: int = 128,
    limit: int | None = None,
    batch_size: int | Literal["auto"] = "auto",
    faithful: bool = False,
    progress: bool = False,
) -> Atlas:
    """Observe every attention head of a model on texts and return the atlas.

    `texts` is what `read_text` or `read_pairs` return, or any iterable of strings (documents, split into
    sentences and packed into segments) and (first, second) pairs, taken as they are. `limit` stops after that
    many segments or pairs. `faithful` computes the published forms, quirks included. Nothing depends on
    `batch_size` but speed and memory.
    """
    started = perf_counter()
    model = model if isinstance(model, Model) else load(model)
    corpus = as_corpus(texts)
    kinds = _chosen(measures)
    _check(model, max_length=max_length, limit=limit, batch_size=batch_size)
    run = _Run(survey(model), kinds, faithful=faithful)
    encoder = TextEncoder(model.tokenizer, run.layout, max_length, _decoder_start(model))
    reader = _Reader(corpus, encoder, limit, faithful=faithful)
    given = run.fitting if batch_size == "auto" or not run.capture.pads else (lambda length: batch_size)
    with progress_bar(f"{model.name} on {corpus.name}") if progress else nullcontext(silent) as tell:
        for batch in bucketed(reader, texts_at=given, longest=max_length):
            run.add(batch)
            tell(RunProgress(run.texts, reader.expected(run.texts)))
    if run.texts == 0:
        raise TextError(f"{corpus.name} holds no text that could be analysed")
    reader.warn(model)
    facts = provenance(
        model,
        corpus=corpus.name,
        corpus_hash=reader.digest.hexdigest(),
        texts=run.texts,
        documents=reader.documents,
        tokens=run.tokens,
        texts_cut=reader.cut,
        options={
            "measures": [kind.name for kind in kinds],
            "max_length": max_length,
            "limit": limit,
            "batch_size": batch_size,
            "faithful": faithful,
            "device": str(model.device),
            "dtype": str(model.dtype).removeprefix("torch."),
            "captured_by": "hook" if run.capture.hooked else "returned attentions",
        },
        duration=perf_counter() - started,
    )
    return Atlas.build(run.results(), provenance=facts)


def _chosen(measures: Sequence[str] | Literal["all"]) -> list[type[Measure]]:
    if isinstance(measures, str):
        measures = MEASURES.names() if measures == "all" else [measures]
    if not measures:
        raise OptionError(f"no measure was asked for; choose from all, {', '.join(MEASURES.names())}")
    return [MEASURES.get(name) for name in dict.fromkeys(measures)]


def _check(model: Model, *, max_length: int, limit: int | None, batch_size: int | str) -> None:
    if model.max_length is not None and max_length > model.max_length:
        raise OptionError(
            f"max_length {max_length} is more than the {model.max_length} tokens {model.name} takes; give "
            f"--max-length {model.max_length} (max_length={model.max_length}) or less"
        )
    if limit is not None and limit < 1:
        raise OptionError(f"limit must be at least 1, not {limit}")
    if batch_size != "auto" and (not isinstance(batch_size, int) or batch_size < 1):
        raise OptionError(f"batch_size must be auto or at least 1, not {batch_size!r}")


def _decoder_start(model: Model) -> int | None:
    start: int | None = getattr(model.config, "decoder_start_token_id", None)
    padding: int | None = getattr(model.config, "pad_token_id", None)
    return padding if start is None else start


class _Reader:
    """Encoded texts in reading order, with a running account of what was read."""

    def __init__(self, corpus: Corpus, encoder: TextEncoder, limit: int | None, *, faithful: bool) -> None:
        self.corpus = corpus
        self.encoder = encoder
        self.limit = limit
        self.faithful = faithful
        self.digest = hashlib.sha256()
        self.read = self.documents = self.cut = self.tokens = self.unknown = 0
        self.exhausted = False

    def __iter__(self) -> Iterator[EncodedInput]:
        unknown = self.encoder.tokenizer.unk_token_id
        items = self.corpus.items(faithful=self.faithful)
        document: int | None = None
        for pair in islice(segments(items, self.encoder), self.limit):
            self.documents += pair.document is None or pair.document != document
            document = pair.document
            self.digest.update(f"{pair.first}\0{pair.second or ''}\n".encode())
            encoded = self.encoder.encode(pair)
            self.read += 1
            self.cut += encoded.cut
            self.tokens += len(encoded.source)
            if unknown is not None:
                self.unknown += encoded.source.ids.count(unknown)
            yield encoded
        self.exhausted = True

    def expected(self, done: int) -> float | None:
        """How many texts there will be, as far as can be told."""
        if self.exhausted:
            return self.read
        share = self.corpus.progress
        by_bytes = None if not share else max(done, self.read / share)
        if self.limit is None:
            return by_bytes
        return self.limit if by_bytes is None else min(self.limit, by_bytes)

    def warn(self, model: Model) -> None:
        """Tell what a user should know before trusting the numbers."""
        if self.unknown > UNKNOWN_WORTH_TELLING * self.tokens:
            warnings.warn(
                f"{self.unknown / self.tokens:.0%} of the tokens are unknown to the tokenizer of {model.name}; "
                "is the text in a language it was made for?",
                HeadscopeWarning,
                stacklevel=3,
            )
        if self.cut:
            warnings.warn(
                f"{self.cut} of {self.read} texts were longer than {self.encoder.max_length} tokens and lost "
                "their end; raise --max-length (max_length=) to keep more",
                HeadscopeWarning,
                stacklevel=3,
            )


@dataclass(frozen=True)
class _States:
    """One measure's sums for every stack it fits."""

    by_stack: dict[StackName, list[Measure]]

    def merge(self, other: "_States") -> None:
        for stack, states in self.by_stack.items():
            for state, addition in zip(states, other.by_stack[stack], strict=True):
                state.merge(addition)


class _Run:
    """The sums of a run, and how batches are added to them."""

    def __init__(self, capture: Capture, kinds: list[type[Measure]], *, faithful: bool) -> None:
        self.capture = capture
        self.model = capture.model
        self.kinds = kinds
        self.faithful = faithful
        self.states = self._empty()
        self.texts = self.tokens = 0
        if not any(self.states.by_stack.values()):
            names = ", ".join(kind.name for kind in kinds)
            raise OptionError(f"none of the measures asked for ({names}) fits {self.model.name}")

    @property
    def layout(self) -> Layout:
        """How this model takes two texts."""
        if self.model.is_encoder_decoder:
            return "source-target"
        return "joined" if self.capture.stacks.grids[0].causal else "pair"

    def fitting(self, length: int) -> int:
        """How many texts of this length go through the model together."""
        if not self.capture.pads:
            return 1
        on_cpu = self.model.device.type == "cpu"
        by_tokens = (CPU_TOKENS if on_cpu else ACCELERATOR_TOKENS) // length
        map_bytes = 4 * length * length
        grids = self.capture.stacks.grids
        by_layer = LAYER_BYTES // (max(grid.heads for grid in grids) * map_bytes)
        limits = [by_tokens, by_layer]
        if HeadDistance in self.kinds or not self.capture.hooked:
            held = HELD_BYTES.get(self.model.device.type, HELD_BYTES_ELSEWHERE)
            limits.append(held // (sum(grid.layers * grid.heads for grid in grids) * map_bytes))
        return max(1, min(limits))

    def add(self, texts: list[EncodedInput]) -> None:
        """Count a batch; on an accelerator short of memory, count it in two halves."""
        try:
            self._add(texts)
            return
        except torch.OutOfMemoryError:
            if len(texts) == 1:
                raise
        # Outside the except clause, whose traceback would keep the failed batch's maps alive.
        torch.cuda.empty_cache()
        half = len(texts) // 2
        self.add(texts[:half])
        self.add(texts[half:])

    def _add(self, texts: list[EncodedInput]) -> None:
        batch = collate(
            texts,
            pad=self.model.tokenizer.pad_token_id or 0,
            has_segments=self.model.has_segments,
            one_segment=self.faithful,
            device=self.model.device,
        )
        # A batch is counted apart and merged when it is whole, so that one that fails half-way leaves no trace.
        part = self._empty()

        def see(place: Place, attention: Tensor) -> None:
            queries, keys = _sides(batch, place.stack)
            seen = AttentionBatch.observed(place.layer, attention, queries, keys)
            for state in part.by_stack[place.stack]:
                state.update(seen)

        self.capture.run(batch.inputs, see)
        self.states.merge(part)
        self.texts += batch.texts
        self.tokens += batch.tokens

    def results(self) -> dict[str, dict[str, LabelledArray]]:
        """The arrays of every stack that any measure fits, by name."""
        found: dict[str, dict[str, LabelledArray]] = {}
        for stack, states in self.states.by_stack.items():
            for state in states:
                for name, array in state.result().items():
                    if name in found.setdefault(stack, {}):
                        raise OptionError(
                            f"two measures both give an array called {name!r}; leave one of them out"
                        )
                    found[stack][name] = array
        return found

    def _empty(self) -> _States:
        return _States(
            {
                grid.stack: [
                    kind.empty(grid, faithful=self.faithful) for kind in self.kinds if kind.fits(grid)
                ]
                for grid in self.capture.stacks.grids
            }
        )


def _sides(batch: TextBatch, stack: StackName) -> tuple[TokenBatch, TokenBatch]:
    """The tokens that ask and the tokens that are looked at."""
    if batch.target is None or stack == "encoder":
        return batch.source, batch.source
    return batch.target, batch.target if stack == "decoder" else batch.source
