"""Clients that stand still, and many at once, against the server as it runs."""

import asyncio
import socket
import time
from collections.abc import Iterator

import pytest
from fastapi import FastAPI, Response
from tests.helpers.serving import Served, rest, served, wait
from tests.helpers.tiny import tiny
from tests.server.conftest import TOKEN

from headscope.server import Catalogue, connection, create_app
from headscope.server.guard import PIECE_BYTES

SENT_WITHIN = 0.5
LARGE = 24 << 20
ASKED = b'{"model": "tiny-bert", "text_a": "the cat sat"}'


def app_of(hosts: list[str]) -> FastAPI:
    """The explorer, a slow answer and a large one."""
    app = create_app(Catalogue([tiny("bert")]), token=TOKEN, hosts=hosts)
    large = bytes(LARGE)

    @app.get("/api/slow")
    async def slow() -> str:
        await asyncio.sleep(3 * SENT_WITHIN)
        return "at last"

    @app.get("/api/large")
    async def whole() -> Response:
        return Response(large)

    return app


@pytest.fixture(scope="module")
def quick() -> Iterator[None]:
    """Looks every tenth of a second."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(connection, "SENT_WITHIN", SENT_WITHIN)
        patched.setattr(connection, "TAKEN_WITHIN", SENT_WITHIN)
        patched.setattr(connection, "LOOKS_EVERY", 0.1)
        yield


@pytest.fixture(scope="module")
def server(quick: None) -> Iterator[Served]:
    with served(app_of) as running:
        yield running


def closed_after(client: socket.socket) -> float:
    """Seconds until the other end closes."""
    start = time.monotonic()
    rest(client)
    return time.monotonic() - start


@pytest.mark.parametrize("begins", ["nothing", "half a heading", "half a body", "a refused body"])
def test_a_client_that_stops_sending_is_hung_up_on(server: Served, begins: str) -> None:
    sent = {
        "nothing": b"",
        "half a heading": server.request("/api/about")[:40],
        "half a body": server.request("/api/seen", ASKED, length=1000),
        "a refused body": server.request("/api/seen", ASKED, length=1000, token="wrong"),
    }[begins]
    with server.connect() as client:
        client.sendall(sent)
        assert SENT_WITHIN / 2 < closed_after(client) < 10 * SENT_WITHIN
    wait(lambda: server.connections == 0)


def test_a_byte_now_and_then_does_not_help(server: Served) -> None:
    def drip(client: socket.socket) -> None:
        for byte in server.request("/api/about") * 100:
            client.sendall(bytes([byte]))
            time.sleep(0.02)

    with server.connect() as client:
        start = time.monotonic()
        with pytest.raises(ConnectionError):
            drip(client)
        assert time.monotonic() - start < 10 * SENT_WITHIN


def test_a_slow_answer_is_waited_for(server: Served) -> None:
    with server.connect() as client:
        client.sendall(server.request("/api/slow"))
        answer = rest(client)
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b'"at last"')


def test_a_client_that_does_not_take_its_answer_is_hung_up_on_and_keeps_no_copy(server: Served) -> None:
    with server.connect(receives=4096) as client:
        client.sendall(server.request("/api/large"))
        wait(lambda: server.connections == 1)
        most = 0

        def gone() -> bool:
            nonlocal most
            for other in list(server.server.server_state.connections):
                most = max(most, other.transport.get_write_buffer_size())
            return server.connections == 0

        wait(gone)
        assert 0 < most < 3 * PIECE_BYTES
        assert len(rest(client)) < LARGE


def test_a_slow_reader_that_goes_on_gets_it_all(server: Served) -> None:
    with server.connect(receives=1 << 16) as client:
        client.sendall(server.request("/api/large"))
        received, start = 0, time.monotonic()
        while received < LARGE:
            piece = client.recv(1 << 20)
            assert piece, f"closed after {received:,} bytes"
            received += len(piece)
            if time.monotonic() - start < 2:
                time.sleep(0.02)


def test_too_many_connections_are_closed_at_once(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MOST_CONNECTIONS", 3)
    monkeypatch.setattr(connection, "SENT_WITHIN", 5)
    clients = [server.connect() for _ in range(3)]
    with server.connect() as one_more:
        assert rest(one_more) == b""
    clients[0].sendall(server.request("/api/status"))
    assert clients[0].recv(1 << 16).startswith(b"HTTP/1.1 200")
    for client in clients:
        client.close()
    wait(lambda: server.connections == 0)


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /api/about HTTP/1.1\r\nHost: \xff\x00\r\n\r\n",
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 50_000 + b"\r\n",
        b"POST /api/seen HTTP/1.1\r\nHost: a\r\nContent-Length: " + b"9" * 5_000 + b"\r\n\r\n",
        b"POST /api/seen HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        b"POST /api/seen HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    ],
    ids=["tls", "version", "host", "long path", "many headers", "long length", "two lengths", "bad chunk"],
)
def test_what_is_no_http_is_refused(server: Served, sent: bytes) -> None:
    with server.connect() as client:
        try:
            client.sendall(sent)
        except ConnectionError:
            return
        answer = rest(client)
    assert not answer or answer.split()[1] in (b"400", b"413", b"421")
