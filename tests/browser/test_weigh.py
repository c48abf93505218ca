"""Where heads look and what they move, switched in the views of a text: in a file, and on a server."""

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from tests.browser.material import demo
from tests.browser.watching import Open
from tests.browser.weights import at_cell

from headscope.pages.looking import look
from headscope.pages.page import write_view
from headscope.pages.seen import observe_as
from headscope.pages.start import Start

TEXT = "The keys to the old cabinet were on the table."
PLACE = "layer=4&heads=1"
WORDS = {"looked": "looks", "moved": "moves", "signed": "signed"}


@pytest.fixture(scope="module")
def exact() -> dict[str, np.ndarray]:
    """(query, key) of head 4.1 in every weighing."""
    every = observe_as(["looked", "moved", "signed"], demo(), TEXT)
    return {observed.weigh: observed.layer("encoder", 4)[1] for observed in every}


def switch(page: Page, weigh: str) -> None:
    group = page.get_by_role("group", name="Where heads look, or what they move")
    group.get_by_role("button", name=WORDS[weigh], exact=True).click()


def shows(page: Page, exact: dict[str, np.ndarray]) -> None:
    for weigh in ("signed", "looked", "moved"):
        switch(page, weigh)
        what = {"looked": "weight", "moved": "moved share", "signed": "signed share"}[weigh]
        expect(page.locator(".hs-legend")).to_have_attribute(
            "aria-label", f"Colours from {'minus 1' if weigh == 'signed' else '0'} to {what} 1"
        )
        expect(page.locator(".hs-stale")).to_have_count(0)
        expect(page).to_have_url(re.compile(f"weigh={weigh}"))
        wanted = exact[weigh].argmin() if weigh == "signed" else exact[weigh].argmax()
        query, key = map(int, np.unravel_index(wanted, exact[weigh].shape))
        assert at_cell(page, query, key) == pytest.approx(exact[weigh][query, key], abs=0.003)
        if weigh == "signed":
            expect(page.locator(".hs-read")).to_contain_text("works against what the head gives")


def test_a_file_switches_between_what_it_holds(
    from_file: Open, tmp_path: Path, exact: dict[str, np.ndarray]
) -> None:
    looked = look(demo(), TEXT)
    path = tmp_path / "weigh.html"
    start = Start(view="matrix", layer=4, heads=(1,))
    write_view(path, looked, start=start)
    page = from_file(path.as_uri())
    shows(page, exact)
    page.get_by_role("button", name="Neurons").click()
    group = page.get_by_role("group", name="Where heads look, or what they move")
    expect(group.get_by_role("button", name="moves")).to_be_disabled()
    expect(page.locator(".hs-why")).to_contain_text("Queries and keys")
    page.get_by_role("button", name="Heads", exact=True).click()
    expect(group.get_by_role("button", name="moves")).to_have_attribute("aria-pressed", "true")


def test_a_server_is_asked_for_another_weighing(from_server: Open, exact: dict[str, np.ndarray]) -> None:
    page = from_server(f"view=matrix&model=demo&a={TEXT}&{PLACE}&weigh=signed")
    shows(page, exact)
    page.get_by_role("button", name="All heads", exact=True).click()
    expect(page.locator(".hs-model canvas[data-drawn]")).to_be_visible()
    expect(page.locator(".hs-model-bar")).to_contain_text("largest moved share")
