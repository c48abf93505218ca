"""Who may ask: this machine's own browser, on a page that was opened with the link, and nobody else.

The server listens on 127.0.0.1 only, but every web page that the user has open can send requests there, and a foreign
name can be made to point there (DNS rebinding). So every request must carry the Host it was meant for, must not
come from another page, and must have the access token, which is in no cookie.
"""

import secrets
from collections.abc import Iterable
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

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        await self.app(scope, self._counted(receive), sending)

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
        if not length.isdecimal() or int(length) > self.body_bytes:
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

    def _counted(self, receive: Receive) -> Receive:
        """`receive`, which fails when more comes than is allowed, whatever the headers said."""
        seen = 0

        async def counting() -> Message:
            nonlocal seen
            message = await receive()
            if message["type"] == "http.request":
                seen += len(message.get("body", b""))
                if seen > self.body_bytes:
                    raise HTTPException(413, self._too_large)
            return message

        return counting
