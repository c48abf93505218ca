"""What all tests share."""

import math
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.lanes import Lanes

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no test asks the hub; before anything imports its library
if shutil.which("nvidia-smi") is None:
    os.environ["TRITON_INTERPRET"] = "1"  # kernels run on the CPU, slowly; before anything imports triton

BROWSER_IS_REQUIRED = "HEADSCOPE_TESTS_NEED_BROWSER"
"""Set by CI, where tests in a real browser must not be left out."""

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
"""The real browser: the same engine without windows, where that is there, needs a third of the time."""
if CHROMIUM is None and os.environ.get(BROWSER_IS_REQUIRED):
    raise pytest.UsageError("tests in a real browser need one: apt-get install chromium-headless-shell")
collect_ignore_glob = [] if CHROMIUM else ["browser/*"]


def pytest_configure(config: pytest.Config) -> None:
    """Two lanes of tests, and one thread a worker: two with two threads each on two cores take far longer.

    Told here, before the workers start and load torch: this file loads neither it nor headscope, so that who only
    hands out tests begins at once.
    """
    if config.getoption("numprocesses", None):
        os.environ["OMP_NUM_THREADS"] = "1"
    if not config.pluginmanager.has_plugin("lanes"):  # papers/tests/conftest.py calls this too
        config.pluginmanager.register(Lanes(), "lanes")


def together(nodeid: str) -> str:
    """What a test stays together with: its file, whose fixtures it shares; in the browser all, who share one server."""
    path = nodeid.partition("::")[0]
    folder = path.rpartition("/")[0]
    return folder if folder.endswith("browser") else path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with many slow tests go first: no worker is left alone with them at the end.

    A browser on a busy machine now and then misses a key: its tests have a second try, and the summary says so.
    """
    for item in items:
        if item.path.parent.name == "browser":
            item.add_marker(pytest.mark.flaky(reruns=1))
            item.add_marker(pytest.mark.slow)
    slow = Counter(together(item.nodeid) for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: -slow[together(item.nodeid)])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: while a worker waits for a browser, a cluster or a disk, another one works."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """What stays together goes to one worker, in the order of collection.

    xdist's own groups do nothing with pytest 9.2, and say nothing about it (pytest-xdist's issue 1386).
    """
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return together(nodeid)

    config.option.loadscopereorder = False
    return Together(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out, in one line."""
    if CHROMIUM is None:
        terminalreporter.write_line(
            "The tests in a real browser were left out: there is none (apt-get install chromium-headless-shell)."
        )


@pytest.fixture(scope="module", autouse=True)
def few_fits() -> Iterator[None]:
    """Fewer rounds and draws for kinds of heads than users get: elsewhere it is tested what becomes of their numbers.

    The tests of kinds themselves have all of them (tests/kinds/conftest.py).
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headscope.kinds.stability.ROUNDS", 1)
        patch.setattr("headscope.kinds.stability.STARTS", 1)
        patch.setattr("headscope.kinds.clusters.NULL_DRAWS", 19)
        patch.setattr("headscope.kinds.clusters.NULL_STARTS", 1)
        patch.setattr("headscope.kinds.likeness.PERMUTATIONS", 99)
        yield


@pytest.fixture(scope="session", autouse=True)
def one_command_line() -> Iterator[None]:
    """The commands are put together once, not whenever a test runs one: it takes as long as many of them do."""
    from typer import testing

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(testing, "_get_command", cache(testing._get_command))
        yield


@pytest.fixture(autouse=True)
def no_open_figures() -> Iterator[None]:
    """Figures that a test left open are closed: pyplot counts those of all tests of a process, and warns of many."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def no_log_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine a run would tell how far it is, between the lines that tests look at."""
    monkeypatch.setattr("headscope.passes.progress.FIRST_LINE_AFTER", math.inf)


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT of 3 x 4 heads that takes 64 tokens, as save_pretrained writes it."""
    from tests.helpers.tiny import saved, tiny

    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    return saved(tiny("bert"), folder)
