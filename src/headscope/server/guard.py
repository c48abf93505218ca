"""Who may ask: this machine's own browser, on a page that was opened with the link, and nobody else.

The server listens on 127.0.0.1 only, but every web page that the user has open can send requests there, and a foreign
name can be made to point there (DNS rebinding). So every request must carry the Host it was meant for, must not
come from another page, and must have the access token, which is in no cookie.
"""

import secrets
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headscope.html import SERVED_POLICY

TOKEN_HEADER = "x-headscope-token"
OPEN_PATHS = ("/", "/assets/", "/favicon.ico")
"""What needs no token: the page and its bundle, which are the same for everybody."""
BODY_BYTES = 1 << 18
"""How large a request may be: far more than a person types."""
ALL_BODIES_BYTES = 32 << 20
"""How large all requests together may be that are not answered yet."""
_DIGITS = 12  # of the length of a request; Python refuses to read a number of thousands
PIECE_BYTES = 1 << 16
"""Answers are sent piece by piece: a client that does not take its answer then keeps no copy of it in memory."""

HEADERS = {
    "Content-Security-Policy": SERVED_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Looks at every request before the application does, and at every answer before it leaves."""

    def __init__(
        self, app: ASGIApp, *, token: str, hosts: Iterable[str], body_bytes: int = BODY_BYTES
    ) -> None:
        """`hosts` are what a Host header may say, with the port."""
        self.app = app
        self.token = token.encode()
        self.hosts = frozenset(hosts)
        self.body_bytes = body_bytes
        self._held = 0  # bytes of all requests that are not answered yet

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (the interface of ASGI): a refusal, or what the application says."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets
            await send({"type": "websocket.close", "code": 1008})
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            code, error = refusal
            await JSONResponse({"error": error}, code, HEADERS)(scope, receive, send)
            return
        await self._let_in(scope, receive, send)

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer; what comes is counted, and what goes has our headers and goes in pieces."""
        seen = 0

        async def receiving() -> Message:
            nonlocal seen
            message = await receive()
            if message["type"] == "http.request":
                new = len(message.get("body", b""))
                seen += new
                self._held += new
                self._check_size(seen)
            return message

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            for piece in _pieces(message):
                await send(piece)

        try:
            await self.app(scope, receiving, sending)
        finally:
            self._held -= seen

    def _check_size(self, seen: int) -> None:
        """Raise HTTPException when a request, or all of them, are too large, whatever their headers said."""
        if seen > self.body_bytes:
            raise HTTPException(413, self._too_large)
        if self._held > ALL_BODIES_BYTES:
            raise HTTPException(503, "too much is being sent at once; try again in a moment")

    @property
    def _too_large(self) -> str:
        return f"the request is larger than {self.body_bytes // 1024} kB"

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        if headers.getlist("host") not in [[host] for host in self.hosts]:
            return (
                421,
                "this server answers to its own address only; open the link that headscope explore printed",
            )
        origin = headers.get("origin")
        if origin is not None and not self._is_own(origin):
            return 403, "requests from other pages are not answered"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > _DIGITS or int(length) > self.body_bytes:
            return 413, self._too_large
        path = str(scope["path"])
        is_open = path in OPEN_PATHS or path.startswith("/assets/")
        token = headers.get(TOKEN_HEADER, "").encode()
        if not is_open and not secrets.compare_digest(token, self.token):
            return 401, "the access token is missing or wrong; open the link that headscope explore printed"
        return None

    def _is_own(self, origin: str) -> bool:
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme == "http" and parts.netloc in self.hosts


def _pieces(message: Message) -> Iterator[Message]:
    """The message; several in its place where it has much to send."""
    body = message.get("body", b"")
    last = 0
    for last in range(PIECE_BYTES, len(body), PIECE_BYTES):
        yield {**message, "body": body[last - PIECE_BYTES : last], "more_body": True}
    yield {**message, "body": body[last:]} if last else message
