"""Texts through models: what every head attends to and what the model says, as it is and edited; runs in the worker."""

import hashlib
import re
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headscope.atlas import Atlas
from headscope.edits import HeadSet, select_heads
from headscope.errors import CaptureError, OptionError
from headscope.generation import generate
from headscope.models import Model
from headscope.pages.atlas import atlas_data
from headscope.pages.looking import labelled, observed_writing
from headscope.pages.neurons import has_neurons, read_neurons
from headscope.pages.quantise import FINE_WEIGHTS, quantise_signed
from headscope.pages.seen import Observed, can_weigh, map_key, observe
from headscope.pages.shapes.views import Neurons, Seen, SeenRequest
from headscope.pages.views import view_json
from headscope.passes.analyze import analyze
from headscope.server.answers.arrows import drawn, search
from headscope.server.answers.edited import edited, in_words
from headscope.server.answers.embedding import embedding_change
from headscope.server.answers.predictions import predict
from headscope.server.shapes import (
    Drawn,
    DrawRequest,
    FindRequest,
    Found,
    HeadName,
    LookRequest,
    NamedHeads,
    Predicted,
    PredictRequest,
)
from headscope.server.worker import Job
from headscope.trace import surveyed

if TYPE_CHECKING:
    from headscope.server.explorer import Explorer

TEXT_MEASURES = ("entropy", "offset_attention", "role_attention")
"""What heads are coloured and ranked by where there is no atlas of the model."""
_RANKED = re.compile(r"\b(?:top|bottom) +\d+ +by\b", re.IGNORECASE)


@dataclass(frozen=True)
class Look:
    """A text as a model saw it, its maps as they are sent."""

    seen: Seen
    chunks: dict[str, bytes]
    """As `Seen` has it, by maps/{stack}/{layer}."""

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return sum(map(len, self.chunks.values())) + 100 * len(self.seen.source.pieces)

    def chunk(self, stack: str, layer: int) -> bytes:
        """The maps of one layer."""
        chunk = self.chunks.get(map_key(stack, layer))
        if chunk is None:
            has = ", ".join(f"{shape.name} with {shape.layers} layers" for shape in self.seen.stacks)
            raise OptionError(f"{self.seen.model} has no layer {layer} in a stack {stack!r}; it has {has}")
        return chunk


