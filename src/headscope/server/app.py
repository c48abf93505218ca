"""The application: its routes, typed by `headscope.pages.shapes`."""

import contextlib
from collections.abc import AsyncIterator, Callable
from importlib.resources import files
from typing import Annotated, Any

from fastapi import APIRouter, Body, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from headscope.errors import HeadscopeError
from headscope.pages.shapes.head import HeadPage
from headscope.pages.shapes.views import About, AtlasData, Embedded, Neurons, Seen, SeenRequest, Selection
from headscope.pages.views import VIEWS
from headscope.server.catalogue import Catalogue
from headscope.server.explorer import Explorer, check_find, check_request
from headscope.server.guard import TOKEN_HEADER, Guard
from headscope.server.problems import StoppedError, explained
from headscope.server.shapes import (
    Drawn,
    DrawRequest,
    FindRequest,
    Found,
    LookRequest,
    NamedHeads,
    Predicted,
    PredictRequest,
    Problem,
    Status,
)
from headscope.types import HeadId
from headscope.versions import version_of

LONGEST = 512
"""Most tokens of a text, unless told otherwise."""

ASSETS = {"headscope.js": "text/javascript; charset=utf-8", "headscope.css": "text/css; charset=utf-8"}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"model": Problem} for code in (400, 401, 403, 404, 413, 421, 422, 500, 503, 507)
}
HEADS = r"^\d+\.\d+(,\d+\.\d+)*$"
"""How heads are written in an address; others are refused in words of our own."""

_PROBLEM = {"$ref": "#/components/schemas/Problem"}


class _Octets(Response):
    media_type = "application/octet-stream"


class _Json(Response):
    """JSON that is written already."""

    media_type = "application/json"


def create_app(
    catalogue: Catalogue,
    *,
    token: str,
    hosts: list[str],
    longest: int = LONGEST,
    tell: Callable[[str], None] = lambda line: None,
) -> FastAPI:
    """The application, for requests that carry `token` and were sent to one of `hosts` (name:port)."""
    explorer = Explorer(catalogue, longest=longest, tell=tell)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        explorer.prepare()
        yield
        explorer.close()

    app = FastAPI(
        title="headscope",
        version=version_of("headscope"),
        # The pages that FastAPI makes of the description load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
        lifespan=lifespan,
        middleware=[Middleware(Guard, token=token, hosts=hosts)],
    )
    app.state.explorer = explorer
    app.include_router(_page_routes())
    app.include_router(_model_routes(explorer))
    app.include_router(_text_routes(explorer))
    app.include_router(_atlas_routes(explorer))
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]  # as FastAPI's own docs say
    _answer_problems(app)
    return app


def _page_routes() -> APIRouter:
    """The page and its bundle, which hold no data."""
    routes = APIRouter(include_in_schema=False)
    bundle = files("headscope.pages").joinpath("assets")

    @routes.get("/", response_class=HTMLResponse)
    async def page() -> str:
        return files("headscope.server").joinpath("page.html").read_text(encoding="utf-8")

    @routes.get("/assets/{name}")
    async def asset(name: str) -> Response:
        if name not in ASSETS:
            raise HTTPException(404, f"there is no asset {name}")
        return Response(bundle.joinpath(name).read_bytes(), media_type=ASSETS[name])

    @routes.get("/assets/views/{name}.js")
    async def script(name: str) -> Response:
        return Response(VIEWS.get(name).module(), media_type=ASSETS["headscope.js"])

    return routes


def _model_routes(explorer: Explorer) -> APIRouter:
    routes = APIRouter(prefix="/api", responses=PROBLEMS)

    @routes.get("/about")
    async def about() -> About:
        """What there is."""
        return explorer.catalogue.about(version_of("headscope"), explorer.longest)

    @routes.get("/status")
    async def status() -> Status:
        """What the server is busy with."""
        return explorer.status

    @routes.post("/predict")
    async def predicted(request: Request, asked: Annotated[PredictRequest, Body()]) -> Predicted:
        """What a model says, as it is and with heads switched off."""
        check_request(asked)
        return await explorer.work(request, "asking a model", lambda job: explorer.texts.predict(job, asked))

    @routes.post("/heads", response_model=AtlasData)
    async def heads(request: Request, asked: Annotated[SeenRequest, Body()]) -> Response:
        """What the heads of a model do on one text, as an atlas of it."""
        check_request(asked)
        return _Json(await explorer.work(request, "reading a text", lambda job: explorer.texts.heads(asked)))

    @routes.post("/select")
    async def selected(request: Request, asked: Annotated[PredictRequest, Body()]) -> NamedHeads:
        """The heads that the edits name."""
        check_request(asked)
        return await explorer.work(request, "looking heads up", lambda job: explorer.texts.select(asked))

    @routes.post("/arrows")
    async def arrows(request: Request, asked: Annotated[DrawRequest, Body()]) -> Drawn:
        """Sentences, or lines of arrows.jsonl, as words to draw arrows between."""
        return await explorer.work(request, "reading arrows", lambda job: explorer.texts.draw(asked))

    @routes.post("/find")
    async def found(request: Request, asked: Annotated[FindRequest, Body()]) -> Found:
        """The heads that look along arrows, ranked, with p values."""
        check_find(asked)
        return await explorer.work(request, "searching", lambda job: explorer.texts.find(job, asked))

    return routes


