"""The guide's view of another package, as a tab of the server's page and of a file."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.material import TEXTS, write
from tests.browser.watching import Open
from tests.helpers import own_view
from tests.helpers.atlases import random_atlas

from headscope.pages.atlas import write_atlas_view
from headscope.pages.seen import Observed
from headscope.pages.views import VIEWS, HeadView
from headscope.types import HeadId

FAILING = """
export default function draw(place, data, now) {
  if (now.heads[0] === 3) throw new Error("no third head");
  place.textContent = `${data} of ${now.stack}`;
  return () => { document.title = `left ${data}`; };
}
"""


class Named(HeadView):
    """The name of a head; its script fails for one of them."""

    name, title, about, script = "named", "Named", "Names.", FAILING

    def data(self, atlas: object, stack: str, head: HeadId) -> str:
        return f"head {head}"


def check(page: Page, observed: Observed) -> None:
    """The list of the layer that is shown, and of the next one."""
    for layer in (0, 1):
        shares = observed.layer("encoder", layer).mean((0, 1))
        items = page.locator(".hs-extension li")
        expect(items.first).to_have_text(
            f"{observed.source.pieces[int(shares.argmax())]} {100 * shares.max():.1f} %"
        )
        expect(items).to_have_count(min(10, len(shares)))
        page.get_by_label("Next layer").click()


@pytest.fixture
def views(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VIEWS, "_found", {"named": Named})
    own_view.register()


def test_from_a_file(views: None, tmp_path: Path, from_file: Open) -> None:
    written = write(tmp_path, "bert", *TEXTS)
    page = from_file(f"{written.address}#layer=0")
    page.get_by_role("button", name="Most read").click()
    check(page, written.observed)


def test_from_the_server(files: dict, from_server: Open) -> None:
    page = from_server(f"view=most_read&model=bert&a={TEXTS[0]}&b={TEXTS[1]}&layer=0")
    check(page, files["bert"].observed)


def test_of_a_head(views: None, tmp_path: Path, from_file: Open) -> None:
    path = tmp_path / "atlas.html"
    write_atlas_view(path, random_atlas(3, 4))
    page = from_file(f"{path.as_uri()}#view=named&layer=1&heads=2")
    expect(page.locator(".hs-extension")).to_have_text("head 1.2 of encoder")
    page.locator(".hg-cell[data-head='2.0']").click()
    expect(page.locator(".hs-extension")).to_have_text("head 2.0 of encoder")
    expect(page).to_have_title("left head 1.2")
    page.locator(".hg-cell[data-head='2.3']").click()
    expect(page.get_by_text("This view failed: no third head")).to_be_visible()
