"""A single file keeps its bars with 72 heads: a megabyte for 128 tokens, eight for 512; and opens."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect
from tests.browser.watching import Open

from headscope.pages.arrays import from_attentions
from headscope.pages.looking import Looked
from headscope.pages.page import write_view

LAYERS, HEADS = 6, 12


@pytest.mark.parametrize(("tokens", "most"), [(128, 1_000_000), (512, 8_000_000)])
def test_a_file_of_72_heads(tokens: int, most: int, tmp_path: Path, from_file: Open) -> None:
    random = np.random.default_rng(0)
    weights = random.standard_exponential((LAYERS, HEADS, tokens, tokens), dtype=np.float32) ** 2
    weights /= weights.sum(-1, keepdims=True)
    path = tmp_path / "view.html"
    seen = from_attentions(weights, [f"word{number}" for number in range(tokens)])
    packed = write_view(path, Looked(seen))
    assert path.stat().st_size <= most
    assert packed.quantised.max_error <= 0.005
    page = from_file(f"{path.as_uri()}#view=head&layer={LAYERS - 1}&heads=7")
    page.locator("[data-side=query][data-index='1']").hover()
    row = page.locator("tr[data-index]").first
    best = int(weights[LAYERS - 1, 7, 1].argmax())
    expect(page.locator("table[data-index='1']")).to_be_visible()
    shown = float(row.get_attribute("data-weight") or -1)
    assert shown == pytest.approx(float(weights[LAYERS - 1, 7, 1, best]), abs=0.005)
