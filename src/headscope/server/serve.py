"""Listening on this machine alone, until Ctrl-C."""

import errno
import secrets
import socket

import uvicorn
from fastapi import FastAPI

from headscope.errors import OptionError
from headscope.server.connection import MOST_CONNECTIONS, Connection

HOST = "127.0.0.1"
"""The server is for whoever sits at this machine; there is no option for any other."""
USUAL_PORT = 80
"""The port that browsers leave out of a Host header."""
STOP_WITHIN = 1
"""Seconds that requests have to end when the server stops."""
WORK_ENDS_WITHIN = 10
"""Seconds that the work at hand then has to end: Python may crash when it ends with a thread still at work."""

SYSTEM_KEEPS = 1 << 18
"""Bytes of an answer, for each connection, that the system takes ahead of its reader."""
OTHER_FILES = 200
"""Files that the process has open besides connections, and room for more."""


def new_token() -> str:
    """An access token that nobody guesses."""
    return secrets.token_urlsafe(32)


def listening(port: int = 0) -> socket.socket:
    """A socket that listens; any free port for 0."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Passed on to every connection: what a client does not take is not kept by the system either.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SYSTEM_KEEPS)
        listener.bind((HOST, port))
        listener.listen(64)
    except (OSError, OverflowError) as error:
        listener.close()
        raise OptionError(_refused(port, error)) from error
    return listener


def hosts_of(listener: socket.socket) -> list[str]:
    """What a browser may call the server."""
    port = listener.getsockname()[1]
    named = [f"{HOST}:{port}", f"localhost:{port}"]
    return [*named, HOST, "localhost"] if port == USUAL_PORT else named


def link_of(listener: socket.socket, token: str) -> str:
    """The link that opens the page. The token stands behind the #, which browsers send to nobody."""
    return f"http://{hosts_of(listener)[0]}/#token={token}"


def serve(app: FastAPI, listener: socket.socket, *, debug: bool = False) -> None:
    """Answer requests until Ctrl-C."""
    _allow_connections()
    try:
        server_of(app, debug=debug).run(sockets=[listener])
    except KeyboardInterrupt:  # raised again by uvicorn when it has stopped: the way this is meant to end
        pass
    finally:
        listener.close()
        app.state.explorer.join(WORK_ENDS_WITHIN)


def server_of(app: FastAPI, *, debug: bool = False) -> uvicorn.Server:
    """What runs the application."""
    config = uvicorn.Config(
        app,
        log_level="info" if debug else "critical",
        access_log=debug,
        server_header=False,
        http=Connection,
        ws="none",
        timeout_graceful_shutdown=STOP_WITHIN,
    )
    return uvicorn.Server(config)


def _allow_connections() -> None:
    """Let this process have as many files open as connections need, where the system has a limit that can be raised."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + OTHER_FILES
    wanted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if resource.RLIM_INFINITY != soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _refused(port: int, error: OSError | OverflowError) -> str:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return (
            f"port {port} is in use by another program; give another --port, or leave it out for a free one"
        )
    if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM):
        return f"port {port} may not be used by you; give a --port of 1024 or more, or leave it out for a free one"
    return f"port {port} cannot be used ({error}); give another --port, or leave it out for a free one"
