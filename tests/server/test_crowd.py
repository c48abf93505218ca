"""Many clients at once: right answers, and memory that stays."""

import asyncio
import json
import random
import resource
import threading
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI, Response
from tests.helpers.loops import run_apart
from tests.helpers.serving import Served, rest, served, wait
from tests.helpers.tiny import WORDS, tiny
from tests.server.conftest import TOKEN, MakeClient

from headscope.models import wrap
from headscope.server import Catalogue, connection, create_app, explorer
from headscope.server.answers import texts
from headscope.server.guard import ALL_BODIES_BYTES, BODY_BYTES, PIECE_BYTES

LARGE = bytes(4 << 20)
MEGABYTE = 1 << 20
JSON = {"Content-Type": "application/json"}


def app_of(hosts: list[str]) -> FastAPI:
    app = create_app(Catalogue([tiny("bert")]), token=TOKEN, hosts=hosts)

    @app.get("/api/large")
    async def large() -> Response:
        return Response(LARGE)

    return app


@pytest.fixture
def server() -> Iterator[Served]:
    with served(app_of) as running:
        yield running


def asking(text: str) -> bytes:
    return json.dumps({"model": "tiny-bert", "text_a": text}).encode()


async def answers(server: Served, *requests: bytes) -> list[tuple[int, Any]]:
    """Status and JSON of each request, all sent at the same time."""

    async def answer(request: bytes) -> tuple[int, Any]:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(request.replace(b"Host:", b"Connection: close\r\nHost:", 1))
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        return int(head.split()[1]), json.loads(body)

    async with asyncio.timeout(100):
        return await asyncio.gather(*map(answer, requests))


