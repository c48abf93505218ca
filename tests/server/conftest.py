"""What the server's tests share: an application on tiny models, and a client that is let in."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from headscope.server import Catalogue, create_app

TOKEN = "t" * 43
HOST = "127.0.0.1:8123"

MakeClient = Callable[..., TestClient]


def make_app(*sources: Any, **options: Any) -> FastAPI:
    return create_app(Catalogue(sources), token=TOKEN, hosts=[HOST, "localhost:8123"], **options)


def client_of(app: FastAPI, **headers: str) -> TestClient:
    return TestClient(app, base_url=f"http://{HOST}", headers={"X-Headscope-Token": TOKEN} | headers)


@pytest.fixture
def serving() -> Iterator[MakeClient]:
    """`serving(model, atlas, ...)` is a client of a server that has these."""
    with ExitStack() as running:

        def make(*sources: Any, **options: Any) -> TestClient:
            return running.enter_context(client_of(make_app(*sources, **options)))

        yield make
