"""The explorer's server as it runs, on a socket, and clients that speak to it byte by byte."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn
from fastapi import FastAPI
from tests.server.conftest import TOKEN

from headscope.server import hosts_of, listening
from headscope.server.serve import server_of

PATIENCE = 20


@dataclass(frozen=True)
class Served:
    """A server at work in a thread."""

    port: int
    server: uvicorn.Server

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def connections(self) -> int:
        return len(self.server.server_state.connections)

    def connect(self, *, receives: int | None = None) -> socket.socket:
        """A connection; `receives` is how many bytes the system takes ahead of its reader."""
        client = socket.socket()
        if receives is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
        client.settimeout(PATIENCE)
        client.connect(("127.0.0.1", self.port))
        return client

    def request(
        self, path: str, body: bytes = b"", *, length: int | None = None, token: str = TOKEN
    ) -> bytes:
        """A request as bytes; `length` is what it says of its body."""
        lines = [f"{'POST' if body else 'GET'} {path} HTTP/1.1", f"Host: {self.address}"]
        lines += [f"X-Headscope-Token: {token}", "Content-Type: application/json"]
        if body:
            lines.append(f"Content-Length: {len(body) if length is None else length}")
        return "\r\n".join([*lines, "", ""]).encode() + body


@contextmanager
def served(make: Callable[[list[str]], FastAPI]) -> Iterator[Served]:
    """The application that `make(hosts)` gives, as `headscope explore` runs it."""
    listener = listening()
    server = server_of(make(hosts_of(listener)))
    thread = threading.Thread(target=lambda: server.run(sockets=[listener]))
    thread.start()
    try:
        wait(lambda: server.started)
        yield Served(listener.getsockname()[1], server)
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listener.close()


def wait(condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Until it holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def rest(client: socket.socket) -> bytes:
    """What comes until the other end closes; b"" also where it hangs up."""
    received = b""
    try:
        while piece := client.recv(1 << 16):
            received += piece
    except ConnectionError:
        pass
    return received
