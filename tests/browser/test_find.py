"""Arrows are drawn between words, kept, saved, and searched for."""

import json
from pathlib import Path

from playwright.sync_api import Page, expect
from tests.browser.watching import Open


def draw(page: Page, text: int, source: str, target: str) -> None:
    words = page.locator(".fi-texts li").nth(text)
    for word in (source, target):
        words.get_by_role("button", name=word, exact=True).click()


def test_a_head_is_found_by_drawing(from_server: Open, tmp_path: Path) -> None:
    page = from_server("view=find&model=demo")
    page.get_by_role("button", name="Six sentences to begin with").click()
    texts = page.locator(".fi-texts li")
    expect(texts).to_have_count(6)
    pairs = [
        ("contract", "signed"),
        ("cake", "baked"),
        ("boat", "built"),
        ("painting", "sold"),
        ("concert", "missed"),
    ]
    find = page.get_by_role("button", name="Find", exact=True).last
    for number, pair in enumerate(pairs):
        expect(find).to_be_disabled()
        draw(page, number, *pair)
        expect(texts.nth(number).locator(".hp-arc")).to_have_count(1)
    draw(page, 5, "car", "stolen")
    draw(page, 5, "car", "stolen")  # away again
    expect(texts.nth(5).locator(".hp-arc")).to_have_count(0)
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save arrows.jsonl").click()
    saving.value.save_as(tmp_path / "arrows.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "arrows.jsonl").read_text().splitlines()]
    assert len(lines) == 5
    (((start, end), target),) = lines[1]["arrows"]
    assert lines[1]["text"][start:end] == "cake"
    assert lines[1]["text"][slice(*target)] == "baked"
    find.click()
    answer = page.locator(".fi-found")
    expect(answer).to_contain_text("Head 7.4 does this")
    expect(answer.locator("tbody tr")).to_have_count(10)
    page.get_by_role("button", name="Atlas", exact=True).click()
    page.get_by_role("button", name="Find", exact=True).first.click()
    expect(texts).to_have_count(6)  # they are kept
    page.get_by_label("Sentences, or lines of arrows.jsonl").fill('{"text": "a b", "arrows": [[0, 7]]}')
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("alert")).to_contain_text("line 1: arrow 0: there is no word 7")
    page.get_by_role("button", name="Find", exact=True).last.click()
    answer.get_by_role("button", name="7.4", exact=True).click()
    expect(
        page.get_by_role("article", name="Head 7.4").or_(page.locator(".hs-head[data-layer='7']"))
    ).to_be_visible()
