"""The main job in one process: texts in, every head observed, an atlas out."""

import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from time import perf_counter
from typing import Literal, get_args

from headscope.atlas import Atlas
from headscope.errors import HeadscopeWarning, OptionError, TextError
from headscope.kernels.cpu.loops import why_not_compiled
from headscope.kernels.verify import choose_kernels
from headscope.measures import MEASURES, PUBLISHED, HeadDistance, Measure, SampledHeadDistance
from headscope.models import Model, load
from headscope.passes.measure_set import Measures
from headscope.passes.options import BatchSize, Distances, check_run_options
from headscope.passes.profile import QUOTING, READING, RESULTS, WAITING, Profile
from headscope.passes.provenance import ModelState, Source, provenance
from headscope.passes.read_ahead import ahead
from headscope.passes.reader import Reader, ReadText
from headscope.passes.run_pass import run_pass
from headscope.passes.sentence_sample import SentenceSample
from headscope.passes.typical import typical_sentences
from headscope.passes.weighting import choose_weighing
from headscope.text.batching import Bucketed
from headscope.text.corpus import Corpus, Text, as_corpus
from headscope.text.items import TextPair
from headscope.trace import Capture, surveyed
from headscope.trace.watch import ReadyBatch, Watch
from headscope.types import Weigh

Count = Callable[[Measures, ReadyBatch[ReadText]], None]

UNKNOWN_WORTH_TELLING = 0.1

MOST_COMPARED = 2048
"""In a stack of more heads, all pairs of them are more than an atlas should hold unasked."""

SENTENCES = 256
"""Out of how many sentences those are chosen on which a head is most typical."""


def analyze(
    model: Model | str | os.PathLike[str],
    texts: Corpus | TextPair | Iterable[Text],
    *,
    measures: Sequence[str | type[Measure]] | Literal["all"] = "all",
    max_length: int = 128,
    limit: int | None = None,
    batch_size: BatchSize = "auto",
    faithful: bool = False,
    weigh: Weigh | None = None,
    distances: Distances = "sampled",
    sentences: int = SENTENCES,
    kernels: bool = True,
    profile: bool = False,
    progress: bool = False,
) -> Atlas:
    """Observe every attention head of a model on texts and return the atlas.

    `texts` is what `read_text` or `read_pairs` return, or any iterable of strings (documents, split into
    sentences and packed into segments) and (first, second) pairs, taken as they are. `limit` stops after that
    many segments or pairs. `measures` are names, or classes that are in no registry. `faithful` computes the
    published forms, quirks included. `weigh` counts attention by where heads look (`"looked"`), by what they move from
    there (`"moved"`: variables that end in `_moved`), or `"both"`, which is what None means where the model's output
    projections can be found. `distances` between heads are over some queries of each text (`"sampled"`), over all
    (`"exact"`; `faithful` forms always are) or left out (`"none"`). Out of so many `sentences` of the texts the atlas
    quotes those on which a head is most typical; with 0 it holds no text. `kernels` (Triton's on a
    GPU, numba's on a CPU) compute attention and its reductions together where they are proved to give the model's own.
    `profile` keeps in the provenance where the time went. Nothing depends on `batch_size` but speed and memory.
    """
    started = perf_counter()
    model = model if isinstance(model, Model) else load(model)
    distances = "exact" if faithful and distances == "sampled" else distances
    kinds = _chosen(measures, distances)
    if faithful:
        kinds = [PUBLISHED.get(kind.name, kind) for kind in kinds]
    check_run_options(model, max_length=max_length, limit=limit, batch_size=batch_size)
    if sentences < 0:
        raise OptionError(f"sentences must be at least 0, not {sentences}; with 0 the atlas quotes none")
    capture = surveyed(model)
    if measures == "all" and distances == "sampled":
        kinds = _within_reach(kinds, capture)
    weighing = choose_weighing(capture, kinds, weigh, faithful=faithful, named=measures != "all")
    states = Measures.of(capture, weighing.kinds, weigh=weighing.weigh)
    watch = Watch(
        capture,
        held_rows=states.held_rows,
        derives=states.derives(),
        one_segment=faithful,
        carrier=weighing.carrier,
    )
    choose_kernels(watch, wanted=kernels, faithful=faithful)
    clock = Profile(model.device, on=profile)
    sample = SentenceSample(sentences)
    reader = Reader(as_corpus(texts), watch.encoder(max_length), limit, sample=sample, faithful=faithful)

    title = f"{model.name} on {reader.corpus.name}" if progress else None
    _observe(watch, reader, states, clock, watch.batches(batch_size, max_length), title=title)
    with clock.timed(RESULTS):
        results = states.result()
    with clock.timed(QUOTING):
        typical = typical_sentences(
            watch,
            reader.encoder,
            sample.chosen(),
            batch_size=batch_size,
            title=title and f"{title}, typical sentences",
        )
    for warning in _warnings(watch, reader):
        warnings.warn(warning, HeadscopeWarning, stacklevel=2)
    options = {
        "measures": [kind.name for kind in weighing.kinds],
        "weigh": weighing.weigh,
        **({"weigh_note": weighing.note} if weighing.note else {}),
        "distances": distances,
        "kernels": watch.kernels,
        "max_length": max_length,
        "limit": limit,
        "batch_size": batch_size,
        "faithful": faithful,
        "sentences": sentences,
    }
    duration = perf_counter() - started
    facts = _facts(capture, reader, options, duration=duration)
    if profile:
        facts["profile"] = json.dumps(clock.facts(tokens=reader.tokens, duration=duration))
    return Atlas.build(results, provenance=facts, typical=typical)


