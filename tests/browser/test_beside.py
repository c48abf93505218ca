"""Two texts or two models side by side: one head, one scale, and what is pointed at shows in both."""

from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from tests.browser.material import demo
from tests.browser.watching import NARROW, Open, number
from tests.browser.weights import point_at

from headscope.pages.looking import Looked
from headscope.pages.page import write_view
from headscope.pages.seen import Observed, observe
from headscope.pages.start import Start

LAYER, HEAD = 4, 6
FIRST, SECOND = "The old keys were lost.", "The keys were found."
KEYS = (3, 2)
"""Where "keys" is in the first text and in the second."""


@pytest.fixture(scope="module")
def seen() -> tuple[Observed, Observed]:
    return observe(demo(), FIRST), observe(demo(), SECOND)


@pytest.fixture(scope="module")
def path(seen: tuple[Observed, Observed], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("beside") / "pair.html"
    start = Start(view="matrix", layer=LAYER, heads=(HEAD,))
    write_view(path, Looked(seen[0]), start=start, beside=Looked(seen[1]))
    return path


def panes(page: Page) -> tuple:
    expect(page.locator(".hs-pane")).to_have_count(2)
    return page.locator(".hs-pane").first, page.locator(".hs-pane").last


def test_the_same_head_on_one_scale(seen: tuple[Observed, Observed], path: Path, from_file: Open) -> None:
    page = from_file(f"{path.as_uri()}#scale=max")
    for pane, text in zip(panes(page), (FIRST, SECOND), strict=True):
        expect(pane.locator(f".hs-matrix[data-layer='{LAYER}'][data-head='{HEAD}']")).to_be_visible()
        expect(pane.locator("h3").first).to_contain_text(text)
    largest = max(float(each.layer("encoder", LAYER)[HEAD].max()) for each in seen)
    note = page.get_by_role("note")
    expect(note).to_contain_text(f"One scale for both: colours run from 0 to a weight of {largest:.3f}")
    legends = page.locator(".hs-legend").evaluate_all("all => all.map((one) => one.ariaLabel)")
    ends = [legend.removeprefix("Colours from 0 to weight ") for legend in legends]
    assert [float(end) for end in ends] == pytest.approx([largest] * 2, abs=0.0005)
    page.keyboard.press("ArrowRight")
    expect(page.locator(f".hs-matrix[data-layer='{LAYER}'][data-head='{HEAD + 1}']")).to_have_count(2)


def test_a_cell_is_pointed_at_in_both(seen: tuple[Observed, Observed], path: Path, from_file: Open) -> None:
    page = from_file(path.as_uri())
    first, second = panes(page)
    point_at(first, KEYS[0], KEYS[0])
    for pane, place, each in zip((first, second), KEYS, seen, strict=True):
        read = pane.locator(f".hs-read[data-query='{place}'][data-key='{place}']")
        weight = each.layer("encoder", LAYER)[HEAD, place, place]
        assert number(read, "weight") == pytest.approx(weight, abs=0.0002)
    old = 2  # which the second text has not
    point_at(first, old, old)
    expect(second.locator(".hs-read[data-query]")).to_have_count(0)


def test_lines_of_both_and_tokens_that_both_have(
    seen: tuple[Observed, Observed], path: Path, from_file: Open
) -> None:
    page = from_file(f"{path.as_uri()}#view=head")
    first, second = panes(page)
    strongest = max(float(each.layer("encoder", LAYER)[HEAD].max()) for each in seen)
    reach = min(1.0, 2.0 ** np.ceil(np.log2(strongest)))
    for pane in (first, second):
        expect(pane.locator("canvas[data-of=all]")).to_have_attribute("data-reach", f"{reach:g}")
    second.locator(f"button[data-side=query][data-index='{KEYS[1]}']").hover()
    expect(first.locator(f"table[data-side=query][data-index='{KEYS[0]}']")).to_be_visible()
    second.locator(f"button[data-side=query][data-index='{KEYS[1]}']").click()  # held in both
    page.mouse.move(0, 0)
    expect(first.locator(f"button[data-index='{KEYS[0]}'][aria-pressed=true]")).to_have_count(1)
    expect(second.locator(f"button[data-index='{KEYS[1]}'][aria-pressed=true]")).to_have_count(1)
    second.locator("button[data-side=query][data-index='4']").click()  # "found" is in the second text alone
    page.mouse.move(0, 0)
    expect(second.locator("button[data-index='4'][aria-pressed=true]")).to_have_count(1)
    expect(first.locator("button[data-side][aria-pressed=true]")).to_have_count(0)


def test_on_a_telephone_one_stands_below_the_other(path: Path, from_file: Open) -> None:
    page = from_file(path.as_uri(), viewport=NARROW)
    boxes = [pane.bounding_box() for pane in panes(page)]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[1]["y"] >= boxes[0]["y"] + boxes[0]["height"] - 1
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


def test_another_model_beside_in_the_explorer(from_server: Open) -> None:
    page = from_server(f"view=matrix&model=demo&a={quote('The cat sat.')}&layer=1&heads=2")
    expect(page.locator(".hs-matrix")).to_have_count(1)
    page.get_by_role("button", name="Beside").click()
    first, second = panes(page)
    page.get_by_label("Model", exact=True).last.select_option("gpt2")
    page.get_by_role("button", name="Look", exact=True).last.click()
    expect(second.locator("h3").first).to_contain_text("gpt2")
    expect(first.locator("h3").first).to_contain_text("demo")
    expect(page.locator(".hs-matrix[data-layer='1'][data-head='2']")).to_have_count(2)
    page.wait_for_url("**beside=gpt2**")
    copy = page.context.new_page()
    copy.goto(page.url)
    expect(copy.locator(".hs-pane")).to_have_count(2)
    page.get_by_role("button", name="Close").click()
    expect(page.locator(".hs-pane")).to_have_count(0)
    expect(page.locator(".hs-matrix")).to_have_count(1)
