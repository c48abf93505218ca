"""What the atlas and map views and a head's page show is what the atlas has."""

import csv
import re
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from tests.browser.material import HEADS, LAYERS, atlas
from tests.browser.watching import Open, addressed, number

import headscope as hs
from headscope.pages.atlas import atlas_data
from headscope.pages.selection import selection


def said_of(page: Page, head: str) -> str:
    """What the view says of a head that is pointed at."""
    page.locator(f".hg-cell[data-head='{head}']").hover()
    said = page.locator(".at-said")
    expect(said).to_contain_text(f"Head {head}:")
    return said.inner_text()


def brightness(colour: str) -> float:
    numbers = (
        [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
        if colour.startswith("#")
        else re.findall(r"\d+", colour)
    )
    red, green, blue = (int(one) for one in numbers[:3])
    return 0.299 * red + 0.587 * green + 0.114 * blue


@pytest.mark.parametrize(
    ("key", "measure", "place"),
    [
        ("entropy:query_role=all", "entropy", {"query_role": "all"}),
        ("offset_attention:offset=-1", "offset_attention", {"offset": -1}),
        ("role_attention:query_role=sep,role=cls", "role_attention", {"query_role": "sep", "role": "cls"}),
    ],
)
def test_colourings_are_the_atlass_numbers(
    key: str, measure: str, place: dict[str, object], atlas_file: Path, from_file: Open
) -> None:
    page = from_file(f"{atlas_file.as_uri()}#view=atlas&colour={quote(key)}")
    values = atlas()[measure].sel(place).values
    for layer, head in [(0, 0), (3, 5), (LAYERS - 1, HEADS - 1)]:
        said = said_of(page, f"{layer}.{head}")
        value = float(said.split(": ")[1].removeprefix("< ").split(" ")[0].replace("−", "-"))
        assert value == pytest.approx(values[layer, head], rel=0.02, abs=0.001)
        assert "± 0.010" in said
    cells = page.locator(".hg-cell")
    expect(cells).to_have_count(values.size)
    fills = cells.evaluate_all("cells => cells.map((cell) => [cell.dataset.head, cell.getAttribute('fill')])")
    assert [name for name, _ in fills] == [
        f"{layer}.{head}" for layer in range(LAYERS) for head in range(HEADS)
    ]
    shades = np.array([brightness(fill) for _, fill in fills])[np.argsort(values.ravel())]
    assert (np.diff(shades) <= 0.01).all(), "the larger the darker"
    assert shades[0] - shades[-1] > 80


def test_kinds_are_counted_and_filter(atlas_file: Path, from_file: Open) -> None:
    page = from_file(f"{atlas_file.as_uri()}#view=atlas&colour=head_type")
    kinds = atlas()["head_type"].values
    assert said_of(page, "2.3") == f"Head 2.3: {kinds[2, 3]}"
    page.get_by_role("button", name=re.compile("^vertical")).click()
    expect(page.locator(".hg-cell[data-kept=true]")).to_have_count(int((kinds == "vertical").sum()))
    kept = page.locator(".hg-cell[data-kept=true]").evaluate_all(
        "cells => cells.map((cell) => cell.dataset.head)"
    )
    assert kept == [f"{layer}.{head}" for layer, head in np.argwhere(kinds == "vertical")]


def test_a_threshold_and_a_search_filter_heads(atlas_file: Path, from_file: Open) -> None:
    page = from_file(f"{atlas_file.as_uri()}#view=atlas&colour=entropy:query_role=all")
    values = atlas()["entropy"].sel(query_role="all").values
    page.get_by_label("Which heads stay").select_option("above")
    page.get_by_label("Threshold", exact=True).fill("3.5")
    expect(page.locator(".hg-cell[data-kept=true]")).to_have_count(int((values >= 3.5).sum()))
    page.get_by_label("Search", exact=True).fill("layer 4")
    expect(page.locator(".hg-cell[data-kept=true]")).to_have_count(int((values[4] >= 3.5).sum()))


def test_another_colouring_is_found_by_its_name(atlas_file: Path, from_file: Open) -> None:
    page = from_file(f"{atlas_file.as_uri()}#view=atlas")
    page.locator(".at-chosen").click()
    page.get_by_label("Search the colourings").fill("entropy")
    page.locator(".at-option").first.click()
    addressed(page, "colour=entropy:query_role")


def test_a_heads_page_has_the_heads_numbers(atlas_file: Path, from_file: Open) -> None:
    page = from_file(f"{atlas_file.as_uri()}#view=atlas")
    page.locator(".hg-cell[data-head='1.2']").click()
    card = page.get_by_role("article", name="Head 1.2")
    expect(card).to_be_visible()
    known = atlas()
    expect(card.locator(".hp-kind")).to_have_text(str(known["head_type"].values[1, 2]))
    for offset in (-8, -1, 3):
        exact = float(known["offset_attention"].sel(layer=1, head=2, offset=offset))
        column = card.locator(f"g[data-label='offset {offset}']")
        assert number(column, "value") == pytest.approx(exact, rel=1e-3, abs=1e-6)
    roles = known["role_attention"].sel(layer=1, head=2, query_role="all")
    commas = card.locator(".hp-bar[data-label='commas']").first
    assert number(commas, "value") == pytest.approx(float(roles.sel(role="comma")), rel=1e-3)
    distances = known["head_distance"].sel(head_a="1.2").to_series().drop("1.2").sort_values()
    near = card.locator(".hp-near button")
    assert [text.split(" ")[0] for text in near.all_inner_texts()] == list(distances.index[:8])
    near.first.click()
    expect(page.get_by_role("article", name=f"Head {distances.index[0]}")).to_be_visible()
    weights = [0.1, 0.06, 0.7, 0.02, 0.001]
    page.locator(".hg-cell[data-head='1.2']").click()
    words = page.get_by_role("article", name="Head 1.2").locator(".hp-example").first.locator("[data-weight]")
    assert [number(word, "weight") for word in words.all()] == pytest.approx(weights)


def test_relations_above_a_simple_rule(atlas_file: Path, from_file: Open) -> None:
    page = from_file(f"{atlas_file.as_uri()}#view=atlas&layer=1&heads=6")
    bars = page.locator(".hp-section", has_text="Relations it finds").locator(".hp-bar")
    expect(bars).to_have_count(1)
    assert bars.get_attribute("data-label") == "det, dependent to head"
    assert number(bars, "value") == pytest.approx(0.91)
    expect(bars).to_have_attribute("title", re.compile(r"best fixed offset \(\+1\): 0\.580"))
    page.locator(".hg-cell[data-head='0.0']").click()
    none = page.locator(".hp-section", has_text="Relations it finds")
    expect(none).to_contain_text("None clearly above a simple rule after correction")


def test_brushing_the_map_selects_in_the_atlas(atlas_file: Path, from_file: Open) -> None:
    page = from_file(f"{atlas_file.as_uri()}#view=map&x-map=mds")
    page.get_by_role("button", name="MDS").click()
    expect(page.locator(".mp-point")).to_have_count(LAYERS * HEADS)
    points = page.locator(".mp-point").evaluate_all(
        "all => all.map((one) => [one.dataset.head, one.cx.baseVal.value, one.cy.baseVal.value])"
    )
    places = {name: (x, y) for name, x, y in points}
    names = [f"{layer}.{head}" for layer in range(LAYERS) for head in range(HEADS)]
    shown = np.array([places[name] for name in names])
    python = np.array(atlas_data(atlas()).stacks[0].maps[0].points) * [1, -1]  # a page counts downwards
    ratio = np.linalg.norm(shown[0] - shown[9]) / np.linalg.norm(python[0] - python[9])
    np.testing.assert_allclose(shown - shown[0], (python - python[0]) * ratio, atol=0.5)

    middle = np.median(shown, axis=0)
    frame = page.locator("svg.mp").bounding_box()
    assert frame is not None
    page.mouse.move(frame["x"] + 3, frame["y"] + 3)
    page.mouse.down()
    page.mouse.move(frame["x"] + middle[0], frame["y"] + middle[1], steps=4)
    page.mouse.up()
    caught = [name for name, (x, y) in zip(names, shown, strict=True) if x <= middle[0] and y <= middle[1]]
    assert 5 < len(caught) < 90
    expect(page.get_by_text(f"{len(caught)} selected")).to_be_visible()
    page.locator("[data-view=atlas]").click()
    kept = page.locator(".at-plot .hg-cell[data-kept=true]")
    expect(kept).to_have_count(len(caught))
    assert kept.evaluate_all("cells => cells.map((cell) => cell.dataset.head)") == caught
    page.get_by_role("button", name="Clear the selection").click()
    expect(kept).to_have_count(LAYERS * HEADS)


def test_the_head_that_is_pointed_at_lies_on_top_and_the_others_stay(
    atlas_file: Path, from_file: Open
) -> None:
    page = from_file(f"{atlas_file.as_uri()}#view=map&layer=1&heads=2")
    points = page.locator(".mp-point")
    expect(points).to_have_count(LAYERS * HEADS)
    page.evaluate(
        """() => {
          window.touched = 0;
          const count = (changes) => { window.touched += changes.length; };
          const look = { attributes: true };
          for (const point of document.querySelectorAll(".mp-point")) new MutationObserver(count).observe(point, look);
        }"""
    )
    page.locator(".mp-point[data-head='3.3']").hover(force=True)
    expect(page.locator(".mp-hovered")).to_have_count(1)
    expect(page.locator(".mp-current")).to_have_attribute("data-head", "1.2")
    page.mouse.move(1, 1)
    expect(page.locator(".mp-hovered")).to_have_count(0)
    assert page.evaluate("window.touched") == 0


def test_arrows_move_through_the_atlas(atlas_file: Path, from_file: Open) -> None:
    page = from_file(f"{atlas_file.as_uri()}#view=atlas&layer=1&heads=2")
    page.locator("svg.hg").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("article", name="Head 2.3")).to_be_visible()


