"""Attention before and after heads are switched off, and the difference, in every view of a text."""

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.conftest import Server
from tests.browser.material import Written, demo
from tests.browser.watching import Open, addressed, watching
from tests.browser.weights import at_cell

import headscope as hs
from headscope.pages.seen import observe

TEXT = "The keys to the old cabinet were on the table."
AT = f"model=demo&a={TEXT}&x-off=3.2,+2.1&layer=4&heads=1"


@pytest.fixture(scope="module")
def maps() -> dict[str, np.ndarray]:
    """(query, key) of head 4.1: before, after, and the difference."""
    before = observe(demo(), TEXT).layer("encoder", 4)[1]
    with hs.edit(demo(), "3.2, 2.1", how="zero"):
        after = observe(demo(), TEXT).layer("encoder", 4)[1]
    return {"before": before, "after": after, "difference": after - before}


def switch(page: Page, name: str) -> None:
    page.get_by_role("group", name="Attention before or after the edit").get_by_role(
        "button", name=name, exact=True
    ).click()


def test_the_matrix_shows_before_after_and_difference(from_server: Open, maps: dict[str, np.ndarray]) -> None:
    page = from_server(f"view=matrix&{AT}")
    legend = page.locator(".hs-legend")
    for name, words in (
        ("before", "0 to weight 1"),
        ("after", "0 to weight 1"),
        ("difference", "minus 1 to change 1"),
    ):
        switch(page, name)
        expect(legend).to_have_attribute("aria-label", f"Colours from {words}")
        expect(page.locator(".hs-stale")).to_have_count(0)
        expect(page.locator(".hs-footer")).to_contain_text(
            {
                "before": "demo (",
                "after": "demo with 3.2, 2.1 switched off (",
                "difference": "demo, what changes with 3.2, 2.1 switched off (",
            }[name]
        )
        largest = np.unravel_index(np.abs(maps[name]).argmax(), maps[name].shape)
        query, key = map(int, largest)
        assert at_cell(page, query, key) == pytest.approx(maps[name][query, key], abs=1e-4)
    addressed(page, "x-shows=difference")


def test_digits_of_the_legend_are_within_the_error(from_server: Open, maps: dict[str, np.ndarray]) -> None:
    page = from_server(f"view=matrix&{AT}&x-shows=difference&scale=max")
    expect(page.locator(".hs-footer")).to_contain_text("max. error 0.0001")
    most = f"{np.abs(maps['difference']).max():.3f}"
    expect(page.locator(".hs-legend span").last).to_have_text(most)
    expect(page.locator(".hs-legend span").first).to_have_text(f"−{most}")


def test_lines_and_numbers_of_a_difference(from_server: Open, maps: dict[str, np.ndarray]) -> None:
    page = from_server(f"view=head&{AT}&x-shows=difference")
    expect(page.get_by_role("heading", name="Largest changes")).to_be_visible()
    expect(page.get_by_text("more attention after the edit")).to_be_visible()
    change = maps["difference"].ravel()[np.abs(maps["difference"]).argmax()]
    sign = "+" if change > 0 else "−"
    expect(page.locator(".hs-weights .hs-number").first).to_have_text(f"{sign}{abs(change):.3f}")


def test_all_heads_show_what_changes_and_what_cannot(from_server: Open) -> None:
    page = from_server(f"view=model&{AT}&x-shows=difference")
    canvas = page.locator(".hs-model-inner canvas")
    expect(canvas).to_have_attribute("data-drawn", "12")
    colours = """canvas => {
        const scale = canvas.width / canvas.clientWidth;
        const all = new Uint32Array(
            canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
        return [[0, 0], [2, 1], [2, 2], [4, 1]].map(([layer, head]) => {
            const button = canvas.parentElement.querySelector(`[data-head="${layer}.${head}"]`);
            const inside = (from, size) => [Math.ceil(from * scale) + 2, Math.floor((from + size) * scale) - 2];
            const [left, right] = inside(button.offsetLeft, button.offsetWidth);
            const [top, bottom] = inside(button.offsetTop, button.offsetHeight);
            const found = new Set();
            for (let y = top; y < bottom; y++)
                for (let x = left; x < right; x++) found.add(all[y * canvas.width + x]);
            return found.size;
        });
    }"""
    before_edit, edited, beside, after_edit = canvas.evaluate(colours)
    assert before_edit == beside == 1  # what comes before the edit, or beside it, stays as it was
    assert edited > 5
    assert after_edit > 5


def test_neurons_before_and_after_and_why_no_difference(from_server: Open) -> None:
    page = from_server(f"view=neuron&{AT}&x-shows=after")
    expect(page.locator(".nv")).to_be_visible()
    switch(page, "difference")
    expect(page.locator(".hs-main-part")).to_contain_text("Choose before or after.")
    switch(page, "before")
    expect(page.locator(".nv")).to_be_visible()


def test_an_edit_is_removed(from_server: Open) -> None:
    page = from_server(f"view=head&{AT}&x-shows=after")
    expect(page.locator(".hs-footer")).to_contain_text("switched off")
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(page.locator(".hs-editbar")).to_have_count(0)
    expect(page.locator(".hs-footer")).not_to_contain_text("switched off")


def test_an_edit_that_cannot_be_leaves_the_picture_marked(server: Server, browser: Browser) -> None:
    with watching(browser, port=server.port, strict=False) as (open_page, _):  # browsers log every refusal
        page = open_page(server.at(f"view=head&model=demo&a={TEXT}&x-off=99.1"))
        expect(page.locator(".hs-head")).to_be_visible()
        switch(page, "after")
        expect(page.get_by_role("alert")).to_contain_text("99.1")
        expect(page.locator(".hs-stale")).to_be_visible()


def test_a_file_has_no_edits(from_file: Open, demo_file: Written) -> None:
    page = from_file(f"{demo_file.address}#x-off=3.2&x-shows=difference")
    expect(page.locator(".hs-head")).to_be_visible()
    expect(page.locator(".hs-editbar")).to_have_count(0)
