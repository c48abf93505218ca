"""What the views of a text show is what Python has: clicks, filters and numbers."""

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from tests.browser.material import Array, Written, demo, to_words, write
from tests.browser.watching import NARROW, Open, go, number, settled

from headscope.models import Model
from headscope.pages.page import write_view
from headscope.pages.seen import observe
from headscope.pages.start import Start

LAYER, HEAD, QUERY = 3, 2, 5
CLOSE = 0.005
"""What the project promises of every weight shown."""
THRESHOLD = 0.01


def lines(page: Page, count: int) -> None:
    """The head view draws so many lines."""
    canvas = page.locator("canvas[data-of=all]")
    expect(canvas).to_have_attribute("data-lines-of", str(count))
    expect(canvas).to_have_attribute("data-lines", str(count))  # a moment later: first come the strongest


def many(weights: Array) -> int:
    return int((weights.astype(float) >= THRESHOLD).sum())


def weights_of(page: Page, side: str, index: int) -> dict[int, float]:
    """The numbers beside the head view when a token is pointed at, by the tokens of the other side."""
    page.locator(f"button[data-side={side}][data-index='{index}']").hover()
    table = page.locator(f"table[data-side={side}][data-index='{index}']")
    expect(table).to_be_visible()
    rows = table.locator("tr[data-index]").all()
    return {int(number(row, "index")): number(row, "weight") for row in rows}


def agree(shown: Mapping[int, float], row: Array, *, among: list[int] | None = None) -> None:
    """Shown are the largest of the row, each right to half a percent."""
    assert shown
    for index, weight in shown.items():
        assert weight == pytest.approx(row[index], abs=CLOSE)
    rest = set(range(len(row)) if among is None else among)
    assert set(shown) <= rest
    assert max((row[index] for index in rest - set(shown)), default=0) <= min(shown.values()) + 2 * CLOSE


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


def at_cell(page: Page, query: int, key: int) -> float:
    """The weight that the matrix view reads out at a cell."""
    canvas = page.locator(".hs-matrix canvas")
    cell = number(canvas, "cell")
    place = {
        "x": number(canvas, "left") + (key + 0.5) * cell,
        "y": number(canvas, "top") + (query + 0.5) * cell,
    }
    canvas.hover(position=place)  # type: ignore[arg-type]
    read = page.locator(f".hs-read[data-query='{query}'][data-key='{key}']")
    expect(read).to_be_visible()
    return number(read, "weight")


@pytest.mark.parametrize("view", ["head", "matrix"])
def test_maps_can_be_saved(view: str, demo_file: Written, from_file: Open) -> None:
    page = from_file(f"{demo_file.address}#view={view}&layer={LAYER}&heads={HEAD}")
    exact = demo_file.observed.layer("encoder", LAYER)[HEAD]
    saved = {}
    for form in ("PNG", "SVG", "CSV"):
        with page.expect_download() as download:
            page.get_by_role("group", name="Save").get_by_role("button", name=form, exact=True).click()
        saved[form] = download.value.path().read_bytes()
    assert saved["PNG"].startswith(b"\x89PNG")
    words = "".join(ElementTree.fromstring(saved["SVG"]).itertext())
    rows = list(csv.DictReader(saved["CSV"].decode().splitlines()))
    assert all(row["query_token"] in words for row in rows)
    weights = np.zeros_like(exact)
    for row in rows:
        weights[int(row["query"]), int(row["key"])] = float(row["weight"])
    np.testing.assert_allclose(weights, exact, atol=CLOSE)


def test_colours_can_be_scaled_to_the_largest_weight(demo_file: Written, from_file: Open) -> None:
    page = from_file(f"{demo_file.address}#view=matrix&layer={LAYER}&heads={HEAD}")
    exact = demo_file.observed.layer("encoder", LAYER)[HEAD]
    page.get_by_role("button", name="to max").click()
    legend = page.get_by_role("img", name="Colours from 0 to weight")
    assert float(str(legend.get_attribute("aria-label")).split()[-1]) == pytest.approx(exact.max(), abs=CLOSE)
    settled(page)
    assert "scale=max" in page.url


