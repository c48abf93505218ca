"""Every view says how exact its numbers are, and writes no more digits."""

import re
from pathlib import Path

from playwright.sync_api import expect
from tests.browser.material import Written
from tests.browser.watching import Open, go
from tests.browser.weights import HEAD, LAYER, QUERY


def test_the_error_is_that_of_the_level_shown(demo_file: Written, tmp_path: Path, from_file: Open) -> None:
    page_of = re.sub(r'"word_error":[^,]+', '"word_error":0.0042', demo_file.path.read_text(encoding="utf-8"))
    page_of = re.sub(r'"max_error":[^,]+', '"max_error":0.0017', page_of)
    path = tmp_path / "errors.html"
    path.write_text(page_of, encoding="utf-8")
    page = from_file(path.as_uri())
    expect(page.get_by_role("contentinfo")).to_contain_text("max. error 0.0017")
    page.get_by_role("button", name="words", exact=True).click()
    expect(page.get_by_role("contentinfo")).to_contain_text("max. error 0.0042")


def test_numbers_have_the_digits_that_their_error_leaves(
    demo_file: Written, tmp_path: Path, from_file: Open
) -> None:
    path = tmp_path / "coarse.html"
    content = re.sub(
        r'"(max|word)_error":[^,]+', r'"\1_error":0.002', demo_file.path.read_text(encoding="utf-8")
    )
    path.write_text(content, encoding="utf-8")
    page = from_file(f"{path.as_uri()}#view=head&layer={LAYER}&heads={HEAD}&token={QUERY}")
    expect(page.locator("table[data-index] tr[data-index]").first).to_be_visible()
    shown = page.locator(".hs-weights .hs-number, .hs-token .hs-number").all_inner_texts()
    assert len(shown) > 10
    assert [text for text in shown if not re.fullmatch(r"0|<0\.01|[01]\.\d\d", text)] == []
    go(page, f"view=matrix&layer={LAYER}&heads={HEAD}&scale=max")
    expect(page.locator(".hs-legend")).to_have_attribute("aria-label", re.compile(r"weight [01]\.\d\d$"))
    go(page, f"view=neuron&layer={LAYER}&heads={HEAD}")
    page.locator(".nv-canvas").hover(position={"x": 20, "y": 80})
    expect(page.locator(".nv-facts").get_by_text(re.compile(r"^([01]\.\d\d|<0\.01)$"))).to_have_count(1)
