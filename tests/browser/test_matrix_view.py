"""The matrix view shows what Python has, and both views of a map can be saved."""

import csv
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.browser.material import Written, to_words
from tests.browser.watching import Open, addressed, number, settled
from tests.browser.weights import CLOSE, HEAD, LAYER, QUERY, at_cell


@pytest.mark.parametrize("view", ["head", "matrix"])
def test_maps_can_be_saved(view: str, demo_file: Written, from_file: Open) -> None:
    page = from_file(f"{demo_file.address}#view={view}&layer={LAYER}&heads={HEAD}")
    exact = demo_file.observed.layer("encoder", LAYER)[HEAD]
    saved = {}
    for form in ("PNG", "SVG", "CSV"):
        with page.expect_download() as download:
            page.get_by_role("group", name="Save").get_by_role("button", name=form, exact=True).click()
        saved[form] = download.value.path().read_bytes()
    assert saved["PNG"].startswith(b"\x89PNG")
    words = "".join(ElementTree.fromstring(saved["SVG"]).itertext())
    rows = list(csv.DictReader(saved["CSV"].decode().splitlines()))
    assert all(row["query_token"] in words for row in rows)
    weights = np.zeros_like(exact)
    for row in rows:
        weights[int(row["query"]), int(row["key"])] = float(row["weight"])
    np.testing.assert_allclose(weights, exact, atol=CLOSE)


def test_colours_can_be_scaled_to_the_largest_weight(demo_file: Written, from_file: Open) -> None:
    page = from_file(f"{demo_file.address}#view=matrix&layer={LAYER}&heads={HEAD}")
    exact = demo_file.observed.layer("encoder", LAYER)[HEAD]
    page.get_by_role("button", name="to max").click()
    legend = page.get_by_role("img", name="Colours from 0 to weight")
    assert float(str(legend.get_attribute("aria-label")).split()[-1]) == pytest.approx(exact.max(), abs=CLOSE)
    addressed(page, "scale=max")


def test_the_matrix_reads_out_weights(demo_file: Written, from_file: Open) -> None:
    page = from_file(f"{demo_file.address}#view=matrix&layer={LAYER}&heads={HEAD}")
    exact = demo_file.observed.layer("encoder", LAYER)[HEAD]
    strongest = np.unravel_index(exact.argmax(), exact.shape)
    for query, key in [(0, 0), (int(strongest[0]), int(strongest[1])), (16, 3), (QUERY, 16)]:
        assert at_cell(page, query, key) == pytest.approx(exact[query, key], abs=CLOSE)
    before = number(page.locator(".hs-matrix canvas"), "cell")
    page.get_by_label("Zoom in").click()
    page.get_by_label("Zoom in").click()
    assert number(page.locator(".hs-matrix canvas"), "cell") > before
    assert at_cell(page, 4, 4) == pytest.approx(exact[4, 4], abs=CLOSE)
    page.get_by_role("button", name="words", exact=True).click()
    settled(page)  # all of it is in sight again
    folded = to_words(exact, demo_file.observed.source.word)
    assert at_cell(page, 6, 6) == pytest.approx(folded[6, 6], abs=CLOSE)
