"""The worked example of every measure's page: computed by the measure, and written on the page as tested."""

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.helpers.attention import Text, decoder, encoder, made_text
from tests.seams import measured

from headscope.types import LabelledArray

Map = list[list[float]]

PAGES = Path(__file__).parents[2] / "docs" / "measures"
CLASSES = ("cls", "sep", "period", "comma", "other")

RAIN = made_text(["[CLS]", "rain", ".", "[SEP]"])
RAIN_MAP: Map = [[0.25, 0.25, 0.25, 0.25], [0, 0.5, 0.5, 0], [0, 1, 0, 0], [0, 0, 0.5, 0.5]]
ALL_ON_RAIN: Map = [[0, 1, 0, 0]] * 4

PAIR = made_text(["[CLS]", "rain", "fell", "[SEP]", "rain", "[SEP]"])
PAIR_MAP: Map = [
    [1, 0, 0, 0, 0, 0],
    [0, 0, 0.8, 0, 0.2, 0],
    [0.25, 0.75, 0, 0, 0, 0],
    [0, 0, 0, 1, 0, 0],
    [0, 0.6, 0.3, 0, 0.1, 0],
    [0, 0, 0, 0.5, 0, 0.5],
]


def arrays(
    name: str, text: Text, *maps: Map, causal: bool = False, **options: Any
) -> dict[str, LabelledArray]:
    """The measure of one text in one layer, of a head for each of the maps."""
    grid = (decoder if causal else encoder)(1, len(maps))
    return measured(name, [replace(text, maps=torch.tensor([maps]))], grid, **options).result()


def cells(array: LabelledArray) -> dict[str, float]:
    """The first head's values by label."""
    return dict(zip(map(str, array.coords[array.dims[-1]]), array.values[0, 0].tolist(), strict=True))


def check(name: str, found: dict[str, float], expected: dict[str, str]) -> None:
    """Every expected number, as it is written, is on the page and is what was found."""
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    example = page.split("## Worked example")[1].split("\n## ")[0]
    for label, written in expected.items():
        assert written in example, f"{written} ({label}) is not in the worked example of {name}.md"
        np.testing.assert_allclose(found[label], float(written), atol=5e-5, err_msg=label)


def check_rows(name: str, found: dict[str, float], expected: dict[str, str]) -> None:
    """As `check`, and the page has a table row that begins with the label and ends with the number."""
    check(name, found, expected)
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    for label, written in expected.items():
        row = rf"^\| {re.escape(label)} \|.*(?<=\|) {re.escape(written)} \|$"
        assert re.search(row, page, re.MULTILINE), (
            f"{name}.md has no row for {label} that ends with {written}"
        )


def test_running_example_is_on_the_page() -> None:
    page = (PAGES / "index.md").read_text(encoding="utf-8")
    for token, row in zip(("[CLS]", "rain", ".", "[SEP]"), RAIN_MAP, strict=True):
        assert f"| {token} | " + " | ".join(f"{value:g}" for value in row) + " |" in page


def test_offset_attention() -> None:
    found = cells(arrays("offset_attention", RAIN, RAIN_MAP)["offset_attention"])
    expected = {"-3": "0", "-2": "0", "-1": "0.5", "0": "0.3125", "1": "0.25", "2": "0.125", "3": "0.25"}
    check_rows("offset_attention", found, expected)
    assert all(math.isnan(found[str(offset)]) for offset in (*range(-8, -3), *range(4, 9)))


def test_role_attention() -> None:
    array = arrays("role_attention", RAIN, RAIN_MAP)["role_attention"]
    rows = {
        "all": ("0.0625", "0.1875", "0.3125", "0", "0.4375"),
        "sep": ("0", "0.5", "0.5", "0", "0"),
        "other": ("0.0833", "0.0833", "0.25", "0", "0.5833"),
    }
    page = (PAGES / "role_attention.md").read_text(encoding="utf-8")
    for number, (query_role, row) in enumerate(rows.items()):
        assert array.coords["query_role"][number] == query_role
        assert f"| {query_role} | " + " | ".join(row) + " |" in page
        found = dict(zip(CLASSES, array.values[0, 0, number].tolist(), strict=True))
        check("role_attention", found, dict(zip(CLASSES, row, strict=True)))


def test_entropy() -> None:
    result = arrays("entropy", RAIN, RAIN_MAP)
    found = cells(result["entropy"]) | {"uniform": float(result["entropy_uniform"].values)}
    check("entropy", found, {"all": "0.6931", "cls": "1.3863", "uniform": "1.3863"})
    causal = arrays("entropy", RAIN, RAIN_MAP, causal=True)
    check("entropy", {"causal": float(causal["entropy_uniform"].values)}, {"causal": "0.7945"})


