"""What is looked at is in the address: links, back and forward; and the keyboard."""

import re
from pathlib import Path
from urllib.parse import quote_plus

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.conftest import Server
from tests.browser.material import Written
from tests.browser.watching import Open, addressed, go, number, settled, watching


def pressed(page: Page) -> list[str]:
    return page.locator(".hs-chip[aria-pressed=true]").all_inner_texts()


def test_a_copied_link_restores_the_view(demo_file: Written, from_file: Open) -> None:
    page = from_file(demo_file.address)
    page.get_by_label("Layer", exact=True).select_option("4")
    page.locator(".hs-chip").nth(6).dblclick()
    page.locator(".hs-chip").nth(1).click()
    page.get_by_role("button", name="A→B", exact=True).click()
    page.get_by_role("button", name="words", exact=True).click()
    page.locator("button[data-side=query][data-index='3']").click()
    page.get_by_label("Smallest weight that is drawn").fill("0.3")
    page.get_by_label("Search", exact=True).fill("found")
    page.get_by_role("button", name="Dark").click()
    addressed(page, "q=found", "theme=dark")
    copy = from_file(page.url)
    expect(copy.locator(".hs-head")).to_have_attribute("data-layer", "4")
    assert pressed(copy) == ["1", "6"]
    expect(copy.get_by_role("button", name="A→B", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(copy.locator("button[data-side=query][data-index='3']")).to_have_attribute("aria-pressed", "true")
    expect(copy.locator("button[data-side=query][data-index='3']")).to_have_attribute("title", "to")
    expect(copy.get_by_label("Smallest weight that is drawn")).to_have_value("0.3")
    expect(copy.locator(".hs-found[data-side=query]")).to_have_attribute("title", "found")
    expect(copy.locator(".headscope")).to_have_attribute("data-theme", "dark")
    copy.mouse.move(0, 0)
    page.mouse.move(0, 0)
    lines = [each.locator("canvas[data-of=all]").get_attribute("data-lines-of") for each in (page, copy)]
    assert lines[0] == lines[1]


def test_a_link_of_an_atlas(atlas_file: Path, from_file: Open) -> None:
    page = from_file(f"{atlas_file.as_uri()}#view=map")
    page.locator(".mp-point[data-head='3.3']").click(force=True)
    page.locator("[data-view=atlas]").click()
    page.locator(".hg-cell[data-head='2.2']").click(modifiers=["Shift"])
    page.locator(".hg-cell[data-head='5.1']").click(modifiers=["Shift"])
    addressed(page, "selected=2.2,5.1")
    copy = from_file(page.url)
    kept = copy.locator(".hg-cell[data-kept=true]")
    expect(kept).to_have_count(2)
    assert [cell.get_attribute("data-head") for cell in kept.all()] == ["2.2", "5.1"]
    expect(copy.get_by_role("article")).to_be_visible()
    named = [each.get_by_role("article").get_attribute("aria-label") for each in (page, copy)]
    assert named[0] == named[1]


def test_a_link_to_the_server_sends_the_text(from_server: Open) -> None:
    page = from_server("model=bert&a=The cat sat&b=A dog&view=matrix&layer=2&heads=3")
    expect(page.locator(".hs-matrix[data-layer='2'][data-head='3']")).to_be_visible()
    addressed(page, "model=bert", "heads=3")
    assert "token=" not in page.url, "who copies the link does not hand out the key to the server"
    copy = page.context.new_page()
    copy.goto(page.url)  # a second tab, which finds the token in the browser's storage
    expect(copy.locator(".hs-matrix[data-layer='2'][data-head='3']")).to_be_visible()
    expect(copy.get_by_label("Text A")).to_have_value("The cat sat")
    expect(copy.get_by_role("contentinfo")).to_contain_text("bert")


def test_back_and_forward(demo_file: Written, from_file: Open) -> None:
    page = from_file(f"{demo_file.address}#layer=2")
    page.locator("[data-view=model]").click()
    page.locator(".hs-thumb[data-head='5.1']").click()
    expect(page.locator(".hs-matrix[data-layer='5'][data-head='1']")).to_be_visible()
    page.go_back()
    expect(page.locator(".hs-model")).to_be_visible()
    page.go_back()
    expect(page.locator(".hs-head")).to_have_attribute("data-layer", "2")
    page.go_forward()
    expect(page.locator(".hs-model")).to_be_visible()
    page.go_forward()
    expect(page.locator(".hs-matrix[data-layer='5'][data-head='1']")).to_be_visible()
    go(page, "view=head&layer=7")
    expect(page.locator(".hs-head")).to_have_attribute("data-layer", "7")


def look(page: Page, text: str) -> None:
    """Type a text and send it; the page shows it once the address names it."""
    page.get_by_label("Text").first.fill(text)
    page.get_by_role("button", name="Look", exact=True).click()
    page.wait_for_url(f"**a={quote_plus(text)}*")


def test_back_goes_over_texts_models_and_heads(from_server: Open) -> None:
    page = from_server("view=head&model=bert&a=The cat&b=A dog")
    text = page.get_by_label("Text").first
    tokens = page.locator("button[data-side=query] bdi")
    expect(tokens.nth(1)).to_have_text("the")
    page.locator("button[data-side=query][data-index='2']").click()
    look(page, "A dog sat")
    expect(page.locator("button[aria-pressed=true][data-side]")).to_have_count(0)
    twice = "async button => { button.click(); await new Promise(setTimeout); button.click() }"
    page.get_by_label("Next layer").evaluate(twice)  # at once, so that it is one step
    expect(page.locator(".hs-head")).to_have_attribute("data-layer", "2")
    page.get_by_label("Model", exact=True).select_option("gpt2")
    page.get_by_role("button", name="Look", exact=True).click()
    expect(page.get_by_role("contentinfo")).to_contain_text("gpt2")
    page.get_by_label("Model", exact=True).select_option("bert")
    expect(page.get_by_label("Text B")).to_have_value("A dog")  # though gpt2 takes no second text
    page.get_by_role("button", name="Look", exact=True).click()
    expect(page.get_by_role("contentinfo")).to_contain_text("bert")
    page.go_back()
    expect(page.get_by_role("contentinfo")).to_contain_text("gpt2")
    page.go_back()
    expect(page.get_by_role("contentinfo")).to_contain_text("bert")
    expect(page.locator(".hs-head")).to_have_attribute("data-layer", "2")
    page.go_back()
    expect(page.locator(".hs-head")).to_have_attribute("data-layer", "0")
    expect(text).to_have_value("A dog sat")
    page.go_back()
    expect(text).to_have_value("The cat")
    expect(tokens.nth(2)).to_have_text("cat")
    expect(page.locator("button[aria-pressed=true][data-side]")).to_have_attribute("data-index", "2")
    page.go_forward()
    expect(text).to_have_value("A dog sat")


def test_what_a_link_names_and_the_text_has_not(demo_file: Written, from_file: Open) -> None:
    page = from_file(f"{demo_file.address}#view=head&stack=cross&layer=99&heads=99&token=77")
    note = page.get_by_role("note")
    for words in ("no cross", "no layer 99 (there are 0 to 11)", "no head 99", "no token 77"):
        expect(note).to_contain_text(words)
    note.get_by_role("button").click()
    expect(note).to_have_count(0)
    expect(page.locator(".hs-head")).to_have_attribute("data-layer", "11")
    expect(page).not_to_have_url(re.compile("#.*(99|77)"))


def test_the_keyboard(demo_file: Written, from_file: Open) -> None:
    page = from_file(demo_file.address)
    head = page.locator(".hs-head")
    expect(head).to_have_attribute("data-layer", "0")
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    expect(head).to_have_attribute("data-layer", "2")
    page.keyboard.press("ArrowUp")
    expect(head).to_have_attribute("data-layer", "1")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".hs-chip[aria-pressed=true]")).to_have_text(["1"])
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".hs-chip[aria-pressed=true]")).to_have_text(["0"])
    page.keyboard.press("a")
    expect(page.locator(".hs-chip[aria-pressed=true]")).to_have_count(8)
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("button[data-side=query][data-index='1']")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    expect(page.locator("button[data-side=query][aria-pressed=true]")).to_have_count(0)
    page.keyboard.press("/")
    expect(page.get_by_label("Search", exact=True)).to_be_focused()
    page.keyboard.type("a?2")  # what is typed there is no command
    expect(page.get_by_label("Search", exact=True)).to_have_value("a?2")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("3")
    expect(page.locator(".hs-matrix")).to_be_visible()
    page.keyboard.press("t")
    expect(page.locator(".headscope")).to_have_attribute("data-theme", "dark")