def _observe(
    watch: Watch,
    reader: Reader,
    states: Measures,
    clock: Profile,
    grouped: Bucketed,
    *,
    title: str | None,
) -> None:
    """Run the model over all texts and count what its heads do."""

    def count(part: Measures, some: ReadyBatch[ReadText]) -> None:
        part.update(watch, some.moved(), clock)

    has_lanes = watch.has_lanes
    with nullcontext() if has_lanes else watch.running():
        run_pass(
            reader,
            states,
            count,
            batches=_Ready(watch, grouped, clock),
            lanes=_Lanes(watch, clock) if has_lanes else None,
            fetch=lambda parts: clock.iterated(WAITING, ahead(clock.beside(READING, parts), room=1)),
            title=title,
            expected=reader.expected,
            tokens=lambda some: sum(map(len, some.texts)),
        )
    if not reader.read:
        raise TextError(f"{reader.corpus.name} holds no usable text")


class _Lanes:
    """Ways through the model that may be used side by side; they are kept from shard to shard."""

    def __init__(self, watch: Watch, clock: Profile) -> None:
        self._watch, self._clock = watch, clock
        self._free = [(watch, clock.lane())]

    def __call__(self) -> AbstractContextManager[Count]:
        """One that nobody uses."""
        return self._used(*(self._free.pop() if self._free else (self._watch.beside(), self._clock.lane())))

    @contextmanager
    def _used(self, watch: Watch, clock: Profile) -> Iterator[Count]:
        with watch.running():
            yield lambda part, some: part.update(watch, some.moved(), clock)
        self._free.append((watch, clock))


@dataclass(frozen=True)
class _Ready:
    """Batches that are ready for the model, made ahead of it in a thread of their own."""

    watch: Watch
    grouped: Bucketed
    clock: Profile

    @property
    def window(self) -> int:
        """How many texts are looked at together."""
        return self.grouped.window

    def __call__(self, texts: Iterable[ReadText]) -> Iterator[ReadyBatch[ReadText]]:
        made = self.clock.beside(READING, (self.watch.ready(some) for some in self.grouped(texts)))
        return self.clock.iterated(WAITING, ahead(made))


def _facts(
    capture: Capture, reader: Reader, options: Mapping[str, object], *, duration: float
) -> dict[str, str | int | float]:
    """Where the numbers come from."""
    model = capture.model
    how = {
        "device": str(model.device),
        "dtype": str(model.dtype).removeprefix("torch."),
        "captured_by": capture.road,
    }
    source = Source.of_corpus(reader, options={**options, **how}, duration=duration)
    return provenance(ModelState.of(model), source) | _numbers(capture)


def _numbers(capture: Capture) -> dict[str, str]:
    """The numbers that layers have in the network, where they are not simply counted from 0."""
    numbered = {grid.stack: grid.module_layers for grid in capture.stacks.grids if grid.module_layers}
    return {"module_layers": json.dumps(numbered)} if numbered else {}


def _chosen(
    measures: Sequence[str | type[Measure]] | Literal["all"], distances: Distances
) -> list[type[Measure]]:
    if distances not in get_args(Distances):
        raise OptionError(f"distances must be one of {', '.join(get_args(Distances))}, not {distances!r}")
    if isinstance(measures, str):
        measures = MEASURES.names() if measures == "all" else [measures]
    if not measures:
        raise OptionError(f"no measure was asked for; choose from all, {', '.join(MEASURES.names())}")
    kinds = [
        MEASURES.get(measure) if isinstance(measure, str) else measure for measure in dict.fromkeys(measures)
    ]
    if distances == "sampled":
        return [SampledHeadDistance if kind is HeadDistance else kind for kind in kinds]
    if distances == "exact":
        return kinds
    rest = [kind for kind in kinds if not issubclass(kind, HeadDistance)]
    if not rest:
        raise OptionError(
            "the only measure asked for is head_distance, and distances='none' (--distances none) leaves it out"
        )
    return rest


def _within_reach(kinds: list[type[Measure]], capture: Capture) -> list[type[Measure]]:
    """The measures without distances between heads, and a warning, where these would be too many to hold and read."""
    heads = max(grid.layers * grid.heads for grid in capture.stacks.grids)
    if heads <= MOST_COMPARED:
        return kinds
    warnings.warn(
        f"{heads:,} heads make {heads * (heads - 1) // 2:,} pairs, so head_distance was left out; name it among the "
        "measures (--measures), or ask for --distances exact, to have it all the same",
        HeadscopeWarning,
        stacklevel=3,
    )
    return [kind for kind in kinds if not issubclass(kind, HeadDistance)]


def _warnings(watch: Watch, reader: Reader) -> Iterator[str]:
    """What a user should know of the run, and before trusting the numbers."""
    if not watch.by_kernels and (problem := why_not_compiled()) and problem in watch.kernels:
        yield (
            f"{problem}, so the model's own function computes attention and torch sums it up: the numbers are the same "
            "to rounding, but the run takes longer"
        )
    if reader.unknown > UNKNOWN_WORTH_TELLING * reader.source_tokens:
        yield (
            f"{reader.unknown / reader.source_tokens:.0%} of the tokens are unknown to the tokenizer of "
            f"{watch.model.name}; is the text in a language it was made for?"
        )
    if note := reader.cut_note():
        yield note
