"""What the routes work on: what there is, the workers, and what is kept between requests.

Atlases have a worker of their own, and nothing that is imported here loads torch: an atlas is shown while a model is
still being loaded, or before anybody wants one.
"""

from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fastapi import Request

from headscope.errors import OptionError
from headscope.pages.atlas import atlas_data, shown_findings
from headscope.pages.commands import explore_command
from headscope.pages.head.page import check_head, head_page
from headscope.pages.selection import selection
from headscope.pages.shapes.head import HeadPage
from headscope.pages.shapes.views import SeenRequest, Selection
from headscope.pages.views import view_json
from headscope.server.catalogue import Catalogue
from headscope.server.problems import NotThereError
from headscope.server.shapes import FindRequest, LookRequest, PredictRequest, Status
from headscope.server.worker import Job, Worker
from headscope.types import HeadId

if TYPE_CHECKING:
    from headscope.server.answers.texts import Look, Texts

T = TypeVar("T")

LOOK_BYTES = 64 << 20
"""Of all looks that are kept: half a dozen long texts, or hundreds of sentences."""
REQUEST_CHARACTERS = 4_000_000
"""Of all requests from which a look can be made again; each counts as 4,000 at least: they are 1,000 at most."""
_LEAST_CHARACTERS = 4_000

READER_HEADER = "x-headscope-reader"
_LONGEST_NAME = 64

# How much a request may ask for; far more than a person types, far less than what hurts.
TEXT_CHARACTERS = 20_000
EDITS = 64
HEADS_CHARACTERS = 2_000
FIND_TEXTS = 200


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
    """What can be asked for. What takes long runs in a worker, see `work` and `read`."""

    def __init__(self, catalogue: Catalogue, *, longest: int, tell: Callable[[str], None]) -> None:
        self.catalogue = catalogue
        self.longest = longest
        self.looks: Kept[Look] = Kept(LOOK_BYTES, lambda look: look.size)
        self.requests: Kept[LookRequest] = Kept(REQUEST_CHARACTERS, _characters)
        self.worker = Worker(tell=tell)
        self.reader = Worker(tell=tell)
        self._atlases: dict[tuple[str, bool], bytes] = {}

    @cached_property
    def texts(self) -> "Texts":
        """Texts through models; to be used in the worker, as it loads torch."""
        from headscope.server.answers.texts import Texts  # noqa: PLC0415 - loads torch

        return Texts(self)

    @property
    def status(self) -> Status:
        """What the server is busy with."""
        working = self.worker.working or self.reader.working
        return Status(working=working, waiting=self.worker.waiting + self.reader.waiting)

    def prepare(self) -> None:
        """Make ready what a page will ask for first: an atlas, or else what models need."""
        first = next(iter(self.catalogue.atlases), None)
        if first is None:
            self._prepare_texts()
        else:
            self.reader.prepare(lambda job: self.atlas(job, first, with_maps=False))

    def close(self) -> None:
        """Stop what runs and waits."""
        self.worker.close()
        self.reader.close()

    def join(self, seconds: float) -> None:
        """Wait for the workers to end, after `close`, but no longer than that each."""
        self.worker.join(seconds)
        self.reader.join(seconds)

    async def work(self, request: Request, what: str, function: Callable[[Job[T]], T]) -> T:
        """`function(job)` in the worker that has the models, until the client goes."""
        return await self.worker.run(what, function, gone=_gone(request), reader=_reader(request))

    async def read(self, request: Request, what: str, function: Callable[[Job[T]], T]) -> T:
        """`function(job)` in the worker that has the atlases, until the client goes."""
        result = await self.reader.run(what, function, gone=_gone(request), reader=_reader(request))
        self._prepare_texts()  # now that the first page is there
        return result

    def asked(self, id: str) -> LookRequest:
        """The request for the text of this id."""
        request = self.requests.find(id)
        if request is None:
            raise NotThereError("this text was looked at too long ago, or by another server; send it again")
        return request

    def atlas(self, job: Job[Any], id: str, *, with_maps: bool) -> bytes:
        """An atlas made ready to be shown, once: the JSON of `AtlasData`."""
        if (id, with_maps) not in self._atlases:
            offered = self.catalogue.atlas(id)
            self.reader.say(f"reading {offered.name}")
            findings = shown_findings(offered.atlas)
            job.check()
            data = atlas_data(
                offered.atlas,
                id=id,
                name=offered.name,
                findings=findings,
                with_maps=with_maps,
                model=self.catalogue.model_of(offered),
                command=explore_command(offered.atlas, offered.file),
            )
            self._atlases[id, with_maps] = data.model_dump_json().encode()
        return self._atlases[id, with_maps]

    def head_page(self, id: str, stack: str, layer: int, head: int) -> HeadPage:
        """All that an atlas knows of a head."""
        return head_page(self.catalogue.atlas(id).atlas, stack, layer, head)

    def selection(self, id: str, stack: str, heads: str) -> Selection:
        """Heads named as 7.4,3.2 against the rest of their stack."""
        names = [HeadId.parse(name) for name in heads.split(",")]
        return selection(self.catalogue.atlas(id).atlas, stack, names)

    def view_of_atlas(self, name: str, id: str, place: tuple[str, HeadId] | None) -> bytes:
        """What a view of another package shows of an atlas, or of one of its heads, as JSON."""
        atlas = self.catalogue.atlas(id).atlas
        if place is None:
            return view_json(name, "atlas", atlas)
        check_head(atlas, *place)
        return view_json(name, "head", atlas, *place)

    def _prepare_texts(self) -> None:
        if self.catalogue.models and "texts" not in self.__dict__:
            self.worker.prepare(lambda job: self.texts)


def _gone(request: Request) -> Callable[[], Any]:
    """Waits until nobody waits for the answer to the request."""

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    return gone


def _reader(request: Request) -> str:
    """Who takes turns with others: a page by the name it goes by, anybody else by the connection."""
    named = request.headers.get(READER_HEADER)
    return named[:_LONGEST_NAME] if named else str(request.client)


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


def check_find(request: FindRequest) -> None:
    """Raise OptionError for more texts with arrows than others should wait for."""
    characters = sum(len(text.text) for text in request.texts)
    if len(request.texts) > FIND_TEXTS or characters > TEXT_CHARACTERS:
        raise OptionError(
            f"arrows are drawn on {len(request.texts):,} texts of {characters:,} characters; give at most {FIND_TEXTS} "
            f"texts of {TEXT_CHARACTERS:,} characters together, or search with: headscope find --arrows"
        )
