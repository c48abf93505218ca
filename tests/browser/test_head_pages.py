"""A head's page: where it opens, what it says, where it leads; in the explorer and in the report."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from tests.browser.material import BEFORE, HEADS, LAYERS, NASTY, atlas, clear_atlas
from tests.browser.watching import NARROW, Open, addressed, number
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.atlas import Atlas
from headscope.pages.atlas import write_atlas_view
from headscope.report import findings


def card(page: Page) -> Locator:
    return page.get_by_role("article", name=re.compile(r"^Head \d"))


def in_sight(page: Page, place: Locator) -> bool:
    """Whether the top of something is in the window."""
    box = place.bounding_box()
    size = page.viewport_size
    assert box is not None
    assert size is not None
    return 0 <= box["y"] < 0.6 * size["height"]


def wait_until_in_sight(page: Page, place: Locator) -> None:
    for _ in range(50):
        if in_sight(page, place):
            return
        page.wait_for_timeout(100)
    pytest.fail("it is not in sight")


def first_head(known: Atlas) -> str:
    """The one that the first finding is about."""
    return str(next(one.heads[0] for one in findings(known) if one.heads))


def test_a_head_is_open_from_the_start(atlas_file: Path, from_file: Open, from_server: Open) -> None:
    page = from_server("view=atlas")
    expect(page.get_by_role("article", name=f"Head {first_head(atlas())}", exact=True)).to_be_visible()
    page = from_file(atlas_file.as_uri())
    expect(page.get_by_role("article", name=f"Head {first_head(atlas())}", exact=True)).to_be_visible()
    said = page.get_by_role("list", name="What it does").get_by_role("listitem")
    known = hs.card(atlas(), first_head(atlas()))
    assert [line.locator("span").first.inner_text() for line in said.all()] == known.sentences
    grid = page.locator("svg.hg").bounding_box()
    assert grid is not None
    assert grid["width"] > 450, "cells use the room there is"


def test_findings_lead_to_their_heads(from_server: Open) -> None:
    page = from_server("view=map&layer=1&heads=2")
    link = page.locator(".at-name").first
    name = link.inner_text()
    assert name == first_head(atlas())
    link.click()
    expect(page.get_by_role("article", name=f"Head {name}", exact=True)).to_be_visible()
    layer, head = name.split(".")
    addressed(page, f"layer={layer}&heads={head}")


@pytest.mark.parametrize(
    ("asked", "model"),
    [
        ("model=demo", "demo"),
        ("atlas=made-up", "demo"),
        ("atlas=other", "twelve"),
        ("model=twelve&token=7", "twelve"),
    ],
)
def test_a_head_is_looked_at_in_the_atlass_own_model(asked: str, model: str, from_server: Open) -> None:
    page = from_server(f"view=atlas&{asked}&layer=3&heads=2")
    expect(page.locator(".at-bar")).to_contain_text(f"Model{model}")
    card(page).get_by_role("button", name="head view").click()
    expect(page.locator(".hs-head")).to_have_attribute("data-layer", "3")
    expect(page.get_by_role("contentinfo")).to_contain_text(f"{model} (")
    addressed(page, f"model={model}")
    assert "token=" not in page.url


def test_an_atlas_that_is_not_there(from_server: Open) -> None:
    page = from_server("view=atlas&atlas=nope")
    expect(page.get_by_role("alert")).to_contain_text("no atlas “nope”")
    expect(page.locator(".hg-cell")).to_have_count(0)


def test_a_search_without_an_answer_says_so(atlas_file: Path, from_file: Open) -> None:
    page = from_file(f"{atlas_file.as_uri()}#view=atlas&q=the&hq=nothing")
    expect(page.get_by_text("No head matches “nothing”")).to_be_visible()
    page.get_by_role("button", name="Clear the search").click()
    expect(page.locator(".hg-cell[data-kept=true]")).to_have_count(LAYERS * HEADS)


def test_arrows_and_escape_need_no_click(atlas_file: Path, from_file: Open) -> None:
    for view in ("atlas", "map"):
        page = from_file(f"{atlas_file.as_uri()}#view={view}&layer=1&heads=2&selected=2.2,3.3")
        expect(card(page)).to_be_visible()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("article", name="Head 2.3", exact=True)).to_be_visible()
        expect(page.get_by_text("2 selected")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_text("2 selected")).to_have_count(0)


def test_escape_lets_go_of_a_brush_before_the_selection(atlas_file: Path, from_file: Open) -> None:
    page = from_file(f"{atlas_file.as_uri()}#view=map&selected=2.2,3.3")
    frame = page.locator("svg.mp").bounding_box()
    assert frame is not None
    page.mouse.move(frame["x"] + 5, frame["y"] + 5)
    page.mouse.down()
    page.mouse.move(frame["x"] + 200, frame["y"] + 200, steps=3)
    expect(page.locator(".mp-brush")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".mp-brush")).to_have_count(0)
    page.mouse.up()
    expect(page.get_by_text("2 selected")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("2 selected")).to_have_count(0)


def test_a_click_on_a_telephone_shows_the_heads_page(atlas_file: Path, from_file: Open) -> None:
    page = from_file(f"{atlas_file.as_uri()}#view=atlas", viewport=NARROW)
    cell = page.locator(".hg-cell[data-head='5.5']")
    expect(cell).to_be_visible()
    assert not in_sight(page, card(page))
    cell.click()
    expect(page.get_by_role("article", name="Head 5.5", exact=True)).to_be_visible()
    wait_until_in_sight(page, card(page))
    page.get_by_role("button", name="all heads").click()
    wait_until_in_sight(page, page.locator("svg.hg"))
    page.keyboard.press("ArrowRight")  # arrows stay with the heads
    expect(page.get_by_role("article", name="Head 5.6", exact=True)).to_be_attached()
    page.wait_for_timeout(300)
    assert in_sight(page, page.locator("svg.hg"))


def in_a_section(page: Page) -> Locator:
    """A head that a finding names, in a section that was folded."""
    section = page.locator("details.section").filter(has=page.locator(".findings a.head")).first
    section.locator("summary").first.click()
    return section.locator(".findings a.head").nth(1)


def test_links_of_the_report(report_file: Path, from_file: Open) -> None:
    page = from_file(report_file.as_uri())
    expect(card(page)).to_be_attached()  # the head that leads
    link = in_a_section(page)
    name = link.inner_text()
    link.click()
    expect(page.get_by_role("article", name=f"Head {name}", exact=True)).to_be_visible()
    wait_until_in_sight(page, page.locator("#explore"))


def test_links_of_the_report_on_a_telephone(report_file: Path, from_file: Open) -> None:
    page = from_file(report_file.as_uri(), viewport=NARROW)
    link = in_a_section(page)
    name = link.inner_text()
    link.click()
    opened = page.get_by_role("article", name=f"Head {name}", exact=True)
    expect(opened).to_be_visible()
    wait_until_in_sight(page, opened)
    layer, head = name.split(".")
    addressed(page, f"layer={layer}&heads={head}")
    copy = from_file(page.url, viewport=NARROW)
    expect(opened).to_be_visible()
    wait_until_in_sight(copy, copy.get_by_role("article", name=f"Head {name}", exact=True))


def test_who_looks_at_whom_in_a_typical_sentence(atlas_file: Path, from_file: Open) -> None:
    page = from_file(f"{atlas_file.as_uri()}#view=atlas&layer=1&heads=2")
    sentences = card(page).locator(".hp-sentence")
    expect(sentences).to_have_count(3)
    words = sentences.first.locator("button.hp-word")
    assert words.locator("> bdi").all_inner_texts() == list(BEFORE.words)
    arcs = sentences.first.locator(".hp-arc")
    assert sorted((number(arc, "from"), number(arc, "to")) for arc in arcs.all()) == list(
        enumerate(BEFORE.looks_at)
    )
    assert [number(word, "weight") for word in words.all()] == pytest.approx(list(BEFORE.weights))
    expect(sentences.first).to_contain_text("4 of 5 words look most at the word before")
    expect(sentences.first).to_contain_text("just what it usually does (likeness 0.95)")
    links = sentences.first.locator(".hp-links")
    expect(links).to_contain_text("cat → The 0.80")
    words.nth(3).hover()
    expect(links).to_have_text("sat → cat 0.70")
    expect(sentences.first.locator(".hp-target > bdi")).to_have_text("cat")
    expect(arcs).to_have_count(1)
    page.mouse.move(0, 0)
    words.nth(2).click()
    page.mouse.move(0, 0)
    expect(links).to_have_text("cat → The 0.80")
    page.keyboard.press("ArrowRight")
    expect(links).to_have_text("sat → cat 0.70")
    expect(page.get_by_role("article", name="Head 1.2", exact=True)).to_be_visible()
    card(page).get_by_text("2 more").click()
    strange = sentences.nth(2)
    image = strange.locator(".hp-keys .hp-word").nth(1)
    expect(image).to_have_text('<img src=x onerror="ale…')
    expect(image).to_have_attribute("title", NASTY["image"])
    expect(strange.locator("button.hp-word > bdi").first).to_have_text("<script>alert(1)</scrip…")


def test_lines_are_95_per_cent_intervals(atlas_file: Path, from_file: Open) -> None:
    page = from_file(f"{atlas_file.as_uri()}#view=atlas&layer=1&heads=2")
    commas = card(page).locator(".hp-bar[data-label='commas']").first
    said = (commas.get_attribute("title") or "").replace("−", "-")
    low, high = map(float, re.findall(r"-?[\d.]+", said.split("(")[1].split(")")[0]))
    assert high - low == pytest.approx(2 * 1.96 * 0.01, abs=0.0015)
    expect(card(page).get_by_text("are 95 % intervals.")).to_have_count(1)


def test_a_page_begins_with_what_the_head_does_and_shows_it_at_work(folder: Path, from_file: Open) -> None:
    path = folder / "clear.html"
    write_atlas_view(path, clear_atlas())
    page = from_file(f"{path.as_uri()}#view=atlas&layer=1&heads=2")
    parts = card(page).locator("> *")
    line = page.get_by_role("list", name="What it does").get_by_role("listitem").first
    expect(line).to_contain_text(
        "Finds the noun of a determiner: 91.0% of all 900 cases, the best fixed offset 58.0%."
    )
    bar = line.get_by_role("img").get_attribute("aria-label") or ""
    assert re.fullmatch(
        r"share of right guesses: 0\.910 \(0\.8\d+ to 0\.9\d+\); best fixed offset: 0\.580", bar
    )
    expect(parts.nth(1)).to_have_attribute("aria-label", "What it does")
    expect(parts.nth(3)).to_contain_text("At work")
    arc = parts.nth(3).locator(".hp-arc.hp-right")
    assert (number(arc, "from"), number(arc, "to")) == (0, 2)
    looks, found = (parts.nth(3).locator(f"[data-word='{word}']").bounding_box() for word in (0, 2))
    drawn = arc.bounding_box()
    assert looks is not None
    assert found is not None
    assert drawn is not None
    assert drawn["x"] == pytest.approx(looks["x"] + looks["width"] / 2, abs=6)
    assert drawn["x"] + drawn["width"] == pytest.approx(found["x"] + found["width"] / 2, abs=6)
    assert drawn["y"] + drawn["height"] <= looks["y"] + 6


def test_switch_it_off(atlas_file: Path, from_file: Open, from_server: Open) -> None:
    page = from_server("view=atlas&atlas=made-up&layer=1&heads=2")
    card(page).get_by_role("button", name="Switch it off").click()
    addressed(page, "view=try", "x-off=1.2", "model=demo")
    expect(page.get_by_role("textbox", name=re.compile("heads", re.IGNORECASE))).to_have_value("1.2")
    page = from_file(f"{atlas_file.as_uri()}#view=atlas&layer=1&heads=2")
    card(page).get_by_role("button", name="Switch it off").click()
    expect(card(page)).to_contain_text(
        "In the folder of this page, type headscope explore demo, open Try it and switch off 1.2."
    )


STRENGTH = """bar => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number)
  const { fill, fillOpacity, opacity } = getComputedStyle(bar)
  const paper = parts(getComputedStyle(bar.closest(".headscope")).backgroundColor)
  const far = parts(fill).slice(0, 3).map((part, at) => Math.abs(part - paper[at]))
  return Math.max(...far) * fillOpacity * opacity
}"""
"""How far the colour of a bar is from that of the page."""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_legend_of_bars_holds_on_light_and_dark_pages(theme: str, folder: Path, from_file: Open) -> None:
    path = folder / "moved.html"
    texts, measures = ["the cat sat on it."], ["role_attention"]
    write_atlas_view(path, hs.analyze(tiny("bert"), texts, measures=measures, max_length=32))
    page = from_file(f"{path.as_uri()}#view=atlas&layer=1&heads=0&theme={theme}")
    section = card(page).locator("[data-section=role_attention]")
    looked, moved = (section.locator(bar).first.evaluate(STRENGTH) for bar in (".hp-above", ".hp-moved"))
    assert looked > 1.3 * moved > 20
    legend = section.locator(".hp-about").inner_text()
    assert "faint: what it moves" in legend
    assert not re.search(r"\b(dark|light)\b", legend, re.IGNORECASE), "wrong on one of the two pages"


def test_the_page_of_the_head_before_is_marked_while_the_next_one_loads(from_server: Open) -> None:
    page = from_server("view=atlas&layer=0&heads=0")
    expect(page.get_by_role("article", name="Head 0.0", exact=True)).to_be_visible()
    held: list[Route] = []
    page.route("**/api/atlas/*/head/**", lambda route: held.append(route))  # noqa: PLW0108 - a method would not do
    page.locator("svg.hg [data-head='1.2']").click()
    expect(page.locator(".at-loading")).to_have_text("Loading head 1.2 …")
    expect(
        page.locator(".at-beside .hs-stale").get_by_role("article", name="Head 0.0", exact=True)
    ).to_be_visible()
    held[0].continue_()
    expect(page.get_by_role("article", name="Head 1.2", exact=True)).to_be_visible()
    expect(page.locator(".at-beside .hs-stale")).to_have_count(0)