def test_the_matrix_reads_out_weights(demo_file: Written, from_file: Open) -> None:
    page = from_file(f"{demo_file.address}#view=matrix&layer={LAYER}&heads={HEAD}")
    exact = demo_file.observed.layer("encoder", LAYER)[HEAD]
    strongest = np.unravel_index(exact.argmax(), exact.shape)
    for query, key in [(0, 0), (int(strongest[0]), int(strongest[1])), (16, 3), (QUERY, 16)]:
        assert at_cell(page, query, key) == pytest.approx(exact[query, key], abs=CLOSE)
    before = number(page.locator(".hs-matrix canvas"), "cell")
    page.get_by_label("Zoom in").click()
    page.get_by_label("Zoom in").click()
    assert number(page.locator(".hs-matrix canvas"), "cell") > before
    assert at_cell(page, 4, 4) == pytest.approx(exact[4, 4], abs=CLOSE)
    page.get_by_role("button", name="words", exact=True).click()
    settled(page)  # all of it is in sight again
    folded = to_words(exact, demo_file.observed.source.word)
    assert at_cell(page, 6, 6) == pytest.approx(folded[6, 6], abs=CLOSE)


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


def test_a_thumbnail_opens_its_head(demo_file: Written, from_file: Open) -> None:
    page = from_file(f"{demo_file.address}#view=model")
    page.locator(".hs-thumb[data-head='7.4']").click()
    expect(page.locator(".hs-matrix[data-layer='7'][data-head='4']")).to_be_visible()
    exact = demo_file.observed.layer("encoder", 7)[4]
    assert at_cell(page, 2, 1) == pytest.approx(exact[2, 1], abs=CLOSE)
    settled(page)
    assert "layer=7" in page.url
    assert "heads=4" in page.url


def own_vectors(model: Model, written: Written, layer: int, head: int) -> tuple[Array, Array]:
    """(token, d) queries and keys of a BERT, from hooks on its own projections."""
    kept: dict[str, Array] = {}
    attention = model.core.encoder.layer[layer].attention.self
    hooks = [
        getattr(attention, name).register_forward_hook(
            lambda module, given, output, name=name: kept.update({name: output[0].detach().numpy()})
        )
        for name in ("query", "key")
    ]
    observed = written.observed
    model.core(**model.tokenizer(observed.text_a, observed.text_b, return_tensors="pt"))
    for hook in hooks:
        hook.remove()
    size = attention.attention_head_size
    part = slice(head * size, (head + 1) * size)
    return kept["query"][:, part], kept["key"][:, part]


def test_the_neuron_view_adds_up_to_the_models_scores(demo_file: Written, from_file: Open) -> None:
    queries, keys = own_vectors(demo(), demo_file, LAYER, HEAD)
    page = from_file(f"{demo_file.address}#view=neuron&layer={LAYER}&heads={HEAD}&token={QUERY}")
    key = 6
    expect(page.locator(".nv-canvas")).to_be_visible()
    page.locator(".nv-canvas").click(position={"x": 40, "y": 62 + 18 * key + 9})
    facts = {
        row.locator("dt").inner_text(): float(row.locator("dd").inner_text().replace("−", "-"))
        for row in page.locator(".nv-facts > div").all()
    }
    scores = queries[QUERY] @ keys.T / np.sqrt(queries.shape[1])
    softmax = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    assert facts["q · k"] == pytest.approx(queries[QUERY] @ keys[key], rel=0.002, abs=0.006)
    assert facts["scaled"] == pytest.approx(scores[key], rel=0.002, abs=0.002)
    assert facts["softmax"] == pytest.approx(softmax[key], abs=0.001)
    assert facts["in the map"] == pytest.approx(softmax[key], abs=CLOSE)
    parts = queries[QUERY] * keys[key] / np.sqrt(queries.shape[1])
    order = np.argsort(-np.abs(parts))[:12]
    rows = page.locator(".nv-carrier").all()
    assert [int(number(row, "neuron")) for row in rows] == list(order)
    assert [number(row, "part") for row in rows] == pytest.approx(list(parts[order]), abs=0.002)


