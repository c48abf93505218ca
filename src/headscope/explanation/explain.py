"""The main job: texts through the model twice, first to choose neurons and average embeddings, then to score."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TypeVar

import torch
from torch import Tensor

from headscope.accumulator import Counted, Sums
from headscope.edits import Heads, select_heads
from headscope.errors import CaptureError, OptionError, TextError
from headscope.explanation.embeddings import KINDS, Kind, TableMeans, averaging, find_tables, replacing
from headscope.explanation.moments import best_neurons
from headscope.explanation.result import Explanation, LayerExplanation
from headscope.explanation.separation import Side, contrasts
from headscope.explanation.sums import Chooser, LayerSums, counts_for, drawn_neurons, even
from headscope.explanation.texts import DealtText, dealt
from headscope.models import ModelName, loaded
from headscope.passes.options import BatchSize, check_run_options
from headscope.passes.provenance import Source
from headscope.passes.reader import Reader
from headscope.passes.run_pass import run_pass
from headscope.probes.halves import SCORE, SELECT
from headscope.text.batching import TextBatch
from headscope.text.corpus import Corpus, Text, as_corpus
from headscope.text.items import TextPair
from headscope.trace import (
    AttentionCall,
    Capture,
    TextScores,
    check_reachable,
    run_calls,
    surveyed,
)
from headscope.trace.architecture import Place
from headscope.trace.observe import is_edited
from headscope.trace.scores import wide
from headscope.trace.watch import Watch, sides_of
from headscope.types import LayerAttention, StackName, TokenBatch, WeighedBy, check_weighed_by, padded

Part = TypeVar("Part", bound=Sums)
_Map = tuple[Tensor, Tensor]
"""(head, query, key) weights of a text, and (query, key) what is visible."""


def explain(
    model: ModelName,
    heads: Heads,
    texts: Corpus | TextPair | Iterable[Text],
    *,
    max_length: int = 128,
    limit: int | None = None,
    batch_size: BatchSize = "auto",
    seed: int = 0,
    weigh: WeighedBy = "looked",
    progress: bool = False,
) -> Explanation:
    """Why heads do what they do, over texts (those of `analyze`).

    How much of a head's score and of its pattern the best 1, 2, 4 and 8 neurons carry, chosen on one half of the texts
    and scored on the other; which neurons tell the query's own segment, its own sentence, and [SEP] from other
    keys; and what of the pattern is left when token, position or segment embeddings are replaced by their mean.
    `heads` may be said as for `edit`: "7.4", "7.4, 8.*", "all". Texts are read twice, so give no generator. `seed` is
    that of the random neurons that the best ones are held against. Only where heads look can be explained so:
    `weigh="moved"` is refused.
    """
    started = perf_counter()
    check_weighed_by(weigh)
    if weigh == "moved":
        raise OptionError(
            "explain takes a head's score of query and key apart, and what a head moves has no such score; leave out "
            "--weigh moved (weigh='moved'), or ask headscope writes what the head adds"
        )
    capture = surveyed(loaded(model))
    check_untouched(capture)
    check_run_options(
        capture.model,
        max_length=max_length,
        limit=limit,
        batch_size=batch_size,
        least=2,
        least_why="one text to choose neurons on, one to score",
    )
    chosen = select_heads(capture.stacks, heads)
    run = _Run(capture, chosen.by_place, seed)
    reader = Reader(as_corpus(texts), run.watch.encoder(max_length), limit)
    title = f"{capture.model.name} on {reader.corpus.name}" if progress else None
    choice, scored = _both_passes(run, reader, batch_size, title)
    options = {"heads": str(chosen), "max_length": max_length, "limit": limit, "seed": seed}
    notes = tuple(_notes(run, choice, reader))
    source = Source.of_corpus(reader, options=options, duration=perf_counter() - started, notes=notes)
    layers = run.results(choice, scored, reader.read)
    return Explanation(capture.model, source, capture.stacks, layers, run.replaceable)


def _both_passes(
    run: "_Run", reader: Reader, batch_size: BatchSize, title: str | None
) -> tuple["Choice", "Scored"]:
    """All texts twice: to choose neurons, and to score them."""
    batches = run.watch.batches(batch_size, reader.encoder.max_length)

    def one_pass(part: Part, see: Callable[[Part, list[DealtText]], None], doing: str) -> Part:
        about = title and f"{title}, {doing}"
        return run_pass(dealt(reader), part, see, batches=batches, title=about, expected=reader.expected)

    choice = one_pass(Choice({}, TableMeans.zeros(run.tables)), run.choose, "choosing neurons")
    if reader.read < 2:
        raise TextError(
            f"{reader.corpus.name} holds {reader.read} text(s); neurons are chosen on one half of the texts and "
            "scored on the other, so give at least two"
        )
    run.close_choice(choice)
    return choice, one_pass(Scored({}), run.score, "scoring them")


@dataclass
class Choice(Sums):
    """What the first pass over the texts counts: what neurons are to be chosen by, and the mean embeddings."""

    choosers: dict[Place, Chooser]
    means: TableMeans
    biased: int = 0
    """How many texts' scores, layer by layer, had a bias for position added to them."""