def test_published_entropy_of_a_single_token() -> None:
    text = made_text([f"word{number}" for number in range(128)])
    found = cells(arrays("entropy", text, torch.eye(128).tolist(), published=True)["entropy"])["all"]
    assert "about 0.0015 at n = 128" in (PAGES / "entropy.md").read_text(encoding="utf-8")
    assert found == pytest.approx(0.0015, abs=5e-5)


def test_distance_features() -> None:
    found = cells(arrays("distance_features", RAIN, RAIN_MAP)["distance_features"])
    expected = {
        "cls": "0.0625",
        "sep": "0.1875",
        "comma": "0",
        "period": "0.3125",
        "self": "0.125",
        "w04": "0.3125",
    }
    check("distance_features", found, expected)
    row = f"| {' | '.join(expected.values())} | 0 | 1 |"
    assert row in (PAGES / "distance_features.md").read_text(encoding="utf-8")
    assert sum(found.values()) == pytest.approx(1)
    assert all(value == 0 for label, value in found.items() if label not in expected)


def test_head_distance() -> None:
    array = arrays("head_distance", RAIN, RAIN_MAP, ALL_ON_RAIN)["head_distance"]
    assert array.coords["head_a"] == ("0.0", "0.1")
    check("head_distance", {"mean": array.values[0, 1]}, {"mean": "0.3223"})
    for row, (asked, other, written) in enumerate(
        zip(RAIN_MAP, ALL_ON_RAIN, ("0.3804", "0.2158", "0", "0.6931"), strict=True)
    ):
        first, second = np.array(asked), np.array(other)
        by_hand = entropy((first + second) / 2) - (entropy(first) + entropy(second)) / 2
        check("head_distance", {str(row): by_hand}, {str(row): written})


# The value vectors of the head of the running example, those of a second head, and the stream they add to.
CARRYING = replace(
    RAIN,
    maps=torch.tensor([[RAIN_MAP, ALL_ON_RAIN]]),
    vectors=torch.tensor([[[[2.0, 0.0], [0.0, 1.0], [0.0, 0.0], [2.0, 0.0]], [[0.0, 3.0]] * 4]]),
    residual=torch.tensor([[[10.0, 0.0]] * 4]),
)


def test_loudness() -> None:
    result = measured("loudness", [CARRYING], encoder(1, 2)).result()
    page = (PAGES / "loudness.md").read_text(encoding="utf-8")
    rows = {
        "loudness": ("0.2273", "0.7727"),
        "loudness_residual": ("0.0883", "0.3"),
        "constancy": ("0.7301", "1"),
    }
    for name, row in rows.items():
        assert f"| {name} | {' | '.join(row)} |" in page
        np.testing.assert_allclose(result[name].values[0], list(map(float, row)), atol=5e-5, err_msg=name)


def test_value_weighted_attention() -> None:
    assert "it takes 0.4, 0.2, 0 and 0.4 from them" in (PAGES / "index.md").read_text(encoding="utf-8")
    map_of_first = measured("example_map", [CARRYING], encoder(1, 2), weighting="value").result()
    row_of_cls = map_of_first["example_map"].values[0, 0, 0, [4, 12, 20, 28]]  # a cell of each token's
    np.testing.assert_allclose(row_of_cls, [0.4, 0.2, 0, 0.4], atol=1e-6)


def entropy(row: np.ndarray[Any, Any]) -> float:
    return float(-sum(value * math.log(value) for value in row if value > 0))


def test_published_head_distance_is_a_sum_without_standard_error() -> None:
    result = arrays("head_distance", RAIN, RAIN_MAP, ALL_ON_RAIN, published=True)
    assert list(result) == ["head_distance"]
    assert result["head_distance"].values[0, 1] == pytest.approx(4 * 0.3223, rel=0.01)


def test_named_patterns() -> None:
    found = cells(arrays("named_patterns", PAIR, PAIR_MAP)["named_patterns"])
    expected = {
        "next_word": "0.8",
        "previous_word": "0.75",
        "same_word": "0.4",
        "same_word_other_sentence": "0.4",
        "induction": "0.15",
        "duplicate_token": "0.55",
        "delimiters": "0.3333",
        "own_sentence": "0.55",
        "other_sentence": "0.3667",
        "first_token": "0.05",
    }
    assert set(found) == set(expected)
    check_rows("named_patterns", found, expected)
    page = (PAGES / "named_patterns.md").read_text(encoding="utf-8")
    for row in PAIR_MAP:
        assert " | ".join(f"{value:g}" for value in row) in page


def test_example_map() -> None:
    array = arrays("example_map", RAIN, RAIN_MAP)["example_map"]
    itself = array.values[0, 0, 8:16, 8:16]
    assert (itself == itself[0, 0]).all()
    check("example_map", {"rain": float(itself[0, 0])}, {"rain": "0.5"})
