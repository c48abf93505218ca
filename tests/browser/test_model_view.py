"""The view of all heads: thumbnails, the head that is pointed at, and what an atlas says of heads."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.browser.material import Written, demo
from tests.browser.watching import Open, addressed, go
from tests.browser.weights import CLOSE, at_cell

from headscope.pages.looking import Looked
from headscope.pages.page import write_view
from headscope.pages.seen import observe


def test_a_thumbnail_opens_its_head(demo_file: Written, from_file: Open) -> None:
    page = from_file(f"{demo_file.address}#view=model")
    page.locator(".hs-thumb[data-head='7.4']").click()
    expect(page.locator(".hs-matrix[data-layer='7'][data-head='4']")).to_be_visible()
    exact = demo_file.observed.layer("encoder", 7)[4]
    assert at_cell(page, 2, 1) == pytest.approx(exact[2, 1], abs=CLOSE)
    addressed(page, "layer=7", "heads=4")


def test_the_model_view_shows_the_head_that_is_pointed_at(demo_file: Written, from_file: Open) -> None:
    page = from_file(f"{demo_file.address}#view=model&layer=2&heads=1")
    preview = page.locator(".hs-preview")
    expect(preview).to_have_attribute("data-head", "2.1")
    page.locator(".hs-thumb[data-head='4.7']").hover()
    expect(preview).to_have_attribute("data-head", "4.7")
    page.mouse.move(0, 0)
    expect(preview).to_have_attribute("data-head", "2.1")
    preview.get_by_role("button", name="Lines").click()
    expect(page.locator(".hs-head")).to_have_attribute("data-layer", "2")


def test_heads_carry_what_an_atlas_says_of_them(tmp_path: Path, from_file: Open) -> None:
    """On thumbnails and buttons, for the mouse and for the keyboard; the sentence is Python's."""
    path = tmp_path / "cards.html"
    observed = observe(demo(), "The keys were lost.")
    cards = [f"Card of head number {number}." for number in range(96)]
    write_view(path, Looked(observed.model_copy(update={"cards": {"encoder": cards}})))
    page = from_file(path.as_uri())
    thumb = page.locator(".hs-thumb[data-head='3.2']")
    expect(thumb).to_have_attribute("title", re.compile("Card of head number 26"))
    thumb.hover()
    expect(page.locator(".hs-preview .hs-card")).to_have_text("Card of head number 26.")
    page.mouse.move(0, 0)
    before = page.locator(".hs-thumb[aria-current=true]").get_attribute("data-head") or ""
    page.keyboard.press("ArrowLeft")
    chosen = page.locator(".hs-thumb[aria-current=true]")
    expect(chosen).not_to_have_attribute("data-head", before)
    layer, head = map(int, (chosen.get_attribute("data-head") or "").split("."))
    expect(page.locator(".hs-preview .hs-card")).to_have_text(cards[8 * layer + head])
    expect(chosen).to_have_attribute("aria-label", re.compile(cards[8 * layer + head]))
    go(page, "view=head&layer=3")
    line = page.locator(".hs-toolbar .hs-card")
    expect(line).to_contain_text("Point at a head")
    page.locator(".hs-chip[data-head='5']").hover()
    expect(line).to_have_text("3.5 Card of head number 29.")
    page.mouse.move(0, 0)
    page.locator(".hs-chip[data-head='5']").focus()
    page.keyboard.press("Tab")
    expect(line).to_have_text("3.6 Card of head number 30.")
    page.evaluate("document.activeElement.blur()")
    go(page, "view=matrix&layer=3&heads=1")
    expect(line).to_have_text("3.1 Card of head number 25.")