def test_the_size_of_the_window_may_change(demo_file: Written, from_file: Open) -> None:
    page = from_file(demo_file.address)
    canvas = page.locator("canvas[data-of=all]")
    expect(canvas).to_be_visible()
    width = "() => document.querySelector('canvas').getBoundingClientRect().width"
    before = page.evaluate(width)
    page.set_viewport_size({"width": 390, "height": 500})
    page.wait_for_function(f"before => ({width})() < before - 100", arg=before)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.wait_for_function(f"before => ({width})() === before", arg=before)


def test_where_one_looks_in_the_matrix_is_in_the_link(demo_file: Written, from_file: Open) -> None:
    page = from_file(f"{demo_file.address}#view=matrix&layer=3&heads=2")
    expect(page.locator(".hs-matrix canvas[data-cell]")).to_be_visible()  # keys zoom what is drawn
    for key in ("+", "+", "Shift+ArrowRight", "Shift+ArrowDown"):
        page.keyboard.press(key)
    addressed(page, "x-box=")
    copy = from_file(page.url)
    canvas = [each.locator(".hs-matrix canvas") for each in (page, copy)]
    expect(canvas[1]).to_be_visible()
    for part in ("cell", "left", "top"):
        assert number(canvas[0], part) == pytest.approx(number(canvas[1], part), abs=0.01)
    assert number(canvas[1], "left") < 0
    page.keyboard.press("0")
    expect(page).not_to_have_url(re.compile("#.*x-box"))


