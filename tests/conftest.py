"""What all tests share."""

import math
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

if shutil.which("nvidia-smi") is None:
    os.environ["TRITON_INTERPRET"] = "1"  # kernels run on the CPU, slowly; before anything imports triton

import torch
from tests.helpers.tiny import tiny
from threadpoolctl import threadpool_limits

BROWSER_IS_REQUIRED = "HEADSCOPE_TESTS_NEED_BROWSER"
"""Set by CI, where tests in a real browser must not be left out."""

has_browser = shutil.which("chromium") is not None
if not has_browser and os.environ.get(BROWSER_IS_REQUIRED):
    raise pytest.UsageError("tests in a real browser need chromium: apt-get install chromium")
collect_ignore_glob = [] if has_browser else ["browser/*"]


def pytest_configure(config: pytest.Config) -> None:
    """One thread a worker: two workers with two threads each on two cores take far longer than with one."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.environ["OMP_NUM_THREADS"] = "1"  # for the commands that tests start, and what is loaded later
        threadpool_limits(1)  # for what is loaded already
        torch.set_num_threads(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one file share its fixtures, those in the browser share one server: they stay together.

    A browser on a busy machine now and then misses a key: its tests have a second try, and the summary says so.
    """
    for item in items:
        in_browser = item.path.parent.name == "browser"
        item.add_marker(pytest.mark.xdist_group("browser" if in_browser else str(item.path)))
        if in_browser:
            item.add_marker(pytest.mark.flaky(reruns=1))
            item.add_marker(pytest.mark.slow)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out, in one line."""
    if not has_browser:
        terminalreporter.write_line(
            "The tests in a real browser were left out: chromium was not found (apt-get install chromium)."
        )


@pytest.fixture(scope="module")
def few_fits() -> Iterator[None]:
    """Fewer rounds and draws for kinds of heads than users get, where it is tested what becomes of their numbers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headscope.kinds.stability.ROUNDS", 2)
        patch.setattr("headscope.kinds.stability.STARTS", 1)
        patch.setattr("headscope.kinds.clusters.NULL_DRAWS", 19)
        patch.setattr("headscope.kinds.likeness.PERMUTATIONS", 99)
        yield


@pytest.fixture
def no_log_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine a run would tell how far it is, between the lines that tests look at."""
    monkeypatch.setattr("headscope.run.progress.FIRST_LINE_AFTER", math.inf)


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT of 3 x 4 heads that takes 64 tokens, as save_pretrained writes it."""
    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    tiny("bert").network.save_pretrained(folder)
    tiny("bert").tokenizer.save_pretrained(folder)
    return folder
