"""What nobody waits for any more is called off, so that a slow model is not asked in vain."""

from urllib.parse import quote

from playwright.sync_api import Route, expect
from tests.browser.watching import Open


def test_neurons_of_a_head_that_was_left(from_server: Open) -> None:
    page = from_server(f"view=neuron&model=demo&layer=1&heads=0&a={quote('The cat sat.')}")
    expect(page.locator(".nv[aria-busy=false]")).to_be_visible()
    held: list[Route] = []
    called_off: list[str] = []
    page.route("**/neurons/encoder/1/1", lambda route: held.append(route))  # noqa: PLW0108 (it calls no built-in)
    page.on("requestfailed", lambda request: called_off.append(request.url.partition("/neurons/")[2]))
    page.locator(".hs-chip[data-head='1']").click()
    expect(page.locator(".nv[aria-busy=true]")).to_be_visible()
    page.locator(".hs-chip[data-head='2']").click()
    expect(page.locator(".nv[aria-busy=false]")).to_be_visible()
    assert len(held) == 1
    assert called_off == ["encoder/1/1"]
