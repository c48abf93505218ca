"""What the routes work on: what there is, the worker, and what is kept between requests."""

from collections.abc import Callable
from typing import TypeVar

from fastapi import Request

from headscope.models import Model
from headscope.pages.atlas import atlas_data, shown_findings
from headscope.pages.head_page import head_page
from headscope.pages.shapes import AtlasData, HeadPage, Neurons, SeenRequest
from headscope.server.catalogue import Catalogue, OfferedAtlas, OfferedModel
from headscope.server.predictions import predict
from headscope.server.shapes import Predicted, PredictRequest
from headscope.server.texts import Look, Texts, look, look_id, neurons
from headscope.server.worker import Job, Worker

T = TypeVar("T")


class Explorer:
    """Jobs for the worker, by what is asked for."""

    def __init__(self, catalogue: Catalogue, *, longest: int, tell: Callable[[str], None]) -> None:
        self.catalogue = catalogue
        self.longest = longest
        self.texts = Texts()
        self.worker = Worker(tell=tell)
        self._atlases: dict[str, AtlasData] = {}

    async def work(self, request: Request, what: str, function: Callable[[Job[T]], T]) -> T:
        """`function` in the worker, until the client goes."""

        async def gone() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass

        return await self.worker.run(what, function, gone=gone)

    def load(self, offered: OfferedModel) -> Model:
        """The model; says so when it must be loaded first."""
        if offered.loaded is None:
            self.worker.say(f"loading {offered.name}")
        return offered.get()

    def look(self, asked: SeenRequest) -> Callable[[Job[Look]], Look]:
        """A job that looks at a text, unless it was done while the job waited."""
        offered = self.catalogue.model(asked.model)

        def run(job: Job[Look]) -> Look:
            known = self.texts.find(look_id(asked))
            if known is not None:
                return known
            model = self.load(offered)
            self.worker.say(f"reading a text with {asked.model}")
            found = look(model, asked, longest=self.longest, between=job.check)
            self.texts.keep(asked, found)
            return found

        return run

    def neurons(self, asked: SeenRequest, head: tuple[str, int, int]) -> Callable[[Job[Neurons]], Neurons]:
        """A job that reads the queries and keys of a head."""
        offered = self.catalogue.model(asked.model)

        def run(job: Job[Neurons]) -> Neurons:
            return neurons(self.load(offered), asked, head, longest=self.longest, between=job.check)

        return run

    def predict(self, asked: PredictRequest) -> Callable[[Job[Predicted]], Predicted]:
        """A job that asks a model what it says."""
        offered = self.catalogue.model(asked.model)

        def run(job: Job[Predicted]) -> Predicted:
            self.load(offered)
            model, task = offered.predicting(), offered.task
            assert task is not None  # or `predicting` would have raised
            self.worker.say(f"asking {asked.model}")
            with job.watching(model.network):
                atlas = self.catalogue.atlas_of(asked.model)
                return predict(model, task, asked, atlas=atlas, longest=self.longest)

        return run

    def atlas(self, offered: OfferedAtlas) -> Callable[[Job[AtlasData]], AtlasData]:
        """A job that makes an atlas ready to be shown, once."""

        def run(job: Job[AtlasData]) -> AtlasData:
            if offered.id not in self._atlases:
                self.worker.say(f"drawing the maps of {offered.name}")
                found = shown_findings(offered.atlas)
                job.check()
                self._atlases[offered.id] = atlas_data(
                    offered.atlas, id=offered.id, name=offered.name, findings=found
                )
            return self._atlases[offered.id]

        return run

    def head_page(
        self, offered: OfferedAtlas, head: tuple[str, int, int]
    ) -> Callable[[Job[HeadPage]], HeadPage]:
        """A job that looks up all that an atlas knows of a head."""
        return lambda job: head_page(offered.atlas, *head)