def test_neurons_of_every_piece_where_words_are_looked_at(demo_file: Written, from_file: Open) -> None:
    pieces = demo_file.observed.source.pieces
    piece = pieces.index("##s")
    page = from_file(f"{demo_file.address}#view=neuron&level=word&layer={LAYER}&heads={HEAD}")
    chosen = page.locator(".nv-query[aria-selected=true]")
    expect(chosen).to_have_id("nv-query-1")
    for place in range(2, piece + 2):
        page.keyboard.press("j")
        expect(chosen).to_have_id(f"nv-query-{place}")
    page.locator(".nv-query").nth(piece).click()
    page.locator(".nv-query").nth(2).hover()
    expect(page.locator(".nv-ranking h3")).to_contain_text(f"“{pieces[2]}”")
    page.keyboard.press("k")  # seen at once, though the mouse rests on another
    expect(page.locator(".nv-ranking h3")).to_contain_text(f"“{pieces[piece - 1]}”")
    page.keyboard.press("j")
    settled(page)
    copy = from_file(page.url)
    expect(copy.locator(".nv-query[aria-selected=true]")).to_have_text("##s")


@pytest.mark.parametrize(
    ("name", "stack"),
    [("gpt2", "decoder"), ("llama", "decoder"), ("t5", "encoder"), ("t5", "decoder"), ("t5", "cross")],
)
def test_the_softmax_of_neurons_is_the_map(
    name: str, stack: str, files: dict[str, Written], from_file: Open
) -> None:
    exact = files[name].observed.layer(stack, 1)[2]
    query = int(np.sort(exact, -1)[:, -2].argmax())  # one that looks at more than one token
    page = from_file(f"{files[name].address}#view=neuron&stack={stack}&layer=1&heads=2&token={query}")
    for key in np.argsort(-exact[query])[:2]:
        page.locator(".nv-canvas").hover(position={"x": 40, "y": 62 + 18 * int(key) + 9})
        fact = page.locator(".nv-facts > div", has_text="softmax").locator("dd")
        assert float(fact.inner_text()) == pytest.approx(exact[query, key], abs=0.001)
    expect(page.get_by_text("differs from the map")).to_have_count(0)


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


def test_the_error_is_that_of_the_level_shown(demo_file: Written, tmp_path: Path, from_file: Open) -> None:
    page_of = re.sub(r'"word_error":[^,]+', '"word_error":0.0042', demo_file.path.read_text(encoding="utf-8"))
    page_of = re.sub(r'"max_error":[^,]+', '"max_error":0.0017', page_of)
    path = tmp_path / "errors.html"
    path.write_text(page_of, encoding="utf-8")
    page = from_file(path.as_uri())
    expect(page.get_by_role("contentinfo")).to_contain_text("max. error 0.0017")
    page.get_by_role("button", name="words", exact=True).click()
    expect(page.get_by_role("contentinfo")).to_contain_text("max. error 0.0042")


def test_the_model_view_shows_the_head_that_is_pointed_at(demo_file: Written, from_file: Open) -> None:
    page = from_file(f"{demo_file.address}#view=model&layer=2&heads=1")
    preview = page.locator(".hs-preview")
    expect(preview).to_have_attribute("data-head", "2.1")
    page.locator(".hs-thumb[data-head='4.7']").hover()
    expect(preview).to_have_attribute("data-head", "4.7")
    page.mouse.move(0, 0)
    expect(preview).to_have_attribute("data-head", "2.1")
    preview.get_by_role("button", name="Lines").click()
    expect(page.locator(".hs-head")).to_have_attribute("data-layer", "2")


