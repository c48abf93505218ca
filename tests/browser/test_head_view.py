"""The head view shows what Python has: lines, filters, words and weights."""

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from tests.browser.material import Array, Written, to_words
from tests.browser.watching import Open
from tests.browser.weights import CLOSE, HEAD, LAYER, QUERY, agree, at_cell, weights_of

THRESHOLD = 0.01


def lines(page: Page, count: int) -> None:
    """The head view draws so many lines."""
    canvas = page.locator("canvas[data-of=all]")
    expect(canvas).to_have_attribute("data-lines-of", str(count))
    expect(canvas).to_have_attribute("data-lines", str(count))  # a moment later: first come the strongest


def many(weights: Array) -> int:
    return int((weights.astype(float) >= THRESHOLD).sum())


@pytest.fixture
def head_page(demo_file: Written, from_file: Open) -> Page:
    page: Page = from_file(f"{demo_file.address}#view=head&layer={LAYER}")
    expect(page.locator(".hs-head")).to_have_attribute("data-layer", str(LAYER))
    return page


def test_heads_come_and_go(head_page: Page, demo_file: Written) -> None:
    stored = demo_file.stored("encoder", LAYER)
    chips = head_page.locator(".hs-chip")
    expect(chips).to_have_count(8)
    lines(head_page, many(stored))
    chips.nth(5).click()
    expect(chips.nth(5)).to_have_attribute("aria-pressed", "false")
    lines(head_page, many(np.delete(stored, 5, 0)))
    chips.nth(5).click()
    lines(head_page, many(stored))
    chips.nth(HEAD).dblclick()
    assert head_page.locator(".hs-chip[aria-pressed=true]").all_inner_texts() == [str(HEAD)]
    lines(head_page, many(stored[HEAD]))
    chips.nth(HEAD).dblclick()
    assert head_page.locator(".hs-chip[aria-pressed=true]").count() == 8


def test_pointing_at_a_token_shows_its_weights(head_page: Page, demo_file: Written) -> None:
    exact = demo_file.observed.layer("encoder", LAYER)
    agree(weights_of(head_page, "query", QUERY), exact.mean(0)[QUERY])
    agree(weights_of(head_page, "key", QUERY), exact.mean(0)[:, QUERY])
    head_page.locator(".hs-chip").nth(HEAD).dblclick()
    agree(weights_of(head_page, "query", QUERY), exact[HEAD][QUERY])
    agree(weights_of(head_page, "key", QUERY), exact[HEAD][:, QUERY])
    # Beside the tokens themselves too, and the other lines fade.
    head_page.locator(f"button[data-side=query][data-index='{QUERY}']").hover()
    expect(head_page.locator("canvas.hs-faded[data-of=all]")).to_be_visible()
    best = int(exact[HEAD][QUERY].argmax())
    beside = head_page.locator(f"button[data-side=key][data-index='{best}'] .hs-number").inner_text()
    assert float(beside) == pytest.approx(exact[HEAD][QUERY, best], abs=CLOSE)


@pytest.mark.parametrize(
    ("words", "asking", "asked"), [("A→A", 0, 0), ("A→B", 0, 1), ("B→A", 1, 0), ("B→B", 1, 1)]
)
def test_sentence_filters(words: str, asking: int, asked: int, head_page: Page, demo_file: Written) -> None:
    segment = np.array(demo_file.observed.source.segment)
    head_page.get_by_role("button", name=words, exact=True).click()
    stored = demo_file.stored("encoder", LAYER)
    lines(head_page, many(stored[:, segment == asking][:, :, segment == asked]))
    [query, *_] = np.flatnonzero(segment == asking)
    among = list(np.flatnonzero(segment == asked))
    exact = demo_file.observed.layer("encoder", LAYER).mean(0)
    shown = weights_of(head_page, "query", int(query))
    assert len(shown) == len(among)
    agree(shown, exact[query], among=among)


def test_words_are_sums_over_their_pieces(head_page: Page, demo_file: Written) -> None:
    source = demo_file.observed.source
    assert "##s" in source.pieces, "a word of two pieces is what this is about"
    exact = to_words(demo_file.observed.layer("encoder", LAYER), source.word)
    head_page.get_by_role("button", name="words", exact=True).click()
    names = head_page.locator("button[data-side=query] bdi").all_inner_texts()
    assert names == ["[CLS]", *source.words[:9], "[SEP]", *source.words[9:], "[SEP]"]
    index = names.index("cabinets")
    agree(weights_of(head_page, "query", index), exact.mean(0)[index])
    agree(weights_of(head_page, "key", index), exact.mean(0)[:, index])


def test_the_threshold_takes_lines_away(head_page: Page, demo_file: Written) -> None:
    stored = demo_file.stored("encoder", LAYER).astype(float)
    slider = head_page.get_by_label("Smallest weight that is drawn")
    slider.fill("0.5")  # the slider moves by the root
    lines(head_page, int((stored >= 0.25).sum()))
    slider.fill("0")
    lines(head_page, int((stored > 0).sum()))


def test_equal_tokens_are_told_apart(head_page: Page, demo_file: Written) -> None:
    pieces = demo_file.observed.source.pieces
    rows = head_page.locator(".hs-weights tr")
    expect(rows).to_have_count(14)
    link = rows.filter(has_text="[SEP]").first.locator("button")
    named = link.locator("bdi").all_inner_texts()
    places = [int(place) for place in link.locator(".hs-place").all_inner_texts()]
    again = [name for name in named if pieces.count(name) > 1]
    assert [pieces[place] for place in places] == again
    assert again


def test_a_decoders_strongest_links_are_not_those_of_its_first_token(
    files: dict[str, Written], from_file: Open
) -> None:
    page = from_file(f"{files['llama'].address}#view=head&layer=0")
    links = page.locator(".hs-between")
    expect(links.first).to_be_visible()
    first = files["llama"].observed.source.pieces[0]
    assert not [link for link in links.all_inner_texts() if first in link]
    expect(page.get_by_text("Without those of the first token")).to_be_visible()
    page.goto(f"{files['bert'].address}#view=head&layer=0")
    expect(links.first).to_be_visible()
    expect(page.get_by_text("Without those of the first token")).to_have_count(0)


def test_cross_attention_has_two_texts(files: dict[str, Written], from_file: Open) -> None:
    observed = files["t5"].observed
    exact = observed.layer("cross", 1)
    page = from_file(f"{files['t5'].address}#view=head&stack=cross&layer=1&heads=3")
    agree(weights_of(page, "query", 2), exact[3][2])
    agree(weights_of(page, "key", 7), exact[3][:, 7])
    page.locator("[data-view=matrix]").click()
    queries, keys = exact[3].shape
    assert queries != keys
    assert at_cell(page, queries - 1, keys - 1) == pytest.approx(exact[3][-1, -1], abs=CLOSE)