Scored = Counted[dict[Place, LayerSums]]
"""What the second pass counts."""


class _Run:
    """One model and its chosen heads, and how batches are counted."""

    def __init__(self, capture: Capture, heads: Mapping[Place, tuple[int, ...]], seed: int) -> None:
        self.capture = capture
        self.heads = heads
        self.seed = seed
        self.watch = Watch(capture, holds_all=True)
        self.tables = find_tables(capture)
        self.replaceable: tuple[Kind, ...] = tuple(
            kind for kind in KINDS if any(table.kind == kind for table in self.tables)
        )
        self.means = TableMeans.zeros(self.tables)
        self.best: dict[Place, list[Tensor]] = {}
        """(head, neuron) the best neurons in order, by the half they were chosen on."""

    @torch.inference_mode()
    def choose(self, part: Choice, texts: list[DealtText]) -> None:
        """First pass: what neurons are to be chosen by, and the mean embeddings."""
        batch = self.watch.batch([text.encoded for text in texts])

        def see(place: Place, call: AttentionCall) -> None:
            chooser = part.choosers[place] = Chooser.zeros(len(self.heads[place]), call.query.shape[-1])
            for number, scores in self._by_text(batch, place, call):
                chooser.update(scores, texts[number].half)
                part.biased += scores.bias is not None

        with averaging(self.tables, part.means, batch):
            run_scores(self.capture, batch.inputs, self.heads, see)

    def close_choice(self, choice: Choice) -> None:
        """Between the passes: the best neurons of every head on each half."""
        self.means = choice.means
        for place, chooser in choice.choosers.items():
            most = max(counts_for(chooser.halves[SELECT].shape[-1] - 1))
            self.best[place] = [
                torch.tensor([best_neurons(head.numpy(), most) for head in half]) for half in chooser.halves
            ]

    @torch.inference_mode()
    def score(self, part: Scored, texts: list[DealtText]) -> None:
        """Second pass: every text with the neurons that the other half chose."""
        batch = self.watch.batch([text.encoded for text in texts])
        held: dict[Place, list[_Map]] = {}

        def see(place: Place, call: AttentionCall) -> None:
            heads, neurons = self.heads[place], call.query.shape[-1]
            sums = part.value[place] = LayerSums.zeros(len(heads), neurons)
            held[place] = []
            sides = _sentence_sides(batch, texts, place.stack)
            stack = ("encoder", "decoder", "cross").index(place.stack)
            for number, scores in self._by_text(batch, place, call):
                shown = texts[number]
                best = self.best[place][SELECT if shown.half == SCORE else SCORE]
                drawn = drawn_neurons((self.seed, shown.number, stack, place.layer), heads, neurons)
                device = scores.query.device
                sums.add_shares(scores, best.to(device), drawn.to(device))
                asking, looked_at = (_side(side, number, device) for side in sides)
                kinds = contrasts(asking, looked_at, scores.visible, cross=place.stack == "cross")
                sums.add_contrasts(scores, kinds)
                uniform = even(scores.visible).expand_as(scores.weights)
                sums.add_compared("even", scores.weights, uniform, scores.visible)
                # In the model's own precision, which loses nothing and takes half the room.
                held[place].append((scores.weights.to(call.weights.dtype), scores.visible))

        run_scores(self.capture, batch.inputs, self.heads, see)
        self._replaced(batch, part.value, held)

    def _replaced(
        self, batch: TextBatch, part: Mapping[Place, LayerSums], held: Mapping[Place, list[_Map]]
    ) -> None:
        """The same texts with embeddings replaced, beside what was held of them."""

        def see(name: str, stack: StackName, seen: LayerAttention) -> None:
            place = Place(stack, seen.layer)
            for number, (weights, visible) in enumerate(held.get(place, [])):
                queries, keys = seen.queries.is_token[number], seen.keys.is_token[number]
                other = seen.attention[number, list(self.heads[place])][:, queries][:, :, keys]
                part[place].add_compared(name, wide(weights), wide(other), visible)

        kinds: dict[str, tuple[Kind, ...]] = {kind: (kind,) for kind in self.replaceable}
        for name, chosen in {**kinds, "all": self.replaceable}.items():
            if chosen:
                with replacing(self.tables, self.means, chosen):
                    self.watch.run(batch, partial(see, name))

    def _by_text(
        self, batch: TextBatch, place: Place, call: AttentionCall
    ) -> Iterator[tuple[int, TextScores]]:
        queries, keys = sides_of(batch, place.stack)
        for number in range(batch.texts):
            scores = call.scores(number, self.heads[place], queries.is_token[number], keys.is_token[number])
            yield number, scores

    def results(self, choice: Choice, scored: Scored, texts: int) -> dict[Place, LayerExplanation]:
        """What was found in every layer that has chosen heads."""
        layers = {}
        for place, sums in scored.value.items():
            halves = choice.choosers[place].halves
            together = halves[SELECT] + halves[SCORE]
            most = self.best[place][SELECT].shape[1]
            best = [best_neurons(head.numpy(), most) for head in together]
            alike = [
                len(set(mine.tolist()) & set(other.tolist()))
                for mine, other in zip(*self.best[place], strict=True)
            ]
            layers[place] = LayerExplanation(
                self.heads[place], sums, best, alike, has_bias=choice.biased > 0, texts=texts
            )
        return layers