def test_a_decoder_begins_at_its_last_token(files: dict[str, Written], from_file: Open) -> None:
    pieces = files["gpt2"].observed.source.pieces
    page = from_file(f"{files['gpt2'].address}#view=neuron&layer=1&heads=2")
    chosen = page.locator(".nv-query[aria-selected=true]")
    expect(chosen).to_have_attribute("id", f"nv-query-{len(pieces) - 1}")
    page.keyboard.press("k")
    expect(chosen).to_have_attribute("id", f"nv-query-{len(pieces) - 2}")
    page.keyboard.press("j")
    expect(chosen).to_have_attribute("id", f"nv-query-{len(pieces) - 1}")
    page.locator(".nv-query").first.click()
    page.mouse.move(0, 0)
    expect(page.get_by_label("Neurons that carry the score")).to_contain_text("there is nothing to choose")
    expect(page.locator(".nv-carrier")).to_have_count(0)


def test_keys_or_products_on_a_telephone(files: dict[str, Written], from_file: Open) -> None:
    page = from_file(f"{files['demo'].address}#view=neuron&layer=1&heads=2", viewport=NARROW)
    picture = "canvas => canvas.toDataURL()"
    canvas = page.locator(".nv-canvas")
    expect(canvas).to_be_visible()
    page.wait_for_timeout(300)
    products = canvas.evaluate(picture)
    page.get_by_role("button", name="k", exact=True).click()
    page.wait_for_timeout(300)
    assert canvas.evaluate(picture) != products
    page.get_by_role("button", name="q × k", exact=True).click()
    page.wait_for_timeout(300)
    assert canvas.evaluate(picture) == products


def test_neurons_that_a_file_does_not_hold(tmp_path: Path, from_file: Open) -> None:
    text = "The keys to the old cabinets were lost. " * 40
    written = write(tmp_path, "demo", text, None, start=Start(view="neuron", layer=2, heads=(5,)))
    seen = written.packed.embedded.seen
    assert seen is not None
    assert seen.neuron_heads == ["encoder/2/5"]
    page = from_file(f"{written.address}#layer=1&heads=3")
    expect(page.get_by_role("alert")).to_contain_text("--layer 1 --head 3 writes a file that has them")
    show = page.get_by_role("button", name="Show 2.5")
    assert show.evaluate("one => one.getBoundingClientRect().left") >= 8
    show.click()
    expect(page.locator(".nv-canvas")).to_be_visible()


def test_heads_carry_what_an_atlas_says_of_them(tmp_path: Path, from_file: Open) -> None:
    """On thumbnails and buttons, for the mouse and for the keyboard; the sentence is Python's."""
    path = tmp_path / "cards.html"
    observed = observe(demo(), "The keys were lost.")
    cards = [f"Card of head number {number}." for number in range(96)]
    write_view(path, observed.model_copy(update={"cards": {"encoder": cards}}))
    page = from_file(path.as_uri())
    thumb = page.locator(".hs-thumb[data-head='3.2']")
    expect(thumb).to_have_attribute("title", re.compile("Card of head number 26"))
    thumb.hover()
    expect(page.locator(".hs-preview .hs-card")).to_have_text("Card of head number 26.")
    page.mouse.move(0, 0)
    before = page.locator(".hs-thumb[aria-current=true]").get_attribute("data-head") or ""
    page.keyboard.press("ArrowLeft")
    chosen = page.locator(".hs-thumb[aria-current=true]")
    expect(chosen).not_to_have_attribute("data-head", before)
    layer, head = map(int, (chosen.get_attribute("data-head") or "").split("."))
    expect(page.locator(".hs-preview .hs-card")).to_have_text(cards[8 * layer + head])
    expect(chosen).to_have_attribute("aria-label", re.compile(cards[8 * layer + head]))
    go(page, "view=head&layer=3")
    line = page.locator(".hs-toolbar .hs-card")
    expect(line).to_contain_text("Point at a head")
    page.locator(".hs-chip[data-head='5']").hover()
    expect(line).to_have_text("3.5 Card of head number 29.")
    page.mouse.move(0, 0)
    page.locator(".hs-chip[data-head='5']").focus()
    page.keyboard.press("Tab")
    expect(line).to_have_text("3.6 Card of head number 30.")
    page.evaluate("document.activeElement.blur()")
    go(page, "view=matrix&layer=3&heads=1")
    expect(line).to_have_text("3.1 Card of head number 25.")


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