def test_a_head_is_opened_by_its_name(atlas_file: Path, from_file: Open) -> None:
    page = from_file(f"{atlas_file.as_uri()}#view=atlas")
    page.get_by_label("Search", exact=True).fill("L2H3")
    page.keyboard.press("Enter")
    expect(page.get_by_role("article", name="Head 2.3", exact=True)).to_be_visible()
    expect(page.get_by_label("Search", exact=True)).to_have_value("")


def test_any_two_measures_span_a_plane(atlas_file: Path, from_file: Open) -> None:
    page = from_file(f"{atlas_file.as_uri()}#view=map")
    page.get_by_role("button", name="two measures").click()
    points = page.locator(".mp-point")
    expect(page.locator(".mp-tick").first).to_be_attached()
    before = points.first.get_attribute("cx")
    page.get_by_label("Next colouring").nth(1).click()  # the first is the colour, the second what is across
    expect(points.first).not_to_have_attribute("cx", str(before))
    addressed(page, "x-across=")


def test_the_picture_and_its_numbers_can_be_saved(atlas_file: Path, from_file: Open) -> None:
    page = from_file(f"{atlas_file.as_uri()}#view=atlas")
    heads = page.locator(".hg-cell").count()
    saved = {}
    for form in ("PNG", "SVG", "CSV"):
        with page.expect_download() as download:
            page.get_by_role("group", name="Save").get_by_role("button", name=form, exact=True).click()
        assert download.value.suggested_filename.endswith(f".{form.lower()}")
        saved[form] = download.value.path().read_bytes()
    assert saved["PNG"].startswith(b"\x89PNG")
    assert ElementTree.fromstring(saved["SVG"]).tag.endswith("svg")
    rows = list(csv.DictReader(saved["CSV"].decode().splitlines()))
    assert len(rows) == heads
    assert {"layer", "head"} < set(rows[0])


