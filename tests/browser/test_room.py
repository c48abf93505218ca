"""Numbers, pictures and help are in sight in windows of every size, with a finger as with a mouse."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.material import NASTY, Written
from tests.browser.watching import NARROW, Open, number, settled, watching
from tests.browser.weights import middle_of

from headscope.pages.arrays import from_attentions
from headscope.pages.looking import Looked
from headscope.pages.page import write_view

LAYER, HEAD = 3, 2
NOTEBOOK = {"width": 846, "height": 620}
"""What a cell of JupyterLab has in a window of 1280 pixels."""


@pytest.fixture
def by_touch(browser: Browser) -> Iterator[Open]:
    with watching(browser, touch=True) as (open_page, _):
        yield open_page


def tap(page: Page, query: int, key: int) -> None:
    settled(page)  # the list of weights takes room from the matrix when it first appears
    canvas = page.locator(".hs-matrix canvas")
    canvas.tap(position=middle_of(canvas, query, key))


def test_a_tap_on_a_cell_reads_its_weight(demo_file: Written, by_touch: Open) -> None:
    page = by_touch(f"{demo_file.address}#view=matrix&layer={LAYER}&heads={HEAD}", viewport=NARROW)
    exact = demo_file.observed.layer("encoder", LAYER)[HEAD]
    rows = page.locator("table[data-side=query]")
    for query, key in [(6, 4), (6, 5), (2, 5)]:
        tap(page, query, key)
        read = page.locator(f".hs-read[data-query='{query}'][data-key='{key}']")
        expect(read).to_be_visible()
        assert number(read, "weight") == pytest.approx(exact[query, key], abs=0.005)
        expect(rows).to_have_attribute("data-index", str(query))
        expect(rows).to_be_in_viewport()
    tap(page, 2, 5)  # once more lets go
    expect(page.locator(".hs-read[data-query]")).to_have_count(0)
    expect(rows).to_have_count(0)


@pytest.mark.parametrize("width", [390, 700, 846])
def test_the_matrix_has_its_list_of_weights(width: int, demo_file: Written, from_file: Open) -> None:
    page = from_file(
        f"{demo_file.address}#view=matrix&layer={LAYER}&heads={HEAD}&token=5",
        viewport={"width": width, "height": 620 if width > 390 else 844},
    )
    expect(page.locator("table[data-index='5'] tr[data-index]").first).to_be_in_viewport(ratio=1)
    canvas = page.locator(".hs-matrix canvas")
    assert number(canvas, "cell") * 17 > 150


def test_all_heads_are_in_sight(demo_file: Written, from_file: Open) -> None:
    page = from_file(f"{demo_file.address}#view=model")
    expect(page.locator(".hs-thumb[data-head='11.7']")).to_be_in_viewport(ratio=1)
    expect(page.locator("output")).to_have_text("0 %")


def test_a_notebooks_atlas_keeps_its_grid_in_sight(atlas_file: Path, from_file: Open) -> None:
    page = from_file(f"{atlas_file.as_uri()}#view=atlas", viewport=NOTEBOOK)
    for head in ("0.1", "9.6"):
        page.locator(f".hg-cell[data-head='{head}']").click()
        expect(page.get_by_role("article", name=f"Head {head}")).to_be_in_viewport()
        expect(page.locator(".hg-cell[data-head='0.0']")).to_be_in_viewport(ratio=1)


def test_help_begins_at_its_beginning(demo_file: Written, from_file: Open) -> None:
    page = from_file(demo_file.address, viewport={"width": 1280, "height": 500})
    expect(page.locator(".hs-head")).to_be_visible()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading", name="Views")).to_be_in_viewport(ratio=1)
    expect(dialog).to_be_focused()
    assert dialog.evaluate("one => one.scrollHeight > one.clientHeight"), "there is more than is in sight"
    expect(dialog.locator("dt", has_text="1 – ")).to_have_text(
        f"1 – {page.locator('.hs-tabs button').count()}"
    )
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_both_ends_of_a_link_have_room(tmp_path: Path, from_file: Open) -> None:
    path = tmp_path / "long.html"
    rows = [[[0.1, 0.9], [0.8, 0.2]]]
    tokens = [NASTY["long"], "another that is long " * 3]
    write_view(path, Looked(from_attentions([rows], tokens, name="long")))
    page = from_file(f"{path.as_uri()}#view=head")
    link = page.locator(".hs-between").first
    widths = [end.bounding_box() for end in link.locator("bdi").all()]
    whole = link.bounding_box()
    assert whole is not None
    for box in widths:
        assert box is not None
        assert box["width"] > whole["width"] * 0.4
        assert box["x"] + box["width"] <= whole["x"] + whole["width"] + 1
