"""Texts that were looked at, the last ones kept, in bounded memory."""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from threading import RLock

from headscope.errors import CaptureError, OptionError
from headscope.models import Model
from headscope.pages.neurons import has_neurons, read_neurons
from headscope.pages.quantise import FINE_WEIGHTS, quantise
from headscope.pages.seen import Between, map_key, observe
from headscope.pages.shapes import Neurons, Seen, SeenRequest
from headscope.server.problems import NotThereError

MOST_BYTES = 256 << 20
MOST_REQUESTS = 1000
MOST_CHARACTERS = 4_000_000
"""Of the texts of all requests together."""


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


class Texts:
    """The last looks, and the requests of many more, from which a look can be made again.

    The worker keeps looks while the event loop finds them, so that each method has the whole to itself.
    """

    def __init__(
        self,
        *,
        most_bytes: int = MOST_BYTES,
        most_requests: int = MOST_REQUESTS,
        most_characters: int = MOST_CHARACTERS,
    ) -> None:
        self._lock = RLock()
        self._looks: OrderedDict[str, Look] = OrderedDict()
        self._requests: OrderedDict[str, SeenRequest] = OrderedDict()
        self._most_bytes = most_bytes
        self._most_requests = most_requests
        self._most_characters = most_characters

    @property
    def size(self) -> int:
        """Bytes of all looks."""
        with self._lock:
            return sum(look.size for look in self._looks.values())

    @property
    def characters(self) -> int:
        """Characters of all requests."""
        with self._lock:
            return sum(len(one.text_a) + len(one.text_b or "") for one in self._requests.values())

    def request(self, id: str) -> SeenRequest:
        """What was asked for under this id."""
        with self._lock:
            found = self._requests.get(id)
        if found is None:
            raise NotThereError("this text was looked at too long ago, or by another server; send it again")
        return found

    def find(self, id: str) -> Look | None:
        """The look of this id, if it is still there."""
        with self._lock:
            look = self._looks.get(id)
            if look is not None:
                self._looks.move_to_end(id)
            return look

    def keep(self, request: SeenRequest, look: Look) -> None:
        """Keep a look; the oldest go when there is no room."""
        id = look.seen.id
        with self._lock:
            self._looks[id] = look
            self._looks.move_to_end(id)
            self._requests[id] = request
            self._requests.move_to_end(id)
            while len(self._looks) > 1 and self.size > self._most_bytes:
                self._looks.popitem(last=False)
            while len(self._requests) > 1 and (
                len(self._requests) > self._most_requests or self.characters > self._most_characters
            ):
                self._requests.popitem(last=False)


def look_id(request: SeenRequest) -> str:
    """The same for the same model and texts."""
    said = repr((request.model, request.text_a, request.text_b or None))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def look(model: Model, request: SeenRequest, *, longest: int, between: Between) -> Look:
    """Send a text through a model."""
    observed = observe(
        model, request.text_a, request.text_b, max_length=_length(model, longest), between=between
    )
    stored = quantise(observed.maps, words=observed.words, fine=observed.weights <= FINE_WEIGHTS)
    seen = observed.seen(stored, has_neurons=has_neurons(model))
    return Look(seen.model_copy(update={"id": look_id(request), "model": request.model}), dict(stored.chunks))


def neurons(
    model: Model, request: SeenRequest, head: tuple[str, int, int], *, longest: int, between: Between
) -> Neurons:
    """Queries and keys of one head on a text."""
    found = read_neurons(
        model,
        request.text_a,
        request.text_b,
        heads=[head],
        max_length=_length(model, longest),
        between=between,
    )
    one = next(found, None)
    if one is None:
        stack, layer, number = head
        raise CaptureError(f"{model.name} did not come by its head {layer}.{number} of {stack}")
    return one


def chunk(look: Look, stack: str, layer: int) -> bytes:
    """The maps of one layer."""
    found = look.chunks.get(map_key(stack, layer))
    if found is None:
        has = ", ".join(f"{one.name} with {one.layers} layers" for one in look.seen.stacks)
        raise OptionError(f"{look.seen.model} has no layer {layer} in a stack {stack!r}; it has {has}")
    return found


def _length(model: Model, longest: int) -> int:
    return longest if model.max_length is None else min(longest, model.max_length)
