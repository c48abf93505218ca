"""A page under watch: what it asks for, says on its console and opens is kept, and must be harmless."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Locator, Page, ViewportSize, WebError, expect

WIDE: ViewportSize = {"width": 1280, "height": 900}
NARROW: ViewportSize = {"width": 390, "height": 844}
PATIENCE = 30_000
"""Milliseconds; only a machine that is busy with something else needs more than a tenth of it."""
OWN_SCHEMES = ("file", "data", "blob", "about")

_TELL_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`), true);
"""


class Watched:
    """Everything that the pages of one context did besides showing something."""

    def __init__(self, port: int | None) -> None:
        self.port = port
        self.requests: list[str] = []
        self.console: list[str] = []
        self.dialogs: list[str] = []

    def heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.console.append(f"{message.type}: {message.text}")

    def failed(self, error: WebError) -> None:
        self.console.append(f"uncaught: {error.error}")

    def asked(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def leaves(self, address: str) -> bool:
        """Whether a request goes anywhere but to the page's own file or server."""
        parts = urlsplit(address)
        if parts.scheme in OWN_SCHEMES:
            return False
        return (
            self.port is None
            or parts.scheme not in ("http", "ws")
            or parts.netloc != f"127.0.0.1:{self.port}"
        )

    def check(self) -> None:
        """Fail on anything that left the page, complained, or popped up."""
        assert [address for address in self.requests if self.leaves(address)] == []
        assert self.dialogs == []
        assert self.console == [], self.console


Open = Callable[..., Page]


@contextmanager
def watching(
    browser: Browser, *, port: int | None = None, strict: bool = True, touch: bool = False
) -> Iterator[tuple[Open, Watched]]:
    """A function that opens addresses in pages of a fresh context, which is checked at the end.

    `port` is that of the server the pages may talk to; without `strict` the console is the host's, not ours;
    with `touch` the screen takes fingers.
    """
    watched = Watched(port)
    with browser.new_context(viewport=WIDE, color_scheme="light", has_touch=touch) as context:
        context.set_default_timeout(PATIENCE)
        context.add_init_script(_TELL_VIOLATIONS)
        context.on("request", lambda request: watched.requests.append(request.url))
        context.on("dialog", watched.asked)
        if strict:
            context.on("console", watched.heard)
            context.on("weberror", watched.failed)

        def open_page(address: str, *, viewport: ViewportSize | None = None) -> Page:
            page = context.new_page()
            page.on("websocket", lambda socket: watched.requests.append(socket.url))
            if viewport is not None:
                page.set_viewport_size(viewport)
            page.goto(address)
            return page

        yield open_page, watched
        watched.check()


def number(place: Locator, name: str) -> float:
    """A number that an element carries as data-`name`, waited for."""
    expect(place).to_have_attribute(f"data-{name}", re.compile("."))
    return float(place.get_attribute(f"data-{name}") or "nan")


def go(page: Page, fragment: str) -> None:
    """Follow a link to another state of the page that is open."""
    page.evaluate("fragment => { location.hash = fragment }", fragment)


def addressed(page: Page, *parts: str) -> None:
    """Wait until the address names these: it is written a moment after a change."""
    for part in parts:
        expect(page).to_have_url(re.compile(re.escape(part)))


def settled(page: Page) -> None:
    """Wait until nothing is about to change, neither the page nor its address; for what is not there to be waited for.

    The page's own clock is asked, after its next frame: on a busy machine ours would run ahead of it.
    """
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 200)))")