def _notes(run: _Run, choice: Choice, reader: Reader) -> Iterator[str]:
    """What a user should know before trusting the numbers."""
    if note := reader.cut_note():
        yield note
    rotates = run.capture.model.is_rotated
    if rotates:
        yield (
            "queries and keys are taken after rotation (RoPE), which mixes neurons in pairs: read what a few carry "
            "together, not one alone"
        )
    if choice.biased:
        yield "a bias for position is added to the scores; its share, which is no product of neurons, is separate"
    if "position" not in run.replaceable:
        how = "rotation" if rotates else "a bias" if choice.biased else "another way"
        yield f"positions enter by {how}, not by embeddings, so they cannot be replaced by their mean"
    if "segment" not in run.replaceable:
        yield "the model has no segment embeddings to replace"


def _sentence_sides(
    batch: TextBatch, texts: list[DealtText], stack: StackName
) -> list[tuple[TokenBatch, Tensor]]:
    """Both sides with the sentence (text, token) of every token."""
    own = [
        [text.sentences[0] if tokens is batch.source else text.sentences[1] or [] for text in texts]
        for tokens in sides_of(batch, stack)
    ]
    return [
        (tokens, padded(rows, value=-1)) for tokens, rows in zip(sides_of(batch, stack), own, strict=True)
    ]


def _side(side: tuple[TokenBatch, Tensor], number: int, device: torch.device) -> Side:
    tokens, sentence = side
    real = tokens.is_token[number]
    parts = (tokens.role[number][real], tokens.segment[number][real], sentence[number][: int(real.sum())])
    return Side(*(part.to(device) for part in parts))


def run_scores(
    capture: Capture,
    inputs: dict[str, Tensor],
    places: Collection[Place],
    see: Callable[[Place, AttentionCall], None],
) -> None:
    """One forward pass; `see(place, call)` is called for every layer in `places`, in order."""
    check_untouched(capture)

    def seen(place: Place, call: AttentionCall) -> None:
        if place in places:
            _check(capture, place, call)
            see(place, call)

    run_calls(capture, inputs, seen)


def check_untouched(capture: Capture) -> None:
    """Raise CaptureError where queries and keys cannot be had, or not those of the unedited model."""
    check_reachable(capture)
    if is_edited(capture.model.core):
        raise CaptureError("the model is edited, and explain needs the unedited model; leave the edit")


def _check(capture: Capture, place: Place, call: AttentionCall) -> None:
    """Raise CaptureError unless the weights of the first text are the softmax of products and bias."""
    first = call.scores(0, range(call.weights.shape[1]))
    if first.soft_cap is not None or first.sink is not None or not first.agree:
        raise CaptureError(
            f"{capture.model.name} ({capture.model.architecture}): the weights of layer {place.layer} of the "
            f"{place.stack} are not the softmax of its scaled products of queries and keys (a soft cap or a sink?); "
            "headscope cannot explain them"
        )