class Texts:
    """What can be asked of models."""

    def __init__(self, explorer: "Explorer") -> None:
        self.explorer = explorer
        self._last: tuple[tuple[str, str, str | None], Atlas] | None = None

    def look(self, job: Job[Any], asked: LookRequest) -> Look:
        """A text through a model, unless that was done while the job waited."""
        id = look_id(asked)
        known = self.explorer.looks.find(id)
        if known is not None:
            return known
        seen, chunks = self._difference(job, asked) if asked.difference else self._as_is(job, asked)
        told = {"id": id, "model": asked.model, "edit": in_words(asked.edits)}
        look = Look(seen.model_copy(update=told), chunks)
        self.explorer.looks.keep(id, look)
        self.explorer.requests.keep(id, asked)
        return look

    def neurons(self, job: Job[Any], asked: LookRequest, stack: str, layer: int, head: int) -> Neurons:
        """Queries and keys of one head on a text."""
        _check_no_difference(asked)
        if asked.generate:
            raise OptionError("queries and keys of a text that is being written are not kept")
        model = self._model(asked.model)
        with self._edited(model, asked):
            read = read_neurons(
                model,
                asked.text_a,
                asked.text_b,
                heads=[(stack, layer, head)],
                max_length=self._length(model),
                between=job.check,
            )
            for neurons in read:
                return neurons
        raise CaptureError(f"{model.name} did not compute its head {layer}.{head} of the {stack}")

    def predict(self, job: Job[Any], asked: PredictRequest) -> Predicted:
        """What a model says, as it is and with heads switched off; without a task head, how its embedding moves."""
        model = self._model(asked.model)
        offered = self.explorer.catalogue.model(asked.model)
        atlas = self._atlas_for(asked)
        task = offered.task
        if task is not None:
            model = offered.predicting()
        self.explorer.worker.say(f"asking {asked.model}")
        with job.watching(model.network):
            length = self._length(model)
            if task is None:
                return embedding_change(model, asked, atlas=atlas, length=length)
            return predict(model, task, asked, atlas=atlas, length=length)

    def select(self, asked: PredictRequest) -> NamedHeads:
        """The heads that the edits name."""
        model = self._model(asked.model)
        stacks, atlas = surveyed(model).stacks, self._atlas_for(asked)
        chosen = HeadSet.union(select_heads(stacks, edit.heads, atlas=atlas) for edit in asked.edits)
        return NamedHeads(
            heads=[HeadName(stack=stack, layer=head.layer, head=head.head) for stack, head in chosen]
        )

    def draw(self, asked: DrawRequest) -> Drawn:
        """Lines as words to draw arrows between."""
        return drawn(asked)

    def find(self, job: Job[Any], asked: FindRequest) -> Found:
        """Which heads look along arrows."""
        model = self._model(asked.model)
        self.explorer.worker.say(f"searching the heads of {asked.model}")
        with job.watching(model.network):
            return search(model, asked, max_length=self._length(model))

    def heads(self, asked: SeenRequest) -> bytes:
        """What all heads do on one text: the JSON of its `AtlasData`."""
        return (
            atlas_data(self._text_atlas(asked), name="this text", with_maps=False).model_dump_json().encode()
        )

    def view(self, job: Job[Any], name: str, asked: LookRequest) -> bytes:
        """What a view of another package shows of a text, as JSON."""
        _check_no_difference(asked)
        return view_json(name, "text", self._observed(job, asked))

    def _as_is(self, job: Job[Any], asked: LookRequest) -> tuple[Seen, dict[str, bytes]]:
        """The text as the model reads it with the edits, if there are any."""
        observed = self._observed(job, asked)
        stored = observed.quantised(fine=observed.weights <= FINE_WEIGHTS)
        known = not asked.generate and has_neurons(self._model(asked.model))
        return observed.seen(stored, has_neurons=known), stored.chunks

    def _difference(self, job: Job[Any], asked: LookRequest) -> tuple[Seen, dict[str, bytes]]:
        """What the edits change: weights with them less weights without."""
        if asked.generate:
            raise OptionError(
                "with an edit a model writes another text, which cannot be subtracted; choose before or after the edit"
            )
        after = self._observed(job, asked)
        before = self._observed(job, asked.model_copy(update={"edits": ()}))
        changes = {key: after.maps[key] - weights for key, weights in before.maps.items()}
        stored = quantise_signed(changes, words=after.words)
        seen = after.seen(stored, has_neurons=False)
        return seen.model_copy(update={"difference": True}), stored.chunks

    def _observed(self, job: Job[Any], asked: LookRequest) -> Observed:
        """A text through a model, with the edits."""
        model = self._model(asked.model)
        self.explorer.worker.say(f"reading a text with {asked.model}")
        if asked.generate:
            return self._written(job, asked)
        with self._edited(model, asked):
            observed = observe(
                model,
                asked.text_a,
                asked.text_b,
                weigh=asked.weigh if can_weigh(model) else "looked",
                max_length=self._length(model),
                between=job.check,
            )
        return labelled(observed, self.explorer.catalogue.atlas_of(asked.model))

    def _written(self, job: Job[Any], asked: LookRequest) -> Observed:
        """A text that the model goes on with, with the edits."""
        if asked.generate > self.explorer.longest:
            raise OptionError(
                f"{asked.generate} tokens were asked for; the most here is {self.explorer.longest}"
            )
        model = self.explorer.catalogue.model(asked.model).predicting()
        self.explorer.worker.say(f"writing a text with {asked.model}")
        with job.watching(model.network), self._edited(model, asked):
            written = generate(model, asked.text_a, tokens=asked.generate, between=job.check)
        return labelled(observed_writing(written), self.explorer.catalogue.atlas_of(asked.model))

    def _edited(self, model: Model, asked: PredictRequest) -> Any:
        return edited(model, asked.edits, atlas=self._atlas_for(asked)) if asked.edits else nullcontext()

    def _atlas_for(self, asked: PredictRequest) -> Atlas | None:
        """Where heads are looked up that are named by what they do: an atlas of the model, or else of the text."""
        known = self.explorer.catalogue.atlas_of(asked.model)
        if known is None and any(_RANKED.search(edit.heads) for edit in asked.edits):
            return self._text_atlas(asked)
        return known

    def _text_atlas(self, asked: SeenRequest) -> Atlas:
        """An atlas of one text; that of the last one is kept."""
        key = (asked.model, asked.text_a, asked.text_b or None)
        if self._last is None or self._last[0] != key:
            model = self._model(asked.model)
            self.explorer.worker.say(f"reading a text with {asked.model}")
            text = asked.text_a if key[2] is None else (asked.text_a, key[2])
            atlas = analyze(
                model,
                [text],
                measures=TEXT_MEASURES,
                max_length=self._length(model),
                batch_size=1,
                sentences=0,
            )
            self._last = (key, atlas)
        return self._last[1]

    def _model(self, name: str) -> Model:
        """The model; says so when it must be loaded first."""
        offered = self.explorer.catalogue.model(name)
        if offered.loaded is None:
            self.explorer.worker.say(f"loading {name}")
        return offered.get()

    def _length(self, model: Model) -> int:
        longest = self.explorer.longest
        return longest if model.max_length is None else min(longest, model.max_length)


def _check_no_difference(asked: LookRequest) -> None:
    if asked.difference:
        raise OptionError(
            "a difference has no queries and keys of its own; choose the text before or after the edit"
        )


def look_id(request: LookRequest) -> str:
    """The same for the same model, texts, edits and weighing."""
    text = (request.model, request.text_a, request.text_b or None)
    said = repr((*text, request.edits, request.difference, request.weigh, request.generate))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]
