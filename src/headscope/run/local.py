"""The main job in one process: texts in, every head observed, an atlas out."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Literal

from headscope.atlas import Atlas
from headscope.capture import Capture, survey
from headscope.errors import HeadscopeWarning, OptionError
from headscope.measures import MEASURES, HeadDistance, Measure
from headscope.models import Model, ModelName, loaded
from headscope.run.measured import Measures
from headscope.run.options import BatchSize, check_run_options
from headscope.run.provenance import ModelState, provenance
from headscope.run.reader import Reader, ReadText
from headscope.run.sample import SentenceSample
from headscope.run.typical import typical_sentences
from headscope.run.watch import Watch
from headscope.run.weighing import choose_weighing
from headscope.text.corpus import Corpus, Text, as_corpus
from headscope.text.items import TextPair
from headscope.types import Weigh

UNKNOWN_WORTH_TELLING = 0.1

SENTENCES = 256
"""Out of how many sentences those are chosen on which a head is most typical."""


def analyze(
    model: ModelName,
    texts: Corpus | TextPair | Iterable[Text],
    *,
    measures: Sequence[str | type[Measure]] | Literal["all"] = "all",
    max_length: int = 128,
    limit: int | None = None,
    batch_size: BatchSize = "auto",
    faithful: bool = False,
    weigh: Weigh | None = None,
    sentences: int = SENTENCES,
    progress: bool = False,
) -> Atlas:
    """Observe every attention head of a model on texts and return the atlas.

    `texts` is what `read_text` or `read_pairs` return, or any iterable of strings (documents, split into
    sentences and packed into segments) and (first, second) pairs, taken as they are. `limit` stops after that
    many segments or pairs. `measures` are names, or classes that are in no registry. `faithful` computes the
    published forms, quirks included. `weigh` counts attention by where heads look (`"looked"`), by what they move from
    there (`"moved"`: variables that end in `_moved`), or `"both"`, which is what None means where the model's output
    projections can be found. Out of so many `sentences` of the texts the atlas quotes those on which a head
    is most typical; with 0 it holds no text. Nothing depends on `batch_size` but speed and memory.
    """
    started = perf_counter()
    model, kinds, sample = loaded(model), _chosen(measures), SentenceSample(sentences)
    check_run_options(model, max_length=max_length, limit=limit, batch_size=batch_size)
    capture = survey(model)
    weighing = choose_weighing(capture, kinds, weigh, faithful=faithful, named=measures != "all")
    states = Measures.of(capture, weighing.kinds, faithful=faithful, weigh=weighing.weigh)
    watch = Watch(capture, holds_all=HeadDistance in kinds, one_segment=faithful, carrier=weighing.carrier)
    reader = Reader(as_corpus(texts), watch.encoder(max_length), limit, sample=sample, faithful=faithful)

    def count(part: Measures, some: list[ReadText]) -> None:
        part.update(watch, watch.batch([text.encoded for text in some]))

    batches = watch.batches(batch_size, max_length)
    who = model.name if progress else None
    results = reader.through(states, count, batches=batches, who=who).result()
    title = who and f"{who} on {reader.corpus.name}, typical sentences"
    typical = typical_sentences(watch, reader.encoder, sample.chosen(), batch_size=batch_size, title=title)
    for warning in _warnings(model, reader):
        warnings.warn(warning, HeadscopeWarning, stacklevel=2)
    options = {
        **weighing.options,
        "max_length": max_length,
        "limit": limit,
        "batch_size": batch_size,
        "faithful": faithful,
        "sentences": sentences,
    }
    facts = _facts(capture, reader, options, started)
    return Atlas.build(results, provenance=facts, typical=typical)


def _facts(
    capture: Capture, reader: Reader, options: Mapping[str, object], started: float
) -> dict[str, str | int | float]:
    """Where the numbers come from."""
    model = capture.model
    return provenance(
        ModelState.of(model),
        corpus=reader.corpus.name,
        corpus_hash=reader.digest.hexdigest(),
        texts=reader.read,
        documents=reader.documents,
        tokens=reader.tokens,
        texts_cut=reader.cut,
        options={
            **options,
            "device": str(model.device),
            "dtype": str(model.dtype).removeprefix("torch."),
            "captured_by": "hook" if capture.hooked else "returned attentions",
        },
        duration=perf_counter() - started,
    )


def _chosen(measures: Sequence[str | type[Measure]] | Literal["all"]) -> list[type[Measure]]:
    if isinstance(measures, str):
        measures = MEASURES.names() if measures == "all" else [measures]
    if not measures:
        raise OptionError(f"no measure was asked for; choose from all, {', '.join(MEASURES.names())}")
    return [
        MEASURES.get(measure) if isinstance(measure, str) else measure for measure in dict.fromkeys(measures)
    ]


def _warnings(model: Model, reader: Reader) -> Iterator[str]:
    """What a user should know before trusting the numbers."""
    if reader.unknown > UNKNOWN_WORTH_TELLING * reader.source_tokens:
        yield (
            f"{reader.unknown / reader.source_tokens:.0%} of the tokens are unknown to the tokenizer of {model.name}; "
            "is the text in a language it was made for?"
        )
    if note := reader.cut_note():
        yield note
