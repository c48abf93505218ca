"""What is looked at is in the address: links, back and forward; and the keyboard."""

from pathlib import Path

from playwright.sync_api import Page, expect
from tests.browser.material import Written
from tests.browser.watching import Open, go, settled


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
    settled(page)
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
    settled(page)
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
    assert "token=" not in page.url, "who copies the link does not hand out the key to the server"
    settled(page)
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
    page.keyboard.press("2")
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