def memory() -> int:
    """Bytes that this process takes: the server, and these tests."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.slow
def test_a_thousand_requests_at_once_are_answered(server: Served) -> None:
    run_apart(answers(server, server.request("/api/seen", asking("the cat"))))
    before = memory()
    light = [server.request("/api/about"), server.request("/api/status")] * 400
    heavy = [server.request("/api/seen", asking(f"the cat sat {number}")) for number in range(200)]
    told = run_apart(answers(server, *light, *heavy))
    assert Counter(status for status, _ in told[: len(light)]) == {200: len(light)}
    seen = Counter(status for status, _ in told[len(light) :])
    assert set(seen) <= {200, 503}
    assert seen[200] >= 64
    assert {body["error"].split(";")[1] for status, body in told if status == 503} <= {
        " try again in a moment"
    }
    wait(lambda: server.connections == 0)
    assert memory() - before < 150 * MEGABYTE


@pytest.mark.slow
def test_a_hundred_slow_clients_keep_nobody_waiting(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SENT_WITHIN", 2)
    monkeypatch.setattr(connection, "TAKEN_WITHIN", 2)
    monkeypatch.setattr(connection, "LOOKS_EVERY", 0.5)
    before = memory()
    slow = [server.connect(receives=4096) for _ in range(100)]
    for client in slow[:50]:
        client.sendall(server.request("/api/seen", asking("the cat"), length=5000))
    for client in slow[50:]:
        client.sendall(server.request("/api/large"))
    statuses = [status for status, _ in run_apart(answers(server, server.request("/api/status")))]
    statuses += [status for status, _ in run_apart(answers(server, server.request("/api/seen", asking("a"))))]
    assert statuses == [200, 200]
    assert memory() - before < 50 * (len(LARGE) // 2)
    wait(lambda: server.connections == 0)
    for client in slow:
        assert len(rest(client)) < len(LARGE)
        client.close()


def held_up(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event, list[str]]:
    """Texts wait until told to go on: whether one has begun, what lets them go on, and those that were read."""
    begun, leave, read = threading.Event(), threading.Event(), list[str]()
    look = texts.Texts.look

    def slow(self: texts.Texts, job: Any, asked: Any) -> texts.Look:
        begun.set()
        assert leave.wait(20)
        read.append(asked.text_a)
        return look(self, job, asked)

    monkeypatch.setattr(texts.Texts, "look", slow)
    return begun, leave, read


def test_clients_that_leave_take_their_work_along(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, leave, read = held_up(monkeypatch)
    for number in range(30):
        with server.connect() as client:
            client.sendall(server.request("/api/seen", asking(f"the cat {number}")))
            if number == 0:
                assert begun.wait(20)

    def waiting() -> int:
        return int(run_apart(answers(server, server.request("/api/status")))[0][1]["waiting"])

    wait(lambda: waiting() == 0)
    leave.set()
    assert run_apart(answers(server, server.request("/api/seen", asking("the dog"))))[0][0] == 200
    assert read == ["the cat 0", "the dog"]


def test_a_second_reader_waits_for_one_text_only(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, leave, read = held_up(monkeypatch)

    def ask(reader: bytes, text: str) -> bytes:
        request = server.request("/api/seen", asking(text))
        return request.replace(b"Host:", b"X-Headscope-Reader: " + reader + b"\r\nHost:", 1)

    async def main() -> None:
        first = asyncio.ensure_future(
            answers(server, *(ask(b"one", f"first {number}") for number in range(8)))
        )
        await asyncio.to_thread(begun.wait, 20)
        await until_waiting(server, 7)
        second = asyncio.ensure_future(answers(server, ask(b"two", "second")))
        await until_waiting(server, 8)
        leave.set()
        assert {status for status, _ in await first + await second} == {200}

    run_apart(main())
    assert read.index("second") == 1


async def until_waiting(server: Served, number: int) -> None:
    async with asyncio.timeout(20):
        while (await answers(server, server.request("/api/status")))[0][1]["waiting"] < number:
            await asyncio.sleep(0.01)


def test_all_requests_together_have_a_limit(serving: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ALL_BODIES_BYTES >= 64 * BODY_BYTES
    client = serving(tiny("bert"))
    monkeypatch.setattr("headscope.server.guard.ALL_BODIES_BYTES", 100)
    refused = client.post("/api/seen", content=asking("the cat " * 100), headers=JSON)
    assert (refused.status_code, refused.json()["error"].split(";")[0]) == (
        503,
        "too much is being sent at once",
    )
    for _ in range(5):  # what was answered is not counted any more
        assert client.post("/api/seen", content=asking("the cat"), headers=JSON).status_code == 200


def test_large_answers_arrive_whole(server: Served) -> None:
    assert len(LARGE) % PIECE_BYTES == 0
    with server.connect() as client:
        client.sendall(server.request("/api/large").replace(b"Host:", b"Connection: close\r\nHost:", 1))
        assert rest(client).partition(b"\r\n\r\n")[2] == LARGE
        script = server.request("/assets/headscope.js").replace(b"Host:", b"Connection: close\r\nHost:", 1)
    with server.connect() as client:
        client.sendall(script)
        head, _, body = rest(client).partition(b"\r\n\r\n")
        assert f"content-length: {len(body)}".encode() in head.lower()


@pytest.mark.slow
def test_memory_stays_over_many_long_texts(serving: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explorer, "LOOK_BYTES", 8 * MEGABYTE)
    small = tiny("llama")
    network = deepcopy(small.network)
    network.config.max_position_embeddings = 400
    client = serving(wrap(network, small.tokenizer, name="long"), longest=400)
    words = random.Random(3)

    def read(number: int) -> int:
        for _ in range(number):
            text = " ".join(words.choices(WORDS, k=399))
            answer = client.post("/api/seen", json={"model": "long", "text_a": text})
            assert len(answer.json()["source"]["pieces"]) >= 400
        return memory()

    def least() -> int:
        """Of four readings: what a process takes goes up and down by 16 MB."""
        return min(read(4) for _ in range(4))

    read(8)
    start = least()
    assert least() - start < 12 * MEGABYTE  # a text leaves 1 MB of maps
