import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from tests.helpers.atlases import empty_atlas, random_atlas, with_dependency
from tests.helpers.loops import run_apart
from tests.helpers.tiny import tiny
from tests.server.conftest import HOST, TOKEN, MakeClient, client_of, make_app

from headscope.errors import CaptureError, ModelError
from headscope.pages.atlas import atlas_data, shown_findings
from headscope.pages.head.page import head_page
from headscope.server.problems import explained


def test_about_tells_what_there_is(serving: MakeClient) -> None:
    atlas = random_atlas(model="tiny-bert")
    told = serving(tiny("bert"), tiny("gpt2"), tiny("t5"), atlas).get("/api/about").json()
    assert [(one["name"], one["architecture"], one["pairs"]) for one in told["models"]] == [
        ("tiny-bert", "BertModel", True),
        ("tiny-gpt2", "GPT2Model", False),
        ("tiny-t5", "T5Model", True),
    ]
    assert [one["max_length"] for one in told["models"]] == [64, 64, 512]
    assert told["atlases"] == [{"id": "tiny-bert", "name": "tiny-bert", "model": "tiny-bert"}]


def test_status_is_idle_before_anything_is_asked(serving: MakeClient) -> None:
    assert serving(tiny("bert")).get("/api/status").json() == {"working": "", "waiting": 0}


def test_an_atlas_and_its_heads(serving: MakeClient) -> None:
    atlas = with_dependency(random_atlas())
    client = serving(atlas)
    told = client.get("/api/atlas/tiny?maps=true").json()
    findings = shown_findings(atlas)
    expected = atlas_data(atlas, id="tiny", name="tiny", findings=findings)
    assert told == json.loads(expected.model_dump_json())
    assert any("1.2" in finding["heads"] for finding in told["findings"])
    page = client.get("/api/atlas/tiny/head/encoder/1/2").json()
    assert page == json.loads(head_page(atlas, "encoder", 1, 2).model_dump_json())


def test_an_atlas_is_made_ready_once(serving: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    client = serving(random_atlas())
    first = client.get("/api/atlas/tiny").json()
    monkeypatch.setattr("headscope.server.explorer.atlas_data", lambda *a, **b: pytest.fail("made again"))
    assert client.get("/api/atlas/tiny").json() == first


def test_an_atlas_that_findings_do_not_understand_is_still_shown(
    serving: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(atlas: object) -> None:
        raise KeyError("stacks")

    monkeypatch.setattr("headscope.pages.atlas.facts.findings", fail)
    told = serving(random_atlas()).get("/api/atlas/tiny").json()
    assert told["findings"] == []
    assert told["stacks"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/api/atlas/other", 404),
        ("/api/atlas/other/head/encoder/0/0", 404),
        ("/api/atlas/tiny/head/decoder/0/0", 422),
        ("/api/atlas/tiny/head/encoder/3/0", 400),
        ("/api/atlas/tiny/head/encoder/0/x", 422),
        ("/api/nothing", 404),
    ],
)
def test_what_is_not_there(serving: MakeClient, path: str, code: int) -> None:
    answer = serving(random_atlas()).get(path)
    assert answer.status_code == code
    assert list(answer.json()) == ["error"]


def test_an_empty_atlas_is_shown_as_such(serving: MakeClient) -> None:
    client = serving(empty_atlas())
    assert client.get("/api/atlas/tiny").json()["stacks"] == []
    assert client.get("/api/atlas/tiny/head/encoder/0/0").status_code == 400


def test_wrong_methods(serving: MakeClient) -> None:
    client = serving(tiny("bert"))
    assert client.get("/api/seen").status_code == 405
    assert list(client.delete("/api/about").json()) == ["error"]


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (ModelError("weights lack\n3 parameters"), 422, "weights lack 3 parameters"),
        (CaptureError("a layer was missed"), 422, "a layer was missed"),
        (MemoryError(), 507, "out of memory"),
        (RuntimeError("boom"), 500, "unexpected RuntimeError: boom"),
    ],
)
def test_failures_while_loading(
    monkeypatch: pytest.MonkeyPatch, error: Exception, code: int, says: str
) -> None:
    app = make_app(tiny("bert"))
    offered = app.state.explorer.catalogue.models["tiny-bert"]

    def fail() -> None:
        raise error

    monkeypatch.setattr(offered, "get", fail)
    client = client_of(app)
    client._transport.raise_server_exceptions = False  # type: ignore[attr-defined]
    answer = client.post("/api/seen", json={"model": "tiny-bert", "text_a": "the cat"})
    assert answer.status_code == code
    assert says in answer.json()["error"]
    assert explained(error) == (code, answer.json()["error"])


