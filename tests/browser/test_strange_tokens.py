"""Tokens that look like markup, run from right to left or never end are shown as text, wherever they come from.

That no dialog opens, nothing is asked for and nothing complains is checked after every test (`watching`).
"""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.material import NASTY, Written, demo, write
from tests.browser.watching import Open
from tests.browser.weights import point_at

from headscope.pages.seen import observe
from headscope.pages.start import Start

TOKENS = [text.replace("\u202e", "‹RLO›").replace("\u202c", "‹PDF›") for text in NASTY.values()] + ["␣"]
"""Marks that would turn the text have names, and the empty one a sign of its own."""
SENTENCE = " ".join(NASTY.values())


def is_unharmed(page: Page) -> None:
    """No token became an element, and none pushed the page wider than it is."""
    assert page.locator("#headscope script, #headscope img, .headscope script, .headscope img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_tokens_of_a_file(nasty_file: Path, from_file: Open) -> None:
    page = from_file(nasty_file.as_uri())
    # It was said what made it, not of what kind: no brackets around nothing.
    expect(page.get_by_role("contentinfo").locator("span").first).not_to_contain_text("()")
    tokens = page.locator("button[data-side=query]")
    expect(tokens).to_have_count(len(TOKENS))
    assert [token.get_attribute("title") for token in tokens.all()] == TOKENS, "in full when pointed at"
    texts = tokens.locator("bdi").all_inner_texts()
    assert texts == [text if len(text) < 60 else text[:59] + "…" for text in TOKENS]
    tokens.first.hover()
    expect(page.locator("aside h3 .hs-word")).to_have_attribute("title", NASTY["script"])
    expect(page.get_by_role("contentinfo")).to_contain_text(NASTY["script"])  # the model's name
    is_unharmed(page)
    page.locator("[data-view=matrix]").click()
    point_at(page, 8, 0)
    expect(page.locator(".hs-read bdi").first).to_have_text("x" * 23 + "…")
    expect(page.locator(".hs-read bdi").last).to_have_text("<script>alert(1)</scrip…")
    is_unharmed(page)
    page.locator("[data-view=model]").click()
    expect(page.locator(".hs-model-inner canvas")).to_have_attribute("data-drawn", "2")
    is_unharmed(page)


def test_search_finds_markup(nasty_file: Path, from_file: Open) -> None:
    page = from_file(nasty_file.as_uri())
    page.get_by_label("Search", exact=True).fill("<SCRIPT>")
    expect(page.locator(".hs-found[data-side=query]")).to_have_attribute("title", NASTY["script"])


@pytest.fixture(scope="module")
def read_file(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """The same words read by a model."""
    return write(tmp_path_factory.mktemp("read"), "t5", SENTENCE, NASTY["script"], start=Start(view="neuron"))


def test_a_text_that_a_model_read(read_file: Written, from_file: Open) -> None:
    page = from_file(read_file.address)
    expect(page.locator(".nv-query").first).to_be_visible()
    is_unharmed(page)
    page.locator("[data-view=head]").click()
    page.get_by_role("button", name="words", exact=True).click()
    tokens = page.locator("button[data-side=query]")
    marks = str.maketrans({"\u202e": "‹RLO›", "\u202c": "‹PDF›"})
    words = [word.translate(marks) for word in [*read_file.observed.source.words, "</s>"]][: tokens.count()]
    assert "script" in "".join(words)
    assert tokens.evaluate_all("all => all.map((one) => one.title)") == words
    assert tokens.locator("bdi").all_inner_texts() == [
        word if len(word) <= 60 else word[:59] + "…" for word in words
    ]
    is_unharmed(page)


def test_an_atlas_file(atlas_file: Path, from_file: Open) -> None:
    page = from_file(f"{atlas_file.as_uri()}#view=atlas&layer=1&heads=2")
    words = page.locator(".hp-example").nth(1).locator("[data-weight]")
    expect(words.first).to_have_attribute("title", re.compile(re.escape(NASTY["script"])))
    texts = [text.partition("\n")[0] for text in words.all_inner_texts()]  # below a word may be its weight
    assert len(texts) == len(TOKENS)
    assert [text for text in texts if "…" not in text] == [
        text for text in (*TOKENS[:-1], "cat") if any(text == shown for shown in texts)
    ]
    assert texts[0] == NASTY["script"][:23] + "…"
    assert any(text.startswith("xxx") and text.endswith("…") for text in texts)
    expect(page.locator(".at-plot")).to_contain_text(f"from {NASTY['script']}")
    is_unharmed(page)


def test_typed_into_the_servers_page(from_server: Open) -> None:
    page = from_server("view=head&model=demo")
    expect(page.locator("button[data-side=query]").first).to_be_visible()
    page.get_by_label("Text A").fill(SENTENCE)
    page.get_by_label("Text B (may be empty)").fill(NASTY["closing"])
    page.get_by_role("button", name="Look", exact=True).click()
    pieces = observe(demo(), SENTENCE, NASTY["closing"]).source.pieces
    assert pieces[1] == "<"
    tokens = page.locator("button[data-side=query]")
    expect(tokens.nth(2)).to_have_attribute("title", pieces[2])
    count = tokens.count()
    assert tokens.evaluate_all("all => all.map((one) => one.title)") == pieces[:count]
    is_unharmed(page)
    for view in ("matrix", "model", "neuron"):
        page.locator(f"[data-view={view}]").click()
        expect(page.locator(".hs-main-part canvas").first).to_be_visible()
        is_unharmed(page)
    expect(page.locator(".nv-query")).to_have_text(pieces)
    # The text is in the address: whoever opens the link sees the same, and nothing runs.
    again = page.context.new_page()
    again.goto(page.url)
    expect(again.locator(".nv-query")).to_have_text(pieces)
    expect(again.get_by_label("Text A")).to_have_value(SENTENCE)


def test_tried_out(from_server: Open) -> None:
    page = from_server("view=try&model=demo")
    page.get_by_label("Text", exact=True).fill(f"{NASTY['script']} [MASK] {NASTY['closing']}")
    page.get_by_role("button", name="Predict").click()
    expect(page.locator(".ti-place h3")).to_contain_text(f"{NASTY['script']} [MASK] ")
    expect(page.locator(".ti-option")).to_have_count(5)
    is_unharmed(page)


def test_hostile_links(nasty_file: Path, atlas_file: Path, from_file: Open) -> None:
    for fragment in (
        "stack=<img>&q=<img src=x onerror=alert(1)>",
        "heads=99999,-1,x&layer=99999&token=99999&threshold=NaN&level=x&theme=<b>&__proto__=1",
        "view=matrix&heads=77&layer=77",
    ):
        page = from_file(f"{nasty_file.as_uri()}#{fragment}")
        expect(page.locator(".hs-main-part canvas").first).to_be_visible()
        is_unharmed(page)
    page = from_file(f"{nasty_file.as_uri()}#view=<script>alert(1)</script>")
    expect(page.get_by_role("alert")).to_contain_text("no view “<script>alert(1)</script>”")
    is_unharmed(page)
    odd = "view=atlas&colour=<script>&selected=9.9,1.1,<b>&layer=88&heads=99&x-pick=is:<script>&x-map=<b>"
    page = from_file(f"{atlas_file.as_uri()}#{odd}")
    expect(page.locator(".hg-cell")).to_have_count(96)
    is_unharmed(page)
