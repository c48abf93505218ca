"""A long text opens and turns its pages at once.

The true bars are those of benchmarks/view_speed.py, three to ten times as strict: here only what is an order of
magnitude too slow fails, whatever else the machine is busy with.
"""

from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.browser.material import demo
from tests.browser.watching import watching

import headscope as hs
from headscope.pages.looking import Looked
from headscope.pages.page import write_view
from headscope.pages.seen import observe
from headscope.pages.start import Start

TOKENS = 512
OPENED_WITHIN, TURNED_WITHIN = 3_000, 1_000  # milliseconds
TRIES = 3
"""The quickest counts."""

_WATCH = """
window.shown = new Promise((resolve) => {
  new MutationObserver((_, observer) => {
    if (document.querySelector("canvas[data-lines]") === null) return;
    observer.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now())));
  }).observe(document, { childList: true, attributes: true, subtree: true });
});
"""
_TURN = """
layer => new Promise((resolve) => {
  const view = document.querySelector(".hs-head");
  const begun = performance.now();
  new MutationObserver((_, observer) => {
    if (view.dataset.layer !== String(layer)) return;
    observer.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - begun)));
  }).observe(view, { attributes: true });
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
})
"""


@pytest.fixture(scope="module")
def long_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "long.html"
    text = hs.sample_path("articles").read_text(encoding="utf-8")
    looked = Looked(observe(demo(), text, max_length=TOKENS))
    write_view(path, looked, start=Start(view="head", layer=0))
    return path


def test_a_long_text_opens_and_turns_quickly(long_file: Path, browser: Browser) -> None:
    opened, first, later = [], [], []
    for _ in range(TRIES):
        with watching(browser) as (open_page, _watched):
            page = open_page("about:blank")
            page.add_init_script(_WATCH)
            page.goto(long_file.as_uri(), wait_until="commit")
            opened.append(page.evaluate("window.shown"))
            first.append(page.evaluate(_TURN, 1))
            later.append(page.evaluate(_TURN, 2))
    assert min(opened) < OPENED_WITHIN
    assert min(first) < TURNED_WITHIN, "straight after opening"
    assert min(later) < TURNED_WITHIN
