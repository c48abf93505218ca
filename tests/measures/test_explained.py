"""Explained: planted mixtures come out whole, controls and ceiling stand where they must."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon
from tests.helpers.attention import Text, batches, measured, random_texts, token_batch

from headscope.measures import Explained
from headscope.measures import explained as module
from headscope.measures.folds import mixed_ids
from headscope.measures.mixture import mixture_weights
from headscope.measures.template_sums import SCORED_QUERIES
from headscope.measures.templates import TEMPLATES, sampled_queries, shifted, template_rows
from headscope.types import HeadGrid

GRID = HeadGrid("encoder", 1, 2, causal=False)
CAUSAL = HeadGrid("decoder", 1, 2, causal=True)
LENGTHS = [11, 14, 17, 20, 23, 26, 12, 15, 18, 21, 24, 27]


def all_rows(text: Text, grid: HeadGrid) -> torch.Tensor:
    """(template, query, key) of one text."""
    tokens = token_batch([text])
    return template_rows(tokens, torch.arange(len(text))[None], causal=grid.causal)[0]


def planted(grid: HeadGrid, *heads: dict[str, float], seed: int = 0) -> list[Text]:
    """Texts in which each head is a mixture of templates."""
    texts = []
    for text in random_texts(grid, LENGTHS, seed=seed):
        rows = all_rows(text, grid)
        maps = [sum(share * rows[TEMPLATES.index(name)] for name, share in head.items()) for head in heads]
        texts.append(replace(text, maps=torch.stack(maps)[None].float()))
    return texts


def explained(grid: HeadGrid, texts: list[Text]) -> dict[str, np.ndarray]:
    state = measured(Explained, grid, [texts[:5], texts[5:]])
    return {name: array.values[0] for name, array in state.result().items()}


@pytest.mark.parametrize("grid", [GRID, CAUSAL], ids=["encoder", "decoder"])
def test_a_planted_mixture_comes_out_whole(grid: HeadGrid) -> None:
    """The known answer: 0.7 previous and 0.3 first gives these weights, and all is explained."""
    texts = planted(grid, {"offset_-1": 0.7, "first_token": 0.3}, {"same_word": 0.5, "delimiters": 0.5})
    found = explained(grid, texts)
    weights = [dict(zip(TEMPLATES, row.tolist(), strict=True)) for row in found["explained_weight"]]
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
    """Each query of random attention looks somewhere else: names say hardly more than even attention."""
    found = explained(GRID, random_texts(GRID, LENGTHS, seed=3))
    assert (found["explained"] < 0.2).all()
    assert (found["explained_stderr"] > 0).all()


def test_half_a_name_explains_a_part() -> None:
    texts = planted(GRID, {"offset_-1": 1.0}, {"offset_-1": 1.0})
    for text, other in zip(texts, random_texts(GRID, LENGTHS, seed=8), strict=True):
        text.maps[:, 1] = (text.maps[:, 1] + other.maps[:, 1]) / 2
    whole, half = explained(GRID, texts)["explained"]
    assert whole == pytest.approx(1, abs=1e-3)
    assert 0.2 < half < 0.8


def test_a_head_that_looks_evenly_has_nothing_to_explain() -> None:
    found = explained(GRID, planted(GRID, {"even": 1.0}, {"self": 1.0}))
    assert np.isnan(found["explained"][0])
    assert found["explained_weight"][0][0] == pytest.approx(1)
    assert found["explained"][1] == pytest.approx(1, abs=1e-3)


def test_the_share_is_that_of_a_slow_look() -> None:
    texts = random_texts(GRID, LENGTHS, seed=5)
    state = measured(Explained, GRID, [texts])
    weights = state.result()["explained_weight"].values[0]
    left = np.zeros((2, 2))  # (mixture or even, head)
    for text in texts:
        tokens = token_batch([text])
        if int(tokens.derive(mixed_ids)) not in state.sample.texts:
            continue
        places = sampled_queries(tokens, SCORED_QUERIES)[0][0].tolist()
        rows = all_rows(text, GRID).numpy()
        for head in range(2):
            for place in places:
                own = text.maps[0, head, place].double().numpy()
                mixed = np.einsum("k,kj->j", weights[head], rows[:, place])
                for number, other in enumerate((mixed, rows[0, place])):
                    left[number, head] += jensenshannon(own, other) ** 2 / len(places)
    np.testing.assert_allclose(state.result()["explained"].values[0], 1 - left[0] / left[1], atol=1e-6)


def test_the_sample_is_bounded_and_the_same_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SCORED_TEXTS", 3)
    texts = random_texts(GRID, LENGTHS)
    forth = measured(Explained, GRID, [[text] for text in texts])
    back = measured(Explained, GRID, [texts[6:], texts[:6]])
    assert list(forth.sample.texts) == list(back.sample.texts)
    assert len(forth.sample.texts) == 3
    twice = measured(Explained, GRID, [texts, texts])  # the same text again is no other text
    assert list(twice.sample.texts) == list(forth.sample.texts)


def test_a_text_that_is_kept_already_is_not_looked_at_again() -> None:
    texts = random_texts(GRID, LENGTHS)
    counted, (batch,) = measured(Explained, GRID, [texts]), batches(GRID, texts)
    again = Explained.empty(GRID)
    again.after(counted)
    assert len(again.wanted(batch.queries, batch.keys, moved=False)) == 1  # what weights are fitted on
    fresh = Explained.empty(GRID)
    assert len(fresh.wanted(batch.queries, batch.keys, moved=False)) == 2
    again.update(batch)
    assert again.sample.texts == {}
    held = dict(counted.sample.texts)
    counted.merge(measured(Explained, GRID, [texts]))
    assert counted.sample.texts == held  # what came first stays


def test_large_models_keep_fewer_texts() -> None:
    sizes = {8: 128, 128: 128, 256: 64, 4096: 16}
    for heads, texts in sizes.items():
        assert Explained.empty(HeadGrid("encoder", 1, heads, causal=False)).sample.most == texts


def test_rows_add_up_to_one_and_see_nothing_they_should_not() -> None:
    texts = random_texts(CAUSAL, [9, 13])
    tokens = token_batch(texts, extra=4)
    places, real = sampled_queries(tokens, 20)
    assert real.sum(-1).tolist() == [9, 13]
    rows = template_rows(tokens, places, causal=True)
    key = torch.arange(rows.shape[-1])
    ahead = (key > places[..., None]) | ~tokens.is_token[:, None]
    assert (rows * ahead[:, None])[real[:, None].expand_as(rows[..., 0])].abs().max() == 0
    np.testing.assert_allclose(rows.sum(-1)[real[:, None].expand_as(rows[..., 0])], 1)


def test_another_text_of_the_same_length_keeps_its_ends() -> None:
    tokens = token_batch(random_texts(GRID, [9, 12]), extra=2)
    other = shifted(tokens)
    for text, length in enumerate((9, 12)):
        before, after = tokens.ids[text].tolist(), other.ids[text].tolist()
        assert (after[0], after[length - 1]) == (before[0], before[length - 1])
        assert sorted(after[:length]) == sorted(before[:length])
        by = (length - 2 + 2) // 3
        assert after[1] == before[1 + by]


def test_the_worked_example_of_the_docs() -> None:
    even, own = np.full(3, 1 / 3), np.array([0.3, 0.7, 0])
    templates = {"offset_-1": ([1.0, 0, 0], [0, 1.0, 0]), "first_token": ([1.0, 0, 0], [1.0, 0, 0])}
    rows = np.array([np.concatenate(pair) for pair in templates.values()])
    target = np.concatenate([[1.0, 0, 0], own])
    np.testing.assert_allclose(mixture_weights(rows @ rows.T, rows @ target), [0.7, 0.3], atol=1e-3)
    page = (Path(__file__).parents[2] / "docs" / "measures" / "explained.md").read_text(encoding="utf-8")
    for other in (np.array([0, 1.0, 0]), even):
        assert f"{jensenshannon(own, other) ** 2:.4f}" in page
