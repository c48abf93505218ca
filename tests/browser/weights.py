"""The weights that views show, read off a page and compared with those of Python."""

from collections.abc import Mapping

import pytest
from playwright.sync_api import Page, expect
from tests.browser.material import Array
from tests.browser.watching import number

LAYER, HEAD, QUERY = 3, 2, 5
CLOSE = 0.005
"""What the project promises of every weight shown."""


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
