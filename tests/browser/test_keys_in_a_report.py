"""In a report the explorer is one part of a page: its keys leave the others alone, and it is not the main part."""

from pathlib import Path

from playwright.sync_api import Page, expect
from tests.browser.watching import Open


def chosen(page: Page) -> str | None:
    return page.get_by_role("article").get_attribute("aria-label")


def test_keys_are_those_of_the_part_that_has_the_focus(report_file: Path, from_file: Open) -> None:
    page = from_file(f"{report_file.as_uri()}#view=atlas&layer=1&heads=2")
    expect(page.get_by_role("article", name="Head 1.2")).to_be_visible()
    assert page.locator("main").count() == 1
    # Nothing has the focus: arrows scroll the page, other keys are the explorer's.
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowDown")
    page.wait_for_timeout(150)
    assert chosen(page) == "Head 1.2"
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    # Something else has it: no key is the explorer's.
    link = page.locator(".front a[href^='#']").last
    link.focus()
    page.keyboard.press("2")
    page.keyboard.press("?")
    page.wait_for_timeout(150)
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("[data-view=atlas]")).to_have_attribute("aria-current", "page")
    # The explorer has it.
    page.locator("[data-view=atlas]").focus()
    page.keyboard.press("2")
    expect(page.locator("[data-view=map]")).to_have_attribute("aria-current", "page")
