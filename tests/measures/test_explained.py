"""Explained: planted mixtures come out whole; weights, shares, control and ceiling against slow sums over all rows."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon
from tests.helpers.attention import Text, decoder, encoder, random_texts
from tests.helpers.patterns import TEMPLATES, shifted, template_rows
from tests.seams import measured

from headscope.measures.mixture import mixture_weights
from headscope.types import HeadGrid

GRID, CAUSAL = encoder(1, 2), decoder(1, 2)
NAMES = list(TEMPLATES)
LENGTHS = [11, 14, 17, 20, 23, 26, 12, 15, 18, 21, 24, 27]
ALL_FITTED, ALL_SCORED = 16, 4
"""Of texts of up to so many tokens all queries are fitted on, or scored."""


def all_rows(text: Text, grid: HeadGrid) -> np.ndarray:
    """(template, query, key) of one text."""
    return np.stack([template_rows(text, points, causal=grid.causal) for points in TEMPLATES.values()])


def planted(grid: HeadGrid, *heads: dict[str, float], seed: int = 0) -> list[Text]:
    """Texts in which each head is a mixture of templates."""
    texts = []
    for text in random_texts(grid, LENGTHS, seed=seed):
        rows = dict(zip(NAMES, all_rows(text, grid), strict=True))
        maps = np.stack([sum(share * rows[name] for name, share in head.items()) for head in heads])
        texts.append(replace(text, maps=torch.from_numpy(maps)[None].float()))
    return texts


def explained(texts: list[Text], grid: HeadGrid, **options: int) -> dict[str, np.ndarray]:
    result = measured("explained", texts, grid, **options).result()  # type: ignore[arg-type]
    return {name: array.values for name, array in result.items()}


@pytest.mark.parametrize("grid", [GRID, CAUSAL], ids=["encoder", "decoder"])
def test_a_planted_mixture_comes_out_whole(grid: HeadGrid) -> None:
    """The known answer: 0.7 previous and 0.3 first gives these weights, and all is explained."""
    texts = planted(grid, {"offset_-1": 0.7, "first_token": 0.3}, {"same_word": 0.5, "delimiters": 0.5})
    found = {name: values[0] for name, values in explained(texts, grid, batch_size=5).items()}
    weights = [dict(zip(NAMES, row.tolist(), strict=True)) for row in found["explained_weight"]]
    assert weights[0]["offset_-1"] == pytest.approx(0.7, abs=1e-4)
    assert weights[0]["first_token"] == pytest.approx(0.3, abs=1e-4)
    assert weights[1]["same_word"] == pytest.approx(0.5, abs=1e-3)
    assert weights[1]["delimiters"] == pytest.approx(0.5, abs=1e-3)
    np.testing.assert_allclose(found["explained"], 1, atol=1e-3)
    np.testing.assert_allclose(found["explained_stderr"], 0, atol=1e-3)
    # Places are those of any text of that length; words are not.
    assert found["explained_control"][0] == pytest.approx(1, abs=1e-3)
    assert found["explained_control"][1] < 0.8
    assert found["explained_ceiling"][0] > 0.8


def test_what_has_no_name_is_not_explained() -> None:
    """Each query of random attention attends somewhere else: names say hardly more than uniform attention."""
    found = explained(random_texts(GRID, LENGTHS, seed=3), GRID)
    assert (found["explained"] < 0.2).all()
    assert (found["explained_stderr"] > 0).all()


def test_half_a_name_explains_a_part() -> None:
    texts = planted(GRID, {"offset_-1": 1.0}, {"offset_-1": 1.0})
    for text, other in zip(texts, random_texts(GRID, LENGTHS, seed=8), strict=True):
        text.maps[:, 1] = (text.maps[:, 1] + other.maps[:, 1]) / 2
    whole, half = explained(texts, GRID)["explained"][0]
    assert whole == pytest.approx(1, abs=1e-3)
    assert 0.2 < half < 0.8


def test_of_a_head_with_uniform_attention_there_is_nothing_to_explain() -> None:
    found = explained(planted(GRID, {"even": 1.0}, {"self": 1.0}), GRID)
    assert np.isnan(found["explained"][0, 0])
    assert found["explained_weight"][0, 0, 0] == pytest.approx(1)
    assert found["explained"][0, 1] == pytest.approx(1, abs=1e-3)


# Against slow sums over all rows, of texts that are so short that all their rows are looked at.


def is_held_out(text: Text, grid: HeadGrid) -> bool:
    """Whether weights are scored on the text: alone it gives none."""
    return bool(np.isnan(explained([text], grid)["explained_weight"]).all())


def distinct(texts: list[Text]) -> list[Text]:
    """Each text once: one that is scored already is not scored again."""
    return list({tuple(text.ids): text for text in texts}.values())


def short_texts(grid: HeadGrid) -> tuple[list[Text], list[Text]]:
    """Those that weights are fitted on, and those that they are scored on."""
    texts = distinct(random_texts(grid, [*range(2, ALL_FITTED + 1)] * 2 + [ALL_SCORED] * 20, seed=5))
    fitted = [text for text in texts if not is_held_out(text, grid)]
    scored = [text for text in texts if len(text) <= ALL_SCORED and is_held_out(text, grid)]
    assert len(fitted) > 5
    assert len(scored) > 5
    return fitted, scored


@pytest.mark.parametrize("grid", [encoder(2, 2), decoder(2, 2)], ids=["encoder", "decoder"])
def test_no_other_weights_are_nearer_to_the_texts_that_are_fitted_on(grid: HeadGrid) -> None:
    fitted, scored = short_texts(grid)
    found = explained([*fitted, *scored], grid, batch_size=7)["explained_weight"]
    for layer, head in np.ndindex(*grid.shape):
        weights = found[layer, head]
        gradient = np.zeros(len(NAMES))
        for text in fitted:
            rows = all_rows(text, grid)
            left = np.einsum("k,kqj->qj", weights, rows) - text.maps[layer, head].numpy()
            gradient += np.einsum("qj,kqj->k", left, rows) / len(text)
        # The error is convex: nothing is gained on the way to any template.
        assert (gradient - gradient @ weights > -1e-4).all()
        assert weights.min() >= 0
        assert weights.sum() == pytest.approx(1)


def mean_attention(texts: list[Text], layer: int, head: int) -> dict[tuple[str, int], float]:
    """By class of the key and offset, over all queries of each text, which all count alike."""
    sums: dict[tuple[str, int], list[float]] = {}
    for text in texts:
        for query, key in np.ndindex(len(text), len(text)):
            total = sums.setdefault((class_of(text, key), key - query), [0.0, 0.0])
            total[0] += float(text.maps[layer, head, query, key]) / len(text)
            total[1] += 1 / len(text)
    return {where: mass / keys for where, (mass, keys) in sums.items()}


def class_of(text: Text, key: int) -> str:
    return text.token_class[key].replace("comma", "period")


@pytest.mark.parametrize("grid", [encoder(2, 2), decoder(2, 2)], ids=["encoder", "decoder"])
def test_shares_are_those_of_all_rows_of_the_texts_that_are_held_out(grid: HeadGrid) -> None:
    fitted, scored = short_texts(grid)
    found = explained([*fitted, *scored], grid, batch_size=7)
    for layer, head in np.ndindex(*grid.shape):
        weights = found["explained_weight"][layer, head]
        means = mean_attention(fitted, layer, head)
        left = np.zeros(4)  # of the mixture, of the control, of the ceiling, of uniform attention
        for text in scored:
            rows, others = all_rows(text, grid), all_rows(shifted(text), grid)
            for query in range(len(text)):
                visible = range(query + 1 if grid.causal else len(text))
                ceiling = np.zeros(len(text))
                for key in visible:
                    ceiling[key] = means.get((class_of(text, key), key - query), 0)
                if not ceiling.any():
                    ceiling = rows[0, query]
                candidates = (weights @ rows[:, query], weights @ others[:, query], ceiling, rows[0, query])
                attention = text.maps[layer, head, query].double().numpy()
                for number, candidate in enumerate(candidates):
                    left[number] += jensenshannon(attention, candidate) ** 2 / len(text)
        shares = 1 - left[:3] / left[3]
        for name, share in zip(("explained", "explained_control", "explained_ceiling"), shares, strict=True):
            assert found[name][layer, head] == pytest.approx(share, abs=1e-5), name


# Which texts are scored. In these texts a head has uniform attention everywhere but in one text, and so nothing that
# could be explained unless that text is scored.


def scored_texts(texts: list[Text], heads: int, **options: int) -> set[int]:
    """Of texts of four tokens each, which are scored; the same text twice has one number."""
    grid = encoder(1, heads)
    found = set()
    for first in range(0, len(texts), heads):
        telling = [replace(text, maps=torch.full((1, heads, 4, 4), 0.25)) for text in texts]
        for head, text in enumerate(telling[first : first + heads]):
            text.maps[0, head] = torch.eye(4)
        shares = explained(telling, grid, **options)["explained"][0]
        found |= {first + int(head) for head in np.flatnonzero(~np.isnan(shares))}
    return found


def distinct_texts(count: int) -> list[Text]:
    return distinct(random_texts(encoder(1, 1), [4] * 30 * count, specials=False))[:count]


@pytest.mark.parametrize(("heads", "most"), [(128, 128), (256, 64), (1024, 16)])
def test_so_many_texts_are_scored_and_of_large_stacks_fewer(heads: int, most: int) -> None:
    texts = distinct_texts(3 * most)
    assert len(texts) == 3 * most
    assert len(scored_texts(texts, heads)) == most


def test_the_same_texts_are_scored_in_any_order_and_however_often_they_come() -> None:
    texts = distinct_texts(50)
    expected = scored_texts(texts, 1024, batch_size=9)
    assert len(expected) == 16
    back = scored_texts(texts[::-1], 1024, batch_size=50)
    assert {len(texts) - 1 - number for number in back} == expected
    twice = scored_texts([*texts, *texts], 1024, batch_size=20)
    assert {number % len(texts) for number in twice} == expected


def test_parts_in_any_order_score_the_same_texts() -> None:
    texts = random_texts(encoder(1, 1024), [4] * 50, specials=False)
    expected = explained(texts, encoder(1, 1024))["explained"]
    for order in ((texts[:7], texts[7:]), (texts[7:], texts[:7])):
        first, second = (measured("explained", part, encoder(1, 1024)) for part in order)
        first.merge(second)
        np.testing.assert_allclose(first.result()["explained"].values, expected, atol=1e-9)


def test_the_worked_example_of_the_docs() -> None:
    even, own = np.full(3, 1 / 3), np.array([0.3, 0.7, 0])
    templates = {"offset_-1": ([1.0, 0, 0], [0, 1.0, 0]), "first_token": ([1.0, 0, 0], [1.0, 0, 0])}
    rows = np.array([np.concatenate(pair) for pair in templates.values()])
    target = np.concatenate([[1.0, 0, 0], own])
    np.testing.assert_allclose(mixture_weights(rows @ rows.T, rows @ target), [0.7, 0.3], atol=1e-3)
    page = (Path(__file__).parents[2] / "docs" / "measures" / "explained.md").read_text(encoding="utf-8")
    for other in (np.array([0, 1.0, 0]), even):
        assert f"{jensenshannon(own, other) ** 2:.4f}" in page