@pytest.mark.parametrize(
    ("fragment", "words", "offered", "shown"),
    [
        ("model=bert-large&a=Hello", "has no model “bert-large”", "demo", ".hs-model"),
        ("view=try&model=bert-large&a=Hello", "has no model “bert-large”", "demo", ".ti-form"),
        ("view=atlas&atlas=nope", "has no atlas “nope”", "made-up.nc (demo)", ".hg-cell"),
        ("view=atlas&model=bert", "has no atlas of “bert”", "made-up.nc (demo)", ".hg-cell"),
        (
            "view=map&model=bert&atlas=other",
            "“other.nc” is an atlas of “twelve”, not of “bert”",
            "other.nc (twelve)",
            "svg.mp",
        ),
        ("view=foo", "has no view “foo”", "Matrix", ".hs-matrix"),
    ],
)
def test_what_a_link_names_and_the_server_has_not(
    fragment: str, words: str, offered: str, shown: str, from_server: Open
) -> None:
    page = from_server(fragment)
    expect(page.get_by_role("alert")).to_contain_text(words)
    settled(page)
    for part in fragment.split("&"):
        assert part in page.url, "the address stays what was asked for"
    expect(page.locator(".hs-offers")).to_be_visible()
    expect(page.locator(".hs-model, .ti-form, .hg-cell, .hs-matrix")).to_have_count(0)
    page.locator(".hs-offers").get_by_role("button", name=offered, exact=True).click()
    expect(page.locator(shown).first).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_the_model_that_the_address_names_is_the_one_shown(from_server: Open) -> None:
    page = from_server("view=head&model=demo&a=The cat sat&token=2")
    footer = page.get_by_role("contentinfo")
    named = footer.locator("span").first
    expect(named).to_contain_text("demo (")
    before = named.inner_text()
    page.locator("[data-view=try]").click()  # which loads the same model with its head
    expect(page.get_by_role("note")).to_contain_text("The text has no [MASK]")
    page.locator("[data-view=head]").click()
    expect(named).to_have_text(before)
    expect(page.locator("button[aria-pressed=true][data-side]")).to_have_count(1)
    page.locator("[data-view=try]").click()
    page.get_by_label("Model", exact=True).select_option("bert")
    page.locator("[data-view=head]").click()
    expect(named).to_contain_text("bert (")
    expect(page.get_by_label("Model", exact=True)).to_have_value("bert")
    expect(page.locator("button[aria-pressed=true][data-side]")).to_have_count(0)  # that was demo's token
    page.get_by_label("Model", exact=True).select_option("demo")
    page.get_by_role("button", name="Look", exact=True).click()
    expect(named).to_have_text(before)


