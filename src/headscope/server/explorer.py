"""What the routes work on: what there is, the worker, and what is kept between requests."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock
from typing import Concatenate, Generic, ParamSpec, TypeVar

from fastapi import Request

from headscope.errors import CaptureError, OptionError
from headscope.models import Model
from headscope.pages.atlas import atlas_data, shown_findings
from headscope.pages.head.page import check_head, head_page
from headscope.pages.looking import labelled
from headscope.pages.neurons import has_neurons, read_neurons
from headscope.pages.quantise import FINE_WEIGHTS, quantise
from headscope.pages.seen import Observed, map_key, observe
from headscope.pages.shapes import AtlasData, HeadPage
from headscope.pages.text_shapes import Neurons, Seen, SeenRequest
from headscope.pages.views import view_json
from headscope.server.catalogue import Catalogue
from headscope.server.predictions import predict
from headscope.server.problems import NotThereError
from headscope.server.shapes import Predicted, PredictRequest
from headscope.server.worker import Job, Worker
from headscope.types import HeadId

T = TypeVar("T")
P = ParamSpec("P")

LOOK_BYTES = 256 << 20
"""Of all looks that are kept."""
REQUEST_CHARACTERS = 4_000_000
"""Of all requests from which a look can be made again; each counts as 4,000 at least: they are 1,000 at most."""
_LEAST_CHARACTERS = 4_000

# How much a request may ask for; far more than a person types, far less than what hurts.
TEXT_CHARACTERS = 20_000
EDITS = 64
HEADS_CHARACTERS = 2_000


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


class Kept(Generic[T]):
    """The last things that were used, as many as there is room for; the newest always.

    The worker keeps things while the event loop finds them, so that each method has the whole to itself.
    """

    def __init__(self, room: int, size: Callable[[T], int]) -> None:
        self.room = room
        self._size = size
        self._lock = RLock()
        self._things: OrderedDict[str, T] = OrderedDict()

    @property
    def size(self) -> int:
        """How much room all of them take."""
        with self._lock:
            return sum(map(self._size, self._things.values()))

    def find(self, id: str) -> T | None:
        """The thing of this id, if it is still there."""
        with self._lock:
            if id in self._things:
                self._things.move_to_end(id)
            return self._things.get(id)

    def keep(self, id: str, thing: T) -> None:
        """Keep a thing; the oldest go when there is no room."""
        with self._lock:
            self._things[id] = thing
            self._things.move_to_end(id)
            while len(self._things) > 1 and self.size > self.room:
                self._things.popitem(last=False)


class Explorer:
    """What can be asked for. Methods that take a job run in the worker, see `work`."""

    def __init__(self, catalogue: Catalogue, *, longest: int, tell: Callable[[str], None]) -> None:
        self.catalogue = catalogue
        self.longest = longest
        self.looks: Kept[Look] = Kept(LOOK_BYTES, lambda look: look.size)
        self.requests: Kept[SeenRequest] = Kept(REQUEST_CHARACTERS, _characters)
        self.worker = Worker(tell=tell)
        self._atlases: dict[str, AtlasData] = {}

    async def work(
        self,
        request: Request,
        what: str,
        function: Callable[Concatenate[Job[T], P], T],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> T:
        """`function(job, ...)` in the worker, until the client goes."""

        async def gone() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass

        return await self.worker.run(what, lambda job: function(job, *arguments, **named), gone=gone)

    def asked(self, id: str) -> SeenRequest:
        """The request for the text of this id."""
        request = self.requests.find(id)
        if request is None:
            raise NotThereError("this text was looked at too long ago, or by another server; send it again")
        return request

    def look(self, job: Job[Look], asked: SeenRequest) -> Look:
        """A text through a model, unless that was done while the job waited."""
        id = look_id(asked)
        known = self.looks.find(id)
        if known is not None:
            return known
        observed = labelled(self._observed(job, asked), self.catalogue.atlas_of(asked.model))
        stored = quantise(observed.maps, words=observed.words, fine=observed.weights <= FINE_WEIGHTS)
        seen = observed.seen(stored, has_neurons=has_neurons(self._model(asked.model)))
        look = Look(seen.model_copy(update={"id": id, "model": asked.model}), dict(stored.chunks))
        self.looks.keep(id, look)
        self.requests.keep(id, asked)
        return look

    def neurons(self, job: Job[Neurons], asked: SeenRequest, stack: str, layer: int, head: int) -> Neurons:
        """Queries and keys of one head on a text."""
        model = self._model(asked.model)
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
        raise CaptureError(f"{model.name} did not come by its head {layer}.{head} of {stack}")

    def predict(self, job: Job[Predicted], asked: PredictRequest) -> Predicted:
        """What a model says, as it is and with heads switched off."""
        self._model(asked.model)
        offered = self.catalogue.model(asked.model)
        model, task = offered.predicting(), offered.task
        assert task is not None  # or `predicting` would have raised
        self.worker.say(f"asking {asked.model}")
        with job.watching(model.network):
            atlas = self.catalogue.atlas_of(asked.model)
            return predict(model, task, asked, atlas=atlas, longest=self.longest)

    def atlas(self, job: Job[AtlasData], id: str) -> AtlasData:
        """An atlas made ready to be shown, once."""
        if id not in self._atlases:
            offered = self.catalogue.atlas(id)
            self.worker.say(f"drawing the maps of {offered.name}")
            findings = shown_findings(offered.atlas)
            job.check()
            self._atlases[id] = atlas_data(offered.atlas, id=id, name=offered.name, findings=findings)
        return self._atlases[id]

    def head_page(self, job: Job[HeadPage], id: str, stack: str, layer: int, head: int) -> HeadPage:
        """All that an atlas knows of a head."""
        return head_page(self.catalogue.atlas(id).atlas, stack, layer, head)

    def view_of_text(self, job: Job[bytes], name: str, asked: SeenRequest) -> bytes:
        """What a view of another package shows of a text, as JSON."""
        return view_json(name, "text", self._observed(job, asked))

    def view_of_atlas(self, job: Job[bytes], name: str, id: str, place: tuple[str, HeadId] | None) -> bytes:
        """What a view of another package shows of an atlas, or of one of its heads, as JSON."""
        atlas = self.catalogue.atlas(id).atlas
        if place is None:
            return view_json(name, "atlas", atlas)
        check_head(atlas, *place)
        return view_json(name, "head", atlas, *place)

    def _observed(self, job: Job[T], asked: SeenRequest) -> Observed:
        """A text through a model."""
        model = self._model(asked.model)
        self.worker.say(f"reading a text with {asked.model}")
        length = self._length(model)
        return observe(model, asked.text_a, asked.text_b, max_length=length, between=job.check)

    def _model(self, name: str) -> Model:
        """The model; says so when it must be loaded first."""
        offered = self.catalogue.model(name)
        if offered.loaded is None:
            self.worker.say(f"loading {name}")
        return offered.get()

    def _length(self, model: Model) -> int:
        return self.longest if model.max_length is None else min(self.longest, model.max_length)


def look_id(request: SeenRequest) -> str:
    """The same for the same model and texts."""
    said = repr((request.model, request.text_a, request.text_b or None))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _characters(request: SeenRequest) -> int:
    return max(_LEAST_CHARACTERS, len(request.text_a) + len(request.text_b or ""))


def check_request(request: SeenRequest) -> None:
    """Raise OptionError for texts or edits beyond the limits."""
    for name, text in (("text_a", request.text_a), ("text_b", request.text_b)):
        if text is not None and len(text) > TEXT_CHARACTERS:
            raise OptionError(
                f"{name} has {len(text):,} characters; give at most {TEXT_CHARACTERS:,}, or analyse the whole with: "
                "headscope analyze"
            )
    edits = request.edits if isinstance(request, PredictRequest) else ()
    if len(edits) > EDITS:
        raise OptionError(f"{len(edits)} edits were given; name the heads of several in one, at most {EDITS}")
    for edit in edits:
        if len(edit.heads) > HEADS_CHARACTERS:
            raise OptionError(
                f"the heads of an edit take {len(edit.heads):,} characters; give at most {HEADS_CHARACTERS:,}, "
                "naming layers instead"
            )
