"""The weights that views show, read off a page and compared with those of Python."""

from collections.abc import Mapping

import pytest
from playwright.sync_api import Locator, Page, Position, expect
from tests.browser.material import Array
from tests.browser.watching import number, settled

LAYER, HEAD, QUERY = 3, 2, 5
CLOSE = 0.005
"""What the project promises of every weight shown."""
TRIES = 5


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


def middle_of(canvas: Locator, query: int, key: int) -> Position:
    """Where on the matrix view's canvas a cell is now."""
    cell = number(canvas, "cell")
    return {
        "x": number(canvas, "left") + (key + 0.5) * cell,
        "y": number(canvas, "top") + (query + 0.5) * cell,
    }


def point_at(pane: Page | Locator, query: int, key: int) -> Locator:
    """What the matrix view reads out with the mouse on a cell.

    The matrix may still be growing, and shrinks when the list of weights first appears: it is pointed at again then.
    """
    canvas = pane.locator(".hs-matrix canvas")
    read = pane.locator(f".hs-read[data-query='{query}'][data-key='{key}']")
    for _ in range(TRIES):
        place = middle_of(canvas, query, key)
        canvas.hover(position=place)
        settled(canvas.page)
        if middle_of(canvas, query, key) == place:
            break
    expect(read).to_be_visible()
    return read


def at_cell(page: Page, query: int, key: int) -> float:
    """The weight that the matrix view reads out at a cell."""
    return number(point_at(page, query, key), "weight")