def _text_routes(explorer: Explorer) -> APIRouter:
    routes = APIRouter(prefix="/api", responses=PROBLEMS)

    @routes.post("/seen")
    async def seen(request: Request, asked: Annotated[LookRequest, Body()]) -> Seen:
        """Send a text through a model; its maps are then there under the id."""
        check_request(asked)
        return (
            await explorer.work(request, "reading a text", lambda job: explorer.texts.look(job, asked))
        ).seen

    @routes.get("/seen/{id}/maps/{stack}/{layer}", response_class=_Octets)
    async def maps(request: Request, id: str, stack: str, layer: int) -> Response:
        """Raw-deflated uint8[head][query][key], as `Seen` has it; `Seen.levels` says what each byte stands for."""
        look = explorer.looks.find(id)
        if look is None:
            asked = explorer.asked(id)
            look = await explorer.work(request, "reading a text", lambda job: explorer.texts.look(job, asked))
        return _Octets(look.chunk(stack, layer))

    @routes.get("/seen/{id}/neurons/{stack}/{layer}/{head}")
    async def head_neurons(request: Request, id: str, stack: str, layer: int, head: int) -> Neurons:
        """Queries and keys of one head on the text."""
        asked = explorer.asked(id)
        return await explorer.work(
            request, "reading neurons", lambda job: explorer.texts.neurons(job, asked, stack, layer, head)
        )

    @routes.get("/seen/{id}/view/{name}", response_class=_Json)
    async def view_of_text(request: Request, id: str, name: str) -> Response:
        """What a view of another package shows of a text."""
        asked = explorer.asked(id)
        return _Json(
            await explorer.work(request, f"drawing {name}", lambda job: explorer.texts.view(job, name, asked))
        )

    return routes


def _atlas_routes(explorer: Explorer) -> APIRouter:
    routes = APIRouter(prefix="/api", responses=PROBLEMS)

    @routes.get("/atlas/{id}", response_model=AtlasData)
    async def atlas(request: Request, id: str, *, maps: bool = False) -> Response:
        """Every number per head; with `maps` also heads as points, which takes longer the first time."""
        return _Json(
            await explorer.read(
                request, "reading an atlas", lambda job: explorer.atlas(job, id, with_maps=maps)
            )
        )

    @routes.get("/atlas/{id}/head/{stack}/{layer}/{head}")
    async def page_of_head(request: Request, id: str, stack: str, layer: int, head: int) -> HeadPage:
        """All that the atlas knows of one head."""
        what = f"looking up head {layer}.{head}"
        return await explorer.read(request, what, lambda job: explorer.head_page(id, stack, layer, head))

    @routes.get("/atlas/{id}/selection/{stack}")
    async def selected(
        request: Request,
        id: str,
        stack: str,
        heads: Annotated[str, Query(json_schema_extra={"pattern": HEADS})],
    ) -> Selection:
        """Some heads, such as 7.4,3.2, against the rest of their stack."""
        return await explorer.read(
            request, "comparing heads", lambda job: explorer.selection(id, stack, heads)
        )

    @routes.get("/atlas/{id}/view/{name}", response_class=_Json)
    async def view_of_atlas(
        request: Request, id: str, name: str, *, stack: str | None = None, layer: int = 0, head: int = 0
    ) -> Response:
        """What a view of another package shows of an atlas, or where a stack is named of a head."""
        place = None if stack is None else (stack, HeadId(layer, head))
        return _Json(
            await explorer.read(
                request, f"drawing {name}", lambda job: explorer.view_of_atlas(name, id, place)
            )
        )

    return routes


def _answer_problems(app: FastAPI) -> None:
    """Every failure is {"error": one line}."""

    async def failed(request: Request, error: Exception) -> JSONResponse:
        code, line = explained(error)
        return JSONResponse(Problem(error=line).model_dump(), status_code=code)

    # Besides Exception those that are no bugs: what only Exception stands for is also raised again.
    expected = (HTTPException, RequestValidationError, HeadscopeError, StoppedError, MemoryError)
    for kind in (Exception, *expected):
        app.add_exception_handler(kind, failed)


def _described(app: FastAPI) -> dict[str, Any]:
    """The interface (OpenAPI): the routes and all shapes, those of the single file and the widget included."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, routes=app.routes)
        _, more = models_json_schema([(Embedded, "validation")], ref_template="#/components/schemas/{model}")
        shapes = more["$defs"] | schema["components"]["schemas"]
        # FastAPI's own account of a malformed request, which is answered with a Problem here.
        schema["components"]["schemas"] = {
            name: shape for name, shape in shapes.items() if not name.endswith("ValidationError")
        }
        schema["components"]["securitySchemes"] = {
            "token": {"type": "apiKey", "in": "header", "name": TOKEN_HEADER}
        }
        schema["security"] = [{"token": []}]
        for operation in (operation for path in schema["paths"].values() for operation in path.values()):
            for code in map(str, PROBLEMS):
                operation["responses"][code]["content"] = {"application/json": {"schema": _PROBLEM}}
        app.openapi_schema = schema
    return app.openapi_schema