def test_two_clients_at_once_get_their_own_answers() -> None:
    app = make_app(tiny("bert"))
    at_once = 0
    most = 0
    lock = threading.Lock()

    def enter(*_: object) -> None:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)

    def leave(*_: object) -> None:
        nonlocal at_once
        with lock:
            at_once -= 1

    network = tiny("bert").network
    handles = [network.register_forward_pre_hook(enter), network.register_forward_hook(leave)]
    texts = [f"the cat {'sat ' * number}" for number in range(1, 9)]

    def ask(text: str) -> tuple[int, bytes]:
        with client_of(app) as client:
            seen = client.post("/api/seen", json={"model": "tiny-bert", "text_a": text}).json()
            maps = client.get(f"/api/seen/{seen['id']}/maps/encoder/0").content
            return len(seen["source"]["pieces"]), maps

    app.router.lifespan_context = _nothing  # one server, many clients: none of them ends it
    try:
        with ThreadPoolExecutor(4) as clients:
            found = list(clients.map(ask, texts))
    finally:
        for handle in handles:
            handle.remove()
    assert most == 1
    assert [pieces for pieces, _ in found] == [len(text.split()) + 2 for text in texts]
    assert found == [ask(text) for text in texts]


class _nothing:  # noqa: N801
    def __init__(self, app: object) -> None: ...

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, *_: object) -> None: ...


def ask_and_leave(app: FastAPI, reached: threading.Event, leave: threading.Event) -> list[dict[str, Any]]:
    """Post a text and hang up when the first layer has run."""
    body = json.dumps({"model": "tiny-bert", "text_a": "the cat sat on the mat"}).encode()
    headers = {"host": HOST, "x-headscope-token": TOKEN, "content-type": "application/json"}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/api/seen",
        "raw_path": b"/api/seen",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    answers: list[dict[str, Any]] = []

    async def main() -> None:
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> dict[str, Any]:
            message = next(messages, None)
            if message is not None:
                return message
            await asyncio.to_thread(reached.wait, 20)
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            answers.append(message)

        async with asyncio.timeout(20):
            await app(scope, receive, send)
        leave.set()

    run_apart(main())
    return answers


def test_a_request_stops_when_its_client_goes() -> None:
    app = make_app(tiny("bert"))
    client = client_of(app)
    client.post("/api/seen", json={"model": "tiny-bert", "text_a": "the cat"})  # the model is surveyed by now
    layers = tiny("bert").network.encoder.layer
    ran: list[int] = []
    reached, leave = threading.Event(), threading.Event()

    def pause(number: int) -> Any:
        def hook(*_: object) -> None:
            ran.append(number)
            reached.set()
            assert leave.wait(20)

        return hook

    handles = [layer.register_forward_hook(pause(number)) for number, layer in enumerate(layers)]
    try:
        answers = ask_and_leave(app, reached, leave)
        again = client.post("/api/seen", json={"model": "tiny-bert", "text_a": "a dog"})  # waits for its turn
    finally:
        for handle in handles:
            handle.remove()
    assert ran[:1] == [0]
    assert ran.count(2) == 1  # only the second text came to the last layer
    assert [one.get("status") for one in answers if "status" in one] in ([], [499])
    assert again.status_code == 200
    maps = client.get(f"/api/seen/{again.json()['id']}/maps/encoder/2")
    assert np.frombuffer(maps.content, np.uint8).size


def test_an_atlas_does_not_wait_for_a_model(serving: MakeClient) -> None:
    client = serving(tiny("bert"), random_atlas())
    explorer = client.app.state.explorer  # type: ignore[attr-defined]
    busy = threading.Event()
    explorer.worker.prepare(lambda job: busy.wait(30))
    try:
        assert client.get("/api/atlas/tiny").json()["stacks"]
        assert not busy.is_set()
    finally:
        busy.set()
