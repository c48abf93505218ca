"""The widget in a real notebook: JupyterLab, a kernel, and cells that are run in the browser."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.browser import material
from tests.browser.material import NASTY, TEXTS
from tests.browser.watching import number, watching
from tests.helpers import own_view
from tests.helpers.tiny import saved, tiny

from headscope.pages.seen import observe

TOKEN = "a-token-for-tests"
PATIENT = 120_000
"""Milliseconds for what starts processes: the server, the kernel, the import of torch."""

CELLS = [
    f"import headscope as hs\n{own_view.CODE}\nmodel = hs.load('bert', device='cpu')",
    f"hs.view(model, {TEXTS[0]!r}, {TEXTS[1]!r}, layer=1, heads=[2])",
    "hs.open('made-up.nc')",
    f"tokens = {list(NASTY.values())!r}\n"
    "even = [[[[1 / len(tokens)] * len(tokens)] * len(tokens)] * 2] * 2\n"
    'hs.view(attentions=even, tokens=tokens, view="head")',
]


@dataclass(frozen=True)
class Lab:
    """JupyterLab, running."""

    port: int
    folder: Path

    @property
    def server(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        return f"{self.server}/lab/tree/views.ipynb?token={TOKEN}"


def write_notebook(path: Path) -> None:
    cells = [
        {
            "cell_type": "code",
            "id": f"cell{place}",
            "metadata": {},
            "execution_count": None,
            "outputs": [],
            "source": source,
        }
        for place, source in enumerate(CELLS)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(notebook))


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab on a free port, with folders of its own for all that it keeps, and no wish for news."""
    home = tmp_path_factory.mktemp("jupyter")
    folder = home / "work"
    folder.mkdir()
    write_notebook(folder / "views.ipynb")
    saved(tiny("bert"), folder / "bert")
    material.atlas().save(folder / "made-up.nc")
    own = {
        "HOME": str(home),
        "IPYTHONDIR": str(home / "ipython"),
        "HF_HUB_OFFLINE": "1",
        **{f"JUPYTER_{kind}_DIR": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")},
    }
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": "0",
        "ServerApp.open_browser": "False",
        "ServerApp.allow_root": "True",
        "ServerApp.root_dir": str(folder),
        "IdentityProvider.token": TOKEN,
        "LabApp.news_url": "None",
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
        "LabApp.extension_manager": "readonly",
    }
    said = home / "said"
    with said.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *(f"--{name}={value}" for name, value in options.items())],
            cwd=folder,
            env=os.environ | own,
            stdout=output,
            stderr=output,
        )
    with process:
        yield Lab(started(process, home / "runtime", said), folder)
        process.terminate()  # its kernels end with it


