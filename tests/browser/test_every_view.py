"""Every view opens, from the server and from a file, on every kind of model, and shows something."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.material import TEXTS, Written
from tests.browser.watching import NARROW, Open

from headscope.pages.seen import Observed

STACKS = {
    "demo": ["encoder"],
    "twelve": ["encoder"],
    "gpt2": ["decoder"],
    "llama": ["decoder"],
    "t5": ["encoder", "decoder", "cross"],
}
ROTATED = ["llama"]
ONE_TEXT = ["gpt2", "llama"]
"""They take no pairs: the server's page has one field for them."""
PLACES = [(name, stack) for name, stacks in STACKS.items() for stack in stacks]

_INK = """canvas => {
  const {width, height} = canvas;
  const copy = new OffscreenCanvas(width, height).getContext("2d", {willReadFrequently: true});
  copy.drawImage(canvas, 0, 0);
  const pixels = copy.getImageData(0, 0, width, height).data;
  const seen = new Set();
  for (const pixel of new Uint32Array(pixels.buffer)) seen.add(pixel);
  return seen.size;
}"""


def drawn(page: Page, selector: str) -> None:
    """The canvas has a picture: more than a few colours."""
    canvas = page.locator(selector)
    expect(canvas).to_be_visible()
    for _ in range(50):
        if canvas.evaluate(_INK) > 8:
            return
        page.wait_for_timeout(100)
    pytest.fail(f"{selector} shows nothing")


def through_the_views(page: Page, name: str, observed: Observed, stack: str) -> None:
    """Every tab of a page with a text, clicked."""
    shape = observed.stack(stack)
    queries, keys = observed.tokens(shape.queries).pieces, observed.tokens(shape.keys).pieces
    expect(page.locator(".hs-head")).to_have_attribute("data-layer", "1")
    assert page.locator("button[data-side=query] bdi").all_inner_texts() == queries
    assert page.locator("button[data-side=key] bdi").all_inner_texts() == keys
    drawn(page, "canvas[data-of=all]")
    page.locator("[data-view=matrix]").click()
    expect(page.locator(".hs-matrix")).to_have_attribute("data-layer", "1")
    drawn(page, ".hs-matrix canvas")
    page.locator("[data-view=model]").click()
    expect(page.locator(".hs-model-inner canvas")).to_have_attribute("data-drawn", str(shape.layers))
    thumbs = page.locator(".hs-thumb").evaluate_all("all => all.map((one) => one.dataset.head)")
    assert thumbs == [f"{layer}.{head}" for layer in range(shape.layers) for head in range(shape.heads)]
    drawn(page, ".hs-model-inner canvas")
    drawn(page, ".hs-preview canvas")
    page.locator("[data-view=neuron]").click()
    drawn(page, ".nv-canvas")
    assert page.locator(".nv-query").all_inner_texts() == queries
    assert page.locator(".nv-carrier").count() > 0
    rotated = page.get_by_role("note").get_by_text(re.compile("rotat", re.IGNORECASE))
    expect(rotated).to_have_count(int(name in ROTATED))


@pytest.mark.parametrize(("name", "stack"), PLACES)
def test_the_views_of_a_text_from_a_file(
    name: str, stack: str, files: dict[str, Written], from_file: Open
) -> None:
    page = from_file(f"{files[name].address}#stack={stack}&layer=1")
    through_the_views(page, name, files[name].observed, stack)


@pytest.mark.parametrize(("name", "stack"), PLACES)
def test_the_views_of_a_text_from_the_server(
    name: str, stack: str, files: dict[str, Written], from_server: Open
) -> None:
    observed = files[name].observed
    text_a, text_b = (observed.text_a, observed.text_b) if name == "demo" else TEXTS
    if name in ONE_TEXT:
        text_a, text_b = f"{text_a} {text_b}", ""
    page = from_server(f"view=head&model={name}&a={text_a}&b={text_b}&stack={stack}&layer=1")
    through_the_views(page, name, observed, stack)


def test_atlas_and_map_from_a_file(atlas_file: Path, from_file: Open) -> None:
    page = from_file(atlas_file.as_uri())
    assert page.locator("[data-view]").all_inner_texts() == ["Atlas", "Map"]
    expect(page.locator(".hg-cell")).to_have_count(96)
    page.locator(".hg-cell[data-head='1.2']").click()
    expect(page.get_by_role("heading", name="Head 1.2")).to_be_visible()
    page.locator("[data-view=map]").click()
    expect(page.locator(".mp-point")).to_have_count(96)
    expect(page.locator(".mp-current")).to_have_attribute("data-head", "1.2")


def test_atlas_map_and_try_it_from_the_server(from_server: Open) -> None:
    page = from_server("view=atlas&layer=1&heads=2")
    expect(page.locator(".hg-cell")).to_have_count(96)
    expect(page.get_by_role("heading", name="Head 1.2")).to_be_visible()
    page.locator("[data-view=map]").click()
    expect(page.locator(".mp-point")).to_have_count(96)
    page.locator("[data-view=try]").click()
    expect(page.get_by_role("button", name="Predict")).to_be_enabled()
    # From a head's page to the same head on a text.
    page.go_back()
    page.locator(".hp-link", has_text="matrix").click()
    expect(page.locator(".hs-matrix[data-layer='1'][data-head='2']")).to_be_visible()


@pytest.mark.parametrize("view", ["head", "matrix", "model", "neuron"])
def test_nothing_is_wider_than_a_telephone(view: str, files: dict[str, Written], from_file: Open) -> None:
    page = from_file(f"{files['twelve'].address}#view={view}", viewport=NARROW)
    expect(page.locator(".hs-main-part canvas").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


def test_the_atlas_is_not_wider_than_a_telephone(atlas_file: Path, from_file: Open) -> None:
    for view in ("atlas", "map"):
        page = from_file(f"{atlas_file.as_uri()}#view={view}&layer=1&heads=2", viewport=NARROW)
        expect(page.get_by_role("heading", name="Head 1.2")).to_be_attached()
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
        parts = page.locator(".at-bar, .at-plot, .at-beside").all()
        assert len(parts) == 3
        for part in parts:
            assert part.evaluate("part => part.getBoundingClientRect().right") <= NARROW["width"]


def test_every_tab_is_in_sight_on_a_telephone(from_server: Open) -> None:
    page = from_server("view=try&model=demo", viewport=NARROW)
    expect(page.locator("[data-view]")).to_have_count(9)  # eight, and the one of the guide
    for tab in page.locator("[data-view]").all():
        assert tab.evaluate("tab => tab.getBoundingClientRect().right") <= NARROW["width"]
