"""How fast a single file opens and turns its pages, beside the bars: 512 tokens, 72 heads (6 x 12), in Chromium.

Opening is from the start of navigation to the first frame with the picture in it, turning from a key press to the
first frame with the next layer. Where a layer has very many lines, the head view's first picture has the strongest
900; the rest follow 0.14 s later. The model is random with sharpened attention, the text is the sample corpus. Medians
count: other work on the machine makes some runs slow. Exits with 1 when a bar is missed.
"""

import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright
from view_size import HEADS, LAYERS, random_model

import headscope as hs
from headscope.pages.looking import Looked
from headscope.pages.page import write_view
from headscope.pages.seen import observe
from headscope.pages.start import Start

TOKENS = 512
OPENED_WITHIN = 1000  # milliseconds
TURNED_WITHIN = 100
REPEATS = 7
VIEWS = {"head": ".hs-head", "matrix": ".hs-matrix"}
DRAWN = {"head": "canvas[data-lines]", "matrix": "canvas[style]"}
"""What a canvas is once something was drawn on it."""

# A frame is on the screen when the one after it begins.
_WATCH = """
window.shown = new Promise((resolve) => {
  new MutationObserver((_, observer) => {
    if (document.querySelector("SELECTOR") === null) return;
    observer.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now())));
  }).observe(document, { childList: true, attributes: true, subtree: true });
});
"""
_TURN = """
([selector, key, layer]) => new Promise((resolve) => {
  const view = document.querySelector(selector);
  const begun = performance.now();
  new MutationObserver((_, observer) => {
    if (view.dataset.layer !== String(layer)) return;
    observer.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - begun)));
  }).observe(view, { attributes: true });
  document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
})
"""


def opened(browser: Browser, path: Path, view: str) -> tuple[float, list[float]]:
    """Milliseconds to the first picture, and of every turn to another layer, in a fresh browser context."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        page.add_init_script(_WATCH.replace("SELECTOR", f"{VIEWS[view]} {DRAWN[view]}"))
        page.goto(f"{path.as_uri()}#view={view}", wait_until="commit")
        first = float(page.evaluate("window.shown"))
        return first, turned(page, VIEWS[view])


def turned(page: Page, selector: str) -> list[float]:
    """Down through all layers without a rest for what is fetched ahead, and back up."""
    down = [("ArrowDown", layer) for layer in range(1, LAYERS)]
    up = [("ArrowUp", layer) for layer in reversed(range(LAYERS - 1))]
    return [float(page.evaluate(_TURN, [selector, key, layer])) for key, layer in down + up]


def main() -> int:
    chromium = shutil.which("chromium")
    if chromium is None:
        print("this needs chromium: apt-get install chromium", file=sys.stderr)
        return 2
    model = random_model(hs.load("demo", device="cpu").tokenizer, sharpened=6)
    observed = observe(model, hs.sample_path("articles").read_text(encoding="utf-8"), max_length=TOKENS)
    missed = False
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "view.html"
        write_view(path, Looked(observed), start=Start())
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        print(f"{TOKENS} tokens, {LAYERS * HEADS} heads, {path.stat().st_size / 1e6:.2f} MB; milliseconds")
        print("view       what           median     least      most       bar")
        for view in VIEWS:
            runs = [opened(browser, path, view) for _ in range(REPEATS)]
            turns = [turn for _, each in runs for turn in each]
            for what, times, bar in (
                ("first picture", [first for first, _ in runs], OPENED_WITHIN),
                ("next layer", turns, TURNED_WITHIN),
            ):
                middle = statistics.median(times)
                missed |= middle > bar
                print(f"{view:11}{what:14}{middle:7.0f}{min(times):10.0f}{max(times):10.0f}{bar:10}")
        browser.close()
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
