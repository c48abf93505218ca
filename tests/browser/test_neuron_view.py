"""The neuron view adds up to the scores of the model."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect
from tests.browser.material import Array, Written, demo, write
from tests.browser.watching import NARROW, Open, number, settled
from tests.browser.weights import CLOSE, HEAD, LAYER, QUERY

from headscope.models import Model
from headscope.pages.start import Start


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