def test_the_explorer_opens_on_all_heads_and_goes_on_with_the_sharpest(from_server: Open) -> None:
    page = from_server("model=demo&a=The keys to the old cabinets were lost.")
    chosen = page.locator(".hs-thumb[aria-current=true]")
    expect(chosen).to_have_count(1)
    layer, head = (chosen.get_attribute("data-head") or "").split(".")
    expect(page.locator(".hs-preview")).to_have_attribute("data-head", f"{layer}.{head}")
    assert (layer, head) != ("0", "0")
    page.locator("[data-view=head]").click()  # never the lines of all heads of a layer
    expect(page.locator(".hs-head")).to_have_attribute("data-layer", layer)
    assert pressed(page) == [head]
    page.locator("[data-view=matrix]").click()
    expect(page.locator(f".hs-matrix[data-layer='{layer}'][data-head='{head}']")).to_be_visible()


def test_texts_and_heads_are_searched_apart(from_server: Open) -> None:
    page = from_server("view=head&model=demo&a=The cat saw the dog.")
    search = page.get_by_label("Search", exact=True)
    expect(page.locator("button[data-side=query]").first).to_be_visible()
    search.fill("the")
    expect(page.locator(".hs-found[data-side=query]")).to_have_count(2)
    page.locator("[data-view=atlas]").click()
    expect(page.locator(".hg-cell[data-kept=true]")).to_have_count(96)
    expect(search).to_have_value("")
    search.fill("layer 4")
    expect(page.locator(".hg-cell[data-kept=true]")).to_have_count(8)
    page.locator("[data-view=matrix]").click()
    expect(search).to_have_value("the")
    addressed(page, "q=the", "hq=layer+4")


def test_only_a_token_that_the_server_takes_is_kept(server: Server, browser: Browser) -> None:
    place = f"http://127.0.0.1:{server.port}/"
    with watching(browser, port=server.port, strict=False) as (open_page, _):
        page = open_page(f"{place}#token=not-the-servers-token")
        expect(page.get_by_role("alert")).to_contain_text("Open the link that headscope explore has printed")
        assert page.evaluate("localStorage.length") == 0
        asked = open_page(f"{place}?token={server.link.partition('token=')[2]}")
        expect(asked.get_by_role("alert")).to_be_visible()  # queries get logged; a fragment does not
        known = open_page(server.link)
        expect(known.locator(".hs-model")).to_be_visible()
        foreign = open_page(f"{place}#token=not-the-servers-token")
        expect(foreign.locator(".hs-model")).to_be_visible()  # by the token of the visit before
        assert "token" not in foreign.url


def test_help_says_which_keys_are_of_which_view(
    from_server: Open, from_file: Open, demo_file: Written
) -> None:
    page = from_server("view=matrix&model=demo")
    page.get_by_role("button", name="Help").click()
    help_ = page.get_by_role("dialog")
    expect(help_.get_by_label("Keys of Matrix")).to_contain_text("zoom in, zoom out")
    expect(help_.get_by_label("Keys of Neurons")).to_contain_text("query token")
    expect(help_).to_contain_text("goes to the headscope explore that this page came from")
    file = from_file(demo_file.address)
    expect(file.locator(".hs-head")).to_be_visible()
    file.keyboard.press("?")
    expect(file.get_by_role("dialog")).to_contain_text("sends nothing anywhere")


def test_the_link_can_be_copied(demo_file: Written, from_file: Open) -> None:
    page = from_file(f"{demo_file.address}#view=matrix&layer=3&heads=2")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the link").click()
    expect(page.get_by_role("button", name="Link copied")).to_be_visible()
    assert page.evaluate("() => navigator.clipboard.readText()") == page.url
