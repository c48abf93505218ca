"""The main job in one process: texts in, every head observed, an atlas out."""

import hashlib
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from typing import Literal

from headscope.atlas import Atlas, Typical
from headscope.capture import Capture, survey
from headscope.errors import HeadscopeWarning, OptionError, TextError
from headscope.measures import MEASURES, HeadDistance, Measure
from headscope.models import Model, load
from headscope.run.progress import RunProgress, Tell, progress_bar, silent
from headscope.run.provenance import ModelState, provenance
from headscope.run.sample import SentenceSample
from headscope.run.typical import typical_sentences
from headscope.run.watch import Watch, in_halves
from headscope.text.batching import bucketed
from headscope.text.corpus import Corpus, Text, as_corpus
from headscope.text.encode import EncodedInput, TextEncoder
from headscope.text.items import TextPair
from headscope.text.segments import segments
from headscope.types import AttentionBatch, LabelledArray, StackName

UNKNOWN_WORTH_TELLING = 0.1

SENTENCES = 256
"""Out of how many sentences those are chosen on which a head is most typical."""


def analyze(
    model: Model | str | os.PathLike[str],
    texts: Corpus | TextPair | Iterable[Text],
    *,
    measures: Sequence[str | type[Measure]] | Literal["all"] = "all",
    max_length: int = 128,
    limit: int | None = None,
    batch_size: int | Literal["auto"] = "auto",
    faithful: bool = False,
    sentences: int = SENTENCES,
    progress: bool = False,
) -> Atlas:
    """Observe every attention head of a model on texts and return the atlas.

    `texts` is what `read_text` or `read_pairs` return, or any iterable of strings (documents, split into
    sentences and packed into segments) and (first, second) pairs, taken as they are. `limit` stops after that
    many segments or pairs. `measures` are names, or classes that are in no registry. `faithful` computes the
    published forms, quirks included. Out of so many `sentences` of the texts the atlas quotes those on which a head
    is most typical; with 0 it holds no text. Nothing depends on `batch_size` but speed and memory.
    """
    started = perf_counter()
    model = model if isinstance(model, Model) else load(model)
    corpus = as_corpus(texts)
    kinds = _chosen(measures)
    _check(model, max_length=max_length, limit=limit, batch_size=batch_size, sentences=sentences)
    run = _Run(survey(model), kinds, faithful=faithful)
    reader = _Reader(
        corpus, run.watch.encoder(max_length), limit, SentenceSample(sentences), faithful=faithful
    )
    with progress_bar(f"{model.name} on {corpus.name}") if progress else nullcontext(silent) as tell:
        for batch in bucketed(reader, texts_at=run.watch.texts_at(batch_size), longest=max_length):
            in_halves(batch, run.add)
            tell(RunProgress(run.texts, reader.expected(run.texts)))
        if run.texts == 0:
            raise TextError(f"{corpus.name} holds no text that could be analysed")
        results = run.results()
        typical = _typical(run, reader, batch_size, tell)
    reader.warn(model)
    options = {
        "measures": [kind.name for kind in kinds],
        "max_length": max_length,
        "limit": limit,
        "batch_size": batch_size,
        "faithful": faithful,
        "sentences": sentences,
    }
    facts = _facts(model, run, reader, options, duration=perf_counter() - started)
    return Atlas.build(results, provenance=facts, typical=typical)


def _facts(
    model: Model, run: "_Run", reader: "_Reader", options: Mapping[str, object], *, duration: float
) -> dict[str, str | int | float]:
    """Where the numbers come from."""
    return provenance(
        ModelState.of(model),
        corpus=reader.corpus.name,
        corpus_hash=reader.digest.hexdigest(),
        texts=run.texts,
        documents=reader.documents,
        tokens=run.tokens,
        texts_cut=reader.cut,
        options={
            **options,
            "device": str(model.device),
            "dtype": str(model.dtype).removeprefix("torch."),
            "captured_by": "hook" if run.capture.hooked else "returned attentions",
        },
        duration=duration,
    )


def _typical(
    run: "_Run", reader: "_Reader", batch_size: int | Literal["auto"], tell: Tell
) -> dict[str, list[Typical]]:
    """A second look, at the few sentences that were kept while the texts were read."""
    chosen = reader.sample.chosen()
    return typical_sentences(
        run.watch,
        reader.encoder,
        chosen,
        batch_size=batch_size,
        tell=lambda done: tell(RunProgress(run.texts + done, run.texts + len(chosen))),
    )


def _chosen(measures: Sequence[str | type[Measure]] | Literal["all"]) -> list[type[Measure]]:
    if isinstance(measures, str):
        measures = MEASURES.names() if measures == "all" else [measures]
    if not measures:
        raise OptionError(f"no measure was asked for; choose from all, {', '.join(MEASURES.names())}")
    return [MEASURES.get(one) if isinstance(one, str) else one for one in dict.fromkeys(measures)]


def _check(
    model: Model, *, max_length: int, limit: int | None, batch_size: int | str, sentences: int
) -> None:
    if model.max_length is not None and max_length > model.max_length:
        raise OptionError(
            f"max_length {max_length} is more than the {model.max_length} tokens {model.name} takes; give "
            f"--max-length {model.max_length} (max_length={model.max_length}) or less"
        )
    if limit is not None and limit < 1:
        raise OptionError(f"limit must be at least 1, not {limit}")
    if batch_size != "auto" and (not isinstance(batch_size, int) or batch_size < 1):
        raise OptionError(f"batch_size must be auto or at least 1, not {batch_size!r}")
    if sentences < 0:
        raise OptionError(f"sentences must be at least 0, not {sentences}; with 0 the atlas quotes none")


class _Reader:
    """Encoded texts in reading order, with a running account of what was read."""

    def __init__(
        self,
        corpus: Corpus,
        encoder: TextEncoder,
        limit: int | None,
        sample: SentenceSample,
        *,
        faithful: bool,
    ) -> None:
        self.corpus = corpus
        self.encoder = encoder
        self.limit = limit
        self.sample = sample
        self.faithful = faithful
        self.digest = hashlib.sha256()
        self.read = self.documents = self.cut = self.tokens = self.unknown = 0
        self.exhausted = False

    def __iter__(self) -> Iterator[EncodedInput]:
        unknown = self.encoder.tokenizer.unk_token_id
        items = self.sample.tapped(self.corpus.items(faithful=self.faithful))
        document: int | None = None
        for pair in islice(segments(items, self.encoder), self.limit):
            self.documents += pair.document is None or pair.document != document
            document = pair.document
            self.digest.update(f"{pair.first}\0{pair.second or ''}\n".encode())
            if pair.document is None:  # given as it is
                self.sample.offer(pair)
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
        self.watch = Watch(capture, holds_all=HeadDistance in kinds, one_segment=faithful)
        self.kinds = kinds
        self.faithful = faithful
        self.states = self._empty()
        self.texts = self.tokens = 0
        if not any(self.states.by_stack.values()):
            names = ", ".join(kind.name for kind in kinds)
            raise OptionError(f"none of the measures asked for ({names}) fits {capture.model.name}")

    def add(self, texts: list[EncodedInput]) -> None:
        """Count a batch."""
        batch = self.watch.batch(texts)
        # A batch is counted apart and merged when it is whole, so that one that fails half-way leaves no trace.
        part = self._empty()

        def see(stack: StackName, seen: AttentionBatch) -> None:
            for state in part.by_stack[stack]:
                state.update(seen)

        self.watch.run(batch, see)
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
