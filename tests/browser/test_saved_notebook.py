"""A notebook that was saved with its outputs and made into a page: the view is there, and works without a kernel."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from tests.browser.watching import watching

NOTEBOOK = Path(__file__).parents[2] / "examples" / "first_atlas.ipynb"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The last view of the example, as nbconvert writes it, which takes seconds to load."""
    import nbformat
    from nbconvert import HTMLExporter

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if "hs.view(" in cell.source]
    exporter = HTMLExporter(template_name="basic")  # without its scripts, which come from the network
    body, _ = exporter.from_notebook_node(notebook)
    path = tmp_path_factory.mktemp("saved") / "notebook.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><title>saved</title>{body}", encoding="utf-8")
    return path


def test_the_view_is_shown_and_can_be_used(browser: Browser, page_file: Path) -> None:
    with watching(browser) as (open_page, _):
        page = open_page(page_file.as_uri())
        view = page.frame_locator("iframe")
        expect(view.locator(".hs-footer")).to_contain_text("19 tokens")
        view.get_by_role("button", name="Matrix").click()
        expect(view.locator("canvas").first).to_be_visible()
        assert page.locator(".headscope-instead img").is_hidden()


def test_where_frames_and_styles_are_removed_a_picture_is_left(browser: Browser, page_file: Path) -> None:
    html = page_file.read_text(encoding="utf-8")
    before, rest = html.split("<iframe", 1)
    stripped = before.replace(".headscope-instead { display: none }", "") + rest.split("</iframe>", 1)[1]
    page_file.with_name("stripped.html").write_text(stripped, encoding="utf-8")
    with watching(browser) as (open_page, _):
        page = open_page(page_file.with_name("stripped.html").as_uri())
        assert page.locator(".headscope-instead img").is_visible()
