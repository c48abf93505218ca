"""Try it before anything is asked: all heads and which ones a name means; and models that predict nothing."""

import pytest
from playwright.sync_api import Page, expect
from tests.browser.material import atlas, demo, model
from tests.browser.watching import Open, number

import headscope as hs
from headscope.edits import select_heads
from headscope.trace import surveyed


def colours(page: Page, grid: str) -> list[str | None]:
    return [cell.get_attribute("fill") for cell in page.locator(f"{grid} .hg-cell").all()]


def off(page: Page) -> list[str]:
    return sorted(
        cell.get_attribute("data-head") or ""
        for cell in page.locator(".ti-heads .hg-cell[data-kept=false]").all()
    )


def test_heads_are_there_from_the_start_in_the_colours_of_the_atlas(from_server: Open) -> None:
    page = from_server("view=atlas&colour=entropy:query_role%3Dall")
    expect(page.locator(".at .hg-cell")).to_have_count(96)
    in_atlas = colours(page, ".at-plot" if page.locator(".at-plot").count() else ".at")[:96]
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.get_by_role("button", name="Try it").click()
    expect(page.locator(".ti-heads .hg-cell")).to_have_count(96)
    assert colours(page, ".ti-heads") == in_atlas
    expect(page.locator(".ti-colours")).to_contain_text("Entropy")
    assert not [url for url in asked if "predict" in url or "heads" in url]


def test_without_an_atlas_heads_are_coloured_by_the_text(from_server: Open) -> None:
    page = from_server("view=try&model=gpt2")
    expect(page.locator(".ti-heads .hg-cell")).to_have_count(12)
    expect(page.locator(".ti-colours")).to_contain_text("Coloured by, on this text:")
    assert len(set(colours(page, ".ti-heads"))) > 3


def test_the_grid_shows_which_heads_a_name_means(from_server: Open) -> None:
    page = from_server("view=try&model=demo&colour=entropy:query_role%3Dall")
    page.get_by_label("How many heads").fill("7")
    page.get_by_role("button", name="highest").click()
    field = page.locator(".ti-heads input[type=text]")
    expect(field).to_have_value("top 7 by entropy")
    expect(page.locator(".ti-heads .hg-cell[data-kept=false]")).to_have_count(7)
    expected = select_heads(surveyed(demo()).stacks, "top 7 by entropy", atlas=atlas())
    assert off(page) == sorted(str(head) for _, head in expected)
    page.locator(".ti-heads .hg-cell[data-kept=true]").first.click()
    expect(page.locator(".ti-heads .hg-cell[data-kept=false]")).to_have_count(8)
    expect(field).not_to_have_value("top 7 by entropy")


def test_a_model_that_predicts_nothing_shows_how_the_embedding_moves(from_server: Open) -> None:
    page = from_server("view=try&model=bert&a=the+cat+sat+on+it")
    expect(page.get_by_role("note")).to_contain_text("no prediction head")
    page.locator(".ti-heads .hg-cell[data-head='1.2']").click()
    expect(page.locator(".ti-summary")).to_contain_text("The text's embedding moves by a cosine distance of")
    expect(page.get_by_role("heading", name="Tokens that move most")).to_be_visible()
    network = model("bert")
    inputs = network.tokenizer("the cat sat on it", return_tensors="pt")
    before = network.network(**inputs).last_hidden_state[0].detach().double()
    with hs.edit(network, "1.2", how="zero"):
        after = network.network(**inputs).last_hidden_state[0].detach().double()
    similarity = (before.mean(0) @ after.mean(0)) / (before.mean(0).norm() * after.mean(0).norm())
    assert number(page.locator(".ti-place[data-distance]"), "distance") == pytest.approx(
        1 - float(similarity), abs=1e-6
    )


def test_a_mask_with_one_click(from_server: Open) -> None:
    page = from_server("view=try&model=demo")
    field = page.get_by_label("Text", exact=True)
    field.fill("The cat sat down.")
    field.evaluate("field => field.setSelectionRange(4, 7)")
    page.get_by_role("button", name="Insert [MASK]").click()
    expect(field).to_have_value("The [MASK] sat down.")
    field.press("End")
    page.get_by_role("button", name="Insert [MASK]").click()
    expect(field).to_have_value("The [MASK] sat down.[MASK]")
    page.goto(page.url.replace("model=demo", "model=gpt2"))
    expect(page.get_by_role("button", name="Insert [MASK]")).to_have_count(0)


def test_from_an_edit_to_its_attention(from_server: Open) -> None:
    page = from_server("view=try&model=demo&x-off=3.2")
    page.get_by_text("What the edit changes in the attention").get_by_role("button").or_(
        page.locator(".ti-row").get_by_role("button", name="All heads")
    ).first.click()
    expect(page.locator(".hs-editbar")).to_contain_text("3.2 switched off")
    expect(page.locator(".hs-footer")).to_contain_text("what changes with 3.2 switched off")
