"""A connection that ends when the other end stands still: while it sends a request, or while it takes the answer.

Uvicorn itself waits for both without end. A model may take its time in between.
"""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SENT_WITHIN = 15.0
"""Seconds that a client has to send a whole request, from when it connected or had its last answer."""
TAKEN_WITHIN = 30.0
"""Seconds that an answer may lie unsent with nothing taken of it."""
LOOKS_EVERY = 5.0
"""Seconds between two looks at how a connection fares."""
MOST_CONNECTIONS = 2_000
"""Further ones are closed at once."""


class Connection(H11Protocol):
    """HTTP/1.1 with a look at the other end every few seconds."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._asked = self._taken = self.loop.time()
        self._unsent = 0
        self._look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to look, unless there are too many connections already."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            self._look_later()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the looks."""
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """The next request may begin."""
        self._asked = self.loop.time()
        super().on_response_complete()

    def resume_writing(self) -> None:
        """Most of what was sent has been taken: more follows."""
        self._taken = self.loop.time()
        super().resume_writing()

    def _look_later(self) -> None:
        self._look = self.loop.call_later(LOOKS_EVERY, self._look_now)

    def _look_now(self) -> None:
        if self._stands_still(self.loop.time()):
            self.transport.abort()  # not `close`, which waits until all is sent
        else:
            self._look_later()

    def _stands_still(self, now: float) -> bool:
        before, self._unsent = self._unsent, self.transport.get_write_buffer_size()
        if self._unsent:
            if before == 0 or self._unsent < before:
                self._taken = now
            return now - self._taken > TAKEN_WITHIN
        is_sending = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        return is_sending and now - self._asked > SENT_WITHIN
