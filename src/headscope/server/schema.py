"""The description of the interface (OpenAPI), from which the front end's types are made."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from headscope.pages.shapes import Embedded

_PLACE = "#/components/schemas/{model}"


def described(app: FastAPI) -> dict[str, Any]:
    """The routes and all shapes, those of the single file and the widget included."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, routes=app.routes)
        _, more = models_json_schema([(Embedded, "validation")], ref_template=_PLACE)
        known = schema["components"]["schemas"]
        # FastAPI's own account of a malformed request, which is answered with a Problem here.
        for name in ("HTTPValidationError", "ValidationError"):
            known.pop(name, None)
        for name, shape in more["$defs"].items():
            known.setdefault(name, shape)
        app.openapi_schema = schema
    return app.openapi_schema
