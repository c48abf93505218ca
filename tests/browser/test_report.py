"""The report in a window: what is seen at once, how long it is, and that printing leaves nothing folded."""

from pathlib import Path

from playwright.sync_api import expect
from tests.browser.material import clear_atlas
from tests.browser.watching import Open

from headscope.report import write_report

WINDOW = {"width": 1280, "height": 900}
PARTS = "details.section figure, details.section table"
SHOWN = f"[...document.querySelectorAll('{PARTS}')].filter((part) => part.checkVisibility()).length"


def test_the_first_screen_and_the_length(report_file: Path, from_file: Open) -> None:
    page = from_file(report_file.as_uri(), viewport=WINDOW)
    page.locator("#headscope svg").first.wait_for()
    ends = page.evaluate("(name) => document.querySelector(name).getBoundingClientRect().bottom", ".front")
    assert ends <= WINDOW["height"]
    atlas = page.evaluate(
        "(name) => document.querySelector(name).getBoundingClientRect().bottom", ".explorer"
    )
    assert atlas <= 3 * WINDOW["height"]
    assert page.evaluate("document.documentElement.scrollHeight") < 6000
    assert page.evaluate("document.documentElement.scrollWidth") == WINDOW["width"]


def test_tables_are_whole_and_printing_unfolds(folder: Path, from_file: Open) -> None:
    path = write_report(clear_atlas(), folder / "probed.html")
    page = from_file(path.as_uri(), viewport=WINDOW)
    assert page.evaluate(SHOWN) == 0
    page.emulate_media(media="print")
    assert page.evaluate(SHOWN) == page.locator(PARTS).count() > 0
    page.emulate_media(media="screen")
    folds = page.locator("details:not([open])")
    assert folds.count() > 5
    before = folds.count()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")  # for browsers that do not unfold by themselves
    expect(folds).to_have_count(0)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(folds).to_have_count(before)
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    cut = "(table) => table.parentElement.scrollWidth > table.parentElement.clientWidth + 1"
    assert page.locator(".told table").count() > 2
    assert page.evaluate(f"[...document.querySelectorAll('.told table')].filter({cut}).length") == 0
    page.get_by_role("heading", name="Head 1.2 finds the noun of a determiner").wait_for()
    assert "1 rows" not in page.content()