def test_a_selection_is_listed_compared_and_switched_off(
    atlas_file: Path, from_file: Open, from_server: Open
) -> None:
    page = from_server("view=map&atlas=made-up&selected=3.3,1.2,2.2")
    bar = page.get_by_role("group", name="Selected heads")
    expect(bar).to_contain_text("3 selected")
    bar.get_by_role("button", name="List").click()
    lines = page.get_by_role("list", name="What the selected heads do").get_by_role("listitem")
    expect(lines).to_have_count(3)
    cards = [hs.card(atlas(), name).sentences[0] for name in ("1.2", "2.2", "3.3")]
    assert [line.inner_text().split(" ", 1)[1].strip() for line in lines.all()] == cards
    expect(bar.locator("code")).to_have_text("1.2,2.2,3.3")
    lines.nth(2).get_by_role("button", name="3.3").click()
    expect(page.get_by_role("article", name="Head 3.3", exact=True)).to_be_visible()
    bar.get_by_role("button", name="Compare with the rest").click()
    rows = bar.get_by_role("row")
    known = selection(atlas(), "encoder", [hs.types.HeadId.parse(name) for name in ("1.2", "2.2", "3.3")])
    expect(rows).to_have_count(len(known.rows) + 1)
    expect(rows.nth(1)).to_have_attribute("data-verdict", known.rows[0].verdict)
    expect(rows.nth(1)).to_contain_text(known.rows[0].title)
    expect(bar).to_contain_text(known.about)
    bar.get_by_role("button", name="Switch off").click()
    expect(page.get_by_role("textbox", name="Heads to switch off")).to_have_value("1.2, 2.2, 3.3")
    page = from_file(f"{atlas_file.as_uri()}#view=map&selected=3.3,1.2")
    bar = page.get_by_role("group", name="Selected heads")
    expect(bar.get_by_role("button", name="Compare")).to_have_count(0)  # a file has nobody to ask
    bar.get_by_role("button", name="Switch off").click()
    expect(bar).to_contain_text("type headscope explore demo, open Try it and switch off 1.2, 3.3.")
