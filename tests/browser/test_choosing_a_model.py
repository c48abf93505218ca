"""Choosing a model reads the text anew; until then the picture says which model and text it is of."""

from collections.abc import Callable

from playwright.sync_api import Browser, Page, Route, expect
from tests.browser.conftest import Server
from tests.browser.watching import Open, addressed, settled, watching

TEXT = "The cat sat on the mat."


def held_back(page: Page) -> Callable[[], None]:
    """Keeps the next answers to `seen` from arriving until the result is called."""
    waiting: list[Route] = []
    page.route("**/api/seen", lambda route: waiting.append(route))  # noqa: PLW0108 - a method would not do

    def release() -> None:
        for route in waiting:
            route.continue_()
        page.unroute("**/api/seen")

    return release


def test_choosing_a_model_reads_the_text_and_marks_the_old_picture(from_server: Open) -> None:
    page = from_server(f"view=head&model=demo&a={TEXT}")
    expect(page.locator(".hs-footer")).to_contain_text("demo")
    expect(page.get_by_role("note")).to_have_count(0)
    release = held_back(page)
    page.get_by_label("Model", exact=True).select_option("gpt2")
    note = page.get_by_role("note")
    expect(note).to_have_text(f"The picture is of demo, for “{TEXT}”.")
    expect(page.locator(".hs-stale .hs-head")).to_be_visible()
    release()
    expect(page.locator(".hs-footer")).to_contain_text("gpt2")
    expect(note).to_have_count(0)
    expect(page.locator(".hs-stale")).to_have_count(0)
    assert "model=gpt2" in page.url


def test_a_model_that_was_not_waited_for_leaves_the_picture_marked(from_server: Open) -> None:
    page = from_server(f"view=matrix&model=demo&a={TEXT}")
    expect(page.locator(".hs-matrix")).to_be_visible()
    held_back(page)
    page.get_by_label("Model", exact=True).select_option("bert")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("note")).to_have_text(
        f"The picture is of demo, for “{TEXT}”; press Look for a new one."
    )
    page.get_by_label("Model", exact=True).select_option("demo")
    expect(page.get_by_role("note")).to_have_count(0)


def test_another_text_in_the_field_marks_the_picture(from_server: Open) -> None:
    page = from_server(f"view=head&model=demo&a={TEXT}")
    expect(page.locator(".hs-head")).to_be_visible()
    page.get_by_label("Text A").fill("Something else.")
    expect(page.get_by_role("note")).to_contain_text(f"of demo, for “{TEXT}”; press Look")
    page.get_by_role("button", name="Look", exact=True).click()
    expect(page.get_by_role("note")).to_have_count(0)


def test_the_atlas_is_of_the_model_that_was_chosen(from_server: Open) -> None:
    page = from_server(f"view=head&model=demo&atlas=made-up&layer=4&heads=5&a={TEXT}")
    model, tab = page.get_by_label("Model", exact=True), page.locator("[data-view=atlas]")
    expect(page.get_by_role("contentinfo")).to_contain_text("demo (")
    model.select_option("gpt2")
    expect(page.get_by_role("contentinfo")).to_contain_text("gpt2 (")
    tab.click()
    expect(page.get_by_role("alert")).to_contain_text("This server has no atlas of “gpt2”")
    expect(tab).to_have_attribute("aria-current", "page")
    settled(page)
    expect(page.locator(".hg-cell")).to_have_count(0)  # demo's heads under gpt2's address
    assert "model=gpt2" in page.url
    page.locator("[data-view=head]").click()
    model.select_option("twelve")
    expect(page.get_by_role("contentinfo")).to_contain_text("twelve (")
    tab.click()
    expect(page.locator(".at-bar")).to_contain_text("Modeltwelve")
    expect(page.get_by_label("Atlas", exact=True)).to_have_value("other")
    expect(page.locator(".hg-cell")).to_have_count(144)


def test_the_model_is_that_of_the_atlas_that_was_chosen(from_server: Open) -> None:
    page = from_server(f"view=atlas&model=demo&a={TEXT}")
    expect(page.locator(".hg-cell")).to_have_count(96)
    page.get_by_label("Atlas", exact=True).select_option("other")
    expect(page.locator(".hg-cell")).to_have_count(144)
    addressed(page, "model=twelve", "atlas=other")
    page.locator("[data-view=head]").click()
    expect(page.get_by_role("contentinfo")).to_contain_text("twelve (")
    page.locator("[data-view=atlas]").click()
    expect(page.get_by_label("Atlas", exact=True)).to_have_value("other")


def test_the_model_of_the_atlas_that_is_shown_stays(from_server: Open) -> None:
    page = from_server("view=atlas&atlas=other")
    expect(page.locator(".hg-cell")).to_have_count(144)
    page.locator("[data-view=head]").click()
    expect(page.get_by_role("contentinfo")).to_contain_text("twelve (")  # not the first model of the server


def test_the_first_words_of_a_page_with_a_text_are_that_it_is_read(server: Server, browser: Browser) -> None:
    with watching(browser, port=server.port, strict=False) as (open_page, _):
        page = open_page(server.at("view=atlas"))
        held_back(page)
        page.get_by_role("button", name="Heads", exact=True).click()
        main = page.locator(".hs-main-part")
        expect(main).to_have_text("Reading the text …")
        page.get_by_role("button", name="Cancel").click()
        expect(main).to_have_text("Nothing was read; press Look to try again.")
