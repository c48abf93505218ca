"""Predictions before and after heads are switched off are those of Python."""

from urllib.parse import quote

import pytest
import torch
from playwright.sync_api import Browser, Page, expect
from tests.browser.conftest import Server
from tests.browser.material import demo
from tests.browser.watching import Open, addressed, go, number, watching
from transformers import AutoModelForMaskedLM

import headscope as hs

TEXT = "The keys to the old cabinet [MASK] on the table."


@pytest.fixture(scope="module")
def masked() -> hs.Model:
    """demo with its head, loaded by transformers alone."""
    import headscope_models

    network = AutoModelForMaskedLM.from_pretrained(headscope_models.path("demo"), dtype=torch.float32)
    return hs.wrap(network.eval(), demo().tokenizer, name="demo")


def guesses(model: hs.Model) -> list[tuple[str, float]]:
    """The five most probable words, most probable first."""
    inputs = model.tokenizer(TEXT, return_tensors="pt")
    place = inputs["input_ids"][0].tolist().index(model.tokenizer.mask_token_id)
    with torch.inference_mode():
        best = model.network(**inputs).logits[0, place].softmax(-1).topk(5)
    return [
        (model.tokenizer.decode([token]), share)
        for share, token in zip(*map(torch.Tensor.tolist, best), strict=True)
    ]


def shown(page: Page, side: str) -> list[tuple[str, float]]:
    rows = page.locator(f".ti-side[data-side={side}] .ti-option").all()
    return [(row.get_attribute("data-text") or "", number(row, "probability")) for row in rows]


def same(shown: list[tuple[str, float]], expected: list[tuple[str, float]]) -> None:
    assert [text for text, _ in shown] == [text for text, _ in expected]
    assert [share for _, share in shown] == pytest.approx([share for _, share in expected], abs=1e-4)


def test_predictions_before_and_after(masked: hs.Model, from_server: Open) -> None:
    page = from_server("view=try&model=demo")
    page.get_by_label("Text", exact=True).fill(TEXT)
    page.get_by_role("button", name="Predict").click()
    expect(page.locator(".ti-option")).to_have_count(5)
    same(shown(page, "before"), guesses(masked))
    for head in ("3.2", "5.0"):
        page.locator(f".ti-heads .hg-cell[data-head='{head}']").click()
    expect(page.get_by_label("Heads to switch off", exact=True).and_(page.locator("input"))).to_have_value(
        "3.2, 5.0"
    )
    expect(page.locator(".ti-summary")).to_contain_text("3.2, 5.0 switched off")
    same(shown(page, "before"), guesses(masked))
    with hs.edit(masked, "3.2, 5.0", how="zero"):
        same(shown(page, "after"), guesses(masked))
    page.get_by_role("button", name="uniform").click()
    page.locator(".ti-heads input[type=text]").fill("layer 2, 7.1")
    expect(page.locator(".ti-summary")).to_contain_text("layer 2, 7.1 looking evenly")
    with hs.edit(masked, "layer 2, 7.1", how="uniform"):
        same(shown(page, "after"), guesses(masked))
    addressed(page, "x-off=layer+2,+7.1")


def test_what_cannot_be_done_is_said(from_server: Open) -> None:
    page = from_server("view=try&model=demo")
    # Until the page knows the model's heads, the server is asked, and a refusal stands on the console.
    expect(page.locator(".ti-heads .hg-cell").first).to_be_visible()
    page.locator(".ti-heads input[type=text]").fill("14.1")
    expect(page.get_by_role("alert")).to_contain_text("there is no head 14.1: layers go from 0 to 11")
    page.locator(".ti-heads input[type=text]").fill("")
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_label("Text", exact=True).fill("No word is hidden.")
    page.get_by_role("button", name="Predict").click()
    expect(page.get_by_role("note")).to_contain_text("The text has no [MASK]")


def text_of(page: Page) -> str:
    return page.get_by_label("Text", exact=True).input_value()