def started(process: subprocess.Popen[bytes], runtime: Path, said: Path) -> int:
    """The port, once the server has written it down."""
    for _ in range(PATIENT // 200):
        assert process.poll() is None, said.read_text()
        for path in runtime.glob("jpserver-*.json"):
            if path.stat().st_size:
                return int(json.loads(path.read_text())["port"])
        time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start: {said.read_text()}")


def wait_for_kernel(page: Page, lab: Lab) -> None:
    """Until the page talks to an idle kernel.

    The page's own sign of it says idle before there is any, and who runs cells then is asked to choose one.
    """
    for _ in range(PATIENT // 200):
        sessions = page.request.get(f"{lab.server}/api/sessions?token={TOKEN}").json()
        kernels = [session["kernel"] for session in sessions]
        if any(kernel["connections"] and kernel["execution_state"] == "idle" for kernel in kernels):
            break
        page.wait_for_timeout(200)
    else:
        pytest.fail("the notebook has no kernel")
    expect(page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]")).to_be_visible(timeout=PATIENT)


@pytest.fixture(scope="module")
def notebook(browser: Browser, lab: Lab) -> Iterator[Page]:
    """The notebook with all its cells run; at the end nothing but the notebook's server was asked for anything."""
    with watching(browser, port=lab.port, strict=False) as (open_page, _):
        page = open_page(lab.address)
        expect(page.locator(".jp-Notebook .jp-CodeCell")).to_have_count(len(CELLS), timeout=PATIENT)
        wait_for_kernel(page, lab)
        page.locator(".lm-MenuBar-item", has_text="Run").click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        expect(page.locator(".headscope")).to_have_count(3, timeout=PATIENT)
        yield page


def widget(notebook: Page, place: int) -> Locator:
    """The widget that a cell shows."""
    found = notebook.locator(".jp-CodeCell").nth(place).locator(".headscope")
    found.scroll_into_view_if_needed()
    expect(found).to_be_visible()
    return found


def test_a_text(notebook: Page) -> None:
    view = widget(notebook, 1)
    expect(view.locator(".hs-head")).to_have_attribute("data-layer", "1")
    exact = observe(tiny("bert"), *TEXTS).layer("encoder", 1)
    token = view.locator("button[data-side=query][data-index='3']")
    token.click()
    table = view.locator("table[data-index='3']")
    expect(table).to_be_visible()
    for row in table.locator("tr[data-index]").all():
        key = int(number(row, "index"))
        assert number(row, "weight") == pytest.approx(exact[2, 3, key], abs=0.005)
    for name in ("matrix", "model", "neuron"):
        view.locator(f"[data-view={name}]").click()
        expect(view.locator(".hs-main-part canvas").first).to_be_visible()
    expect(view.locator(".nv-carrier").first).to_be_visible()


def test_a_view_of_another_package(notebook: Page) -> None:
    view = widget(notebook, 1)
    view.locator("[data-view=most_read]").click()
    layer = int(view.get_by_label("Layer", exact=True).input_value())
    shares = observe(tiny("bert"), *TEXTS).layer("encoder", layer).mean((0, 1))
    expect(view.locator(".hs-extension li").first).to_contain_text(f"{100 * shares.max():.1f} %")


def test_keys_belong_to_the_widget_that_has_the_focus(notebook: Page) -> None:
    view = widget(notebook, 1)
    view.locator("[data-view=head]").click()
    notebook.keyboard.press("ArrowDown")
    expect(view.locator(".hs-head")).to_have_attribute("data-layer", "2")
    expect(notebook.locator(".jp-CodeCell")).to_have_count(len(CELLS))
    notebook.keyboard.press("a")  # to the notebook: a new cell above
    expect(view.locator(".hs-chip[aria-pressed=true]")).to_have_count(4)
    expect(notebook.locator(".jp-CodeCell")).to_have_count(len(CELLS))


def test_help_has_a_line_a_key(notebook: Page) -> None:
    """JupyterLab makes lists of terms float, in columns of a fifth."""
    view = widget(notebook, 1)
    dialog = notebook.get_by_role("dialog", name="Help")
    if not dialog.is_visible():  # as it is where a first try left it open
        view.get_by_role("button", name="Help").click()
    expect(dialog.locator("dt kbd").first).to_be_visible()
    heights = dialog.locator("dt kbd").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect().height)"
    )
    assert max(heights) < 1.5 * min(heights)
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)


def test_an_atlas(notebook: Page) -> None:
    view = widget(notebook, 2)
    view.locator(".hg-cell[data-head='1.2']").click()
    card = view.get_by_role("article", name="Head 1.2")
    expect(card).to_be_visible()
    exact = float(material.atlas()["offset_attention"].sel(layer=1, head=2, offset=-1))
    assert number(card.locator("g[data-label='offset -1']"), "value") == pytest.approx(exact, rel=1e-3)
    expect(card.locator(".hp-example").nth(1)).to_contain_text(NASTY["script"])
    view.locator("[data-view=map]").click()
    expect(view.locator(".mp-point")).to_have_count(96)


def test_tokens_that_are_hard_to_show(notebook: Page) -> None:
    view = widget(notebook, 3)
    tokens = view.locator("button[data-side=query]")
    expect(tokens).to_have_count(len(NASTY))
    marks = str.maketrans({"\u202e": "‹RLO›", "\u202c": "‹PDF›"})
    shown = [text.translate(marks) for text in NASTY.values()]
    assert tokens.evaluate_all("all => all.map((one) => one.title)") == shown
    expect(view.locator("script, img")).to_have_count(0)
    assert view.evaluate("element => element.scrollWidth <= element.clientWidth")
