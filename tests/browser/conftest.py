"""One browser, one server and one notebook for all tests in a real browser."""

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from tests.browser import material
from tests.browser.material import LINES, NASTY, TEXTS, Written, write
from tests.browser.watching import PATIENCE, Open, watching
from tests.conftest import CHROMIUM
from tests.helpers.programs import COMMAND, start
from tests.helpers.tiny import saved

from headscope.pages.arrays import from_attentions
from headscope.pages.atlas import write_atlas_view
from headscope.pages.looking import Looked
from headscope.pages.page import write_view
from headscope.report import write_report

expect.set_options(timeout=PATIENCE)

EXPLORE = f"""
import os, sys
from tests.helpers import own_view
own_view.register()
os.chdir(sys.argv[1])
sys.argv[1] = "explore"
{COMMAND}
"""
SERVED = ("bert", "twelve", "gpt2", "llama", "t5")
"""Models of the server besides demo, as folders."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Where there is none, none of these tests is collected (tests/conftest.py)."""
    with sync_playwright() as playwright:
        # As root, in a container, there is no sandbox to be had; the pages are our own.
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def from_file(browser: Browser) -> Iterator[Open]:
    """Opens pages that may ask nobody for anything."""
    with watching(browser) as (open_page, _):
        yield open_page


@dataclass(frozen=True)
class Server:
    """`headscope explore`, running."""

    link: str

    @property
    def port(self) -> int:
        port = urlsplit(self.link).port
        assert port is not None
        return port

    def at(self, fragment: str) -> str:
        """The link to a state of the page."""
        return f"{self.link}&{fragment}"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The command itself, with demo, models of other shapes, and two atlases; ended as a reader would end it."""
    folder = tmp_path_factory.mktemp("served")
    for name in SERVED:
        saved(material.model(name), folder / name)
    material.atlas().save(folder / "made-up.nc")
    material.other_atlas().save(folder / "other.nc")
    words = ("demo", *SERVED, "made-up.nc", "other.nc", "--no-open")
    program = start(EXPLORE, folder, *words, folder=folder)
    yield Server(program.first_line())
    program.send(signal.SIGINT)
    assert program.ended(20) == 0


@pytest.fixture
def from_server(browser: Browser, server: Server) -> Iterator[Open]:
    """Opens pages that may talk to the server and nobody else; takes the fragment."""
    with watching(browser, port=server.port) as (open_page, _):
        yield lambda fragment, **options: open_page(server.at(fragment), **options)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="session")
def demo_file(folder: Path) -> Written:
    return write(folder, "demo", "The keys to the old cabinets were lost.", "Anna found them.")


@pytest.fixture(scope="session")
def files(folder: Path, demo_file: Written) -> dict[str, Written]:
    """A single file of every kind of model."""
    return {"demo": demo_file} | {name: write(folder, name, *TEXTS) for name in SERVED}


@pytest.fixture(scope="session")
def nasty_file(folder: Path) -> Path:
    """Attention from elsewhere, between tokens that are hard to show."""
    tokens = [*NASTY.values(), ""]
    rows = [[[1 / len(tokens)] * len(tokens)] * len(tokens)] * 2
    path = folder / "nasty.html"
    write_view(path, Looked(from_attentions([rows, rows], tokens, name=NASTY["script"])), start=LINES)
    return path


@pytest.fixture(scope="session")
def report_file(folder: Path) -> Path:
    return write_report(material.measured_atlas(), folder / "report.html")


@pytest.fixture(scope="session")
def atlas_file(folder: Path) -> Path:
    path = folder / "atlas.html"
    write_atlas_view(path, material.atlas())
    return path