def test_a_link_restores_texts_heads_and_predictions(masked: hs.Model, from_server: Open) -> None:
    page = from_server(f"view=try&model=demo&a={quote(TEXT)}&x-off=3.2,+5.0&x-how=uniform")
    expect(page.locator(".ti-summary")).to_contain_text("3.2, 5.0 looking evenly")
    assert text_of(page) == TEXT
    same(shown(page, "before"), guesses(masked))
    with hs.edit(masked, "3.2, 5.0", how="uniform"):
        same(shown(page, "after"), guesses(masked))


def test_another_link_and_back_in_the_same_tab(from_server: Open) -> None:
    page = from_server("view=try&model=demo&a=One+[MASK].&x-off=1.1")
    expect(page.locator(".ti-summary")).to_contain_text("1.1 switched off")
    expect(page.locator(".ti-place h3")).to_contain_text("One [MASK].")
    go(page, "view=try&model=demo&a=Two+[MASK]+here.&x-off=2.2")
    expect(page.locator(".ti-summary")).to_contain_text("2.2 switched off")
    expect(page.locator(".ti-place h3")).to_contain_text("Two [MASK] here.")
    assert text_of(page) == "Two [MASK] here."
    page.get_by_label("Text", exact=True).fill("Typed, and not sent.")
    page.go_back()
    expect(page.locator(".ti-place h3")).to_contain_text("One [MASK].")
    expect(page.get_by_label("Text", exact=True)).to_have_value("One [MASK].")


def test_back_goes_over_predictions(from_server: Open) -> None:
    page = from_server("view=try&model=demo&a=One+[MASK].")
    place = page.locator(".ti-place h3")
    expect(place).to_contain_text("One [MASK].")
    page.get_by_label("Text", exact=True).fill("Two [MASK] here.")
    page.get_by_role("button", name="Predict").click()
    expect(place).to_contain_text("Two [MASK] here.")
    page.locator(".ti-heads .hg-cell[data-head='1.1']").click()
    expect(page.locator(".ti-summary")).to_contain_text("1.1 switched off")
    page.go_back()
    expect(page.locator(".ti-summary")).to_have_count(0)
    expect(place).to_contain_text("Two [MASK] here.")
    page.go_back()
    expect(place).to_contain_text("One [MASK].")
    page.go_forward()
    page.go_forward()
    expect(page.locator(".ti-summary")).to_contain_text("1.1 switched off")


def test_there_is_nothing_to_search(from_server: Open) -> None:
    page = from_server("view=try&model=demo")
    expect(page.locator(".ti-form")).to_be_visible()
    expect(page.get_by_label("Search", exact=True)).to_have_count(0)
    page.keyboard.press("/")
    page.keyboard.press("1")  # another view: no field has the focus
    expect(page.get_by_label("Search", exact=True)).to_be_visible()


def test_a_name_that_is_refused_leaves_no_old_prediction(server: Server, browser: Browser) -> None:
    with watching(browser, port=server.port, strict=False) as (open_page, _):  # browsers log every refusal
        page = open_page(server.at("view=try&model=demo&a=One+[MASK].&x-off=1.1"))
        expect(page.locator(".ti-summary")).to_contain_text("1.1 switched off")
        page.locator(".ti-heads input[type=text]").fill("type:nothing-like-it")
        expect(page.locator(".ti-results").get_by_role("alert")).to_be_visible()
        expect(page.locator(".ti-option")).to_have_count(0)
        page.locator(".ti-heads input[type=text]").fill("2.2")
        expect(page.locator(".ti-summary")).to_contain_text("2.2 switched off")


def test_typing_asks_nothing(from_server: Open) -> None:
    page = from_server("view=try&model=demo")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "predict" in request.url else None)
    page.get_by_label("Text", exact=True).press_sequentially("abc", delay=20)
    page.wait_for_timeout(500)
    assert asked == []
    page.get_by_label("Text", exact=True).fill(TEXT)
    page.get_by_role("button", name="Predict").click()
    expect(page.locator(".ti-option")).to_have_count(5)
    page.get_by_label("Text", exact=True).press_sequentially("abc", delay=20)
    page.wait_for_timeout(500)
    assert len(asked) == 1
