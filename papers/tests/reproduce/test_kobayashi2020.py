"""Kobayashi et al. 2020: lengths and correlations by hand, all of it from an atlas again, and models that show none."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from tests.contract.measures import GRIDS
from tests.helpers.attention import batches, random_texts
from tests.helpers.tiny import tiny
from tests.seams import measured

import headscope as hs
from headscope.errors import OptionError
from headscope.text.corpus import as_corpus
from headscope.types import ROLES
from headscope_papers.reproduce import kobayashi2020
from headscope_papers.reproduce.kobayashi.lengths import FetchedLengths, rank_correlation, shuffled_places

TEXTS = ["The cat sat on the mat. It was red, and the dog saw it.", "A dog! The blue house. The cat."] * 3
LENGTHS = [9, 5, 12]


@pytest.mark.parametrize("name", ["encoder", "decoder"])
def test_lengths_and_correlations_are_those_of_a_loop(name: str) -> None:
    grid = GRIDS[name]
    texts = random_texts(grid, LENGTHS)
    layers = batches(grid, texts, extra=2)
    found = {
        key: array.values for key, array in measured(FetchedLengths, texts, grid, padding=2).result().items()
    }
    for layer, head in np.ndindex(grid.layers, grid.heads):
        batch = layers[layer]
        lengths: dict[int, list[float]] = {role: [] for role in range(len(ROLES))}
        correlations = []
        assert batch.carried is not None
        for text, count in enumerate(LENGTHS):
            own = batch.carried.fetched[text, head, :count].double().numpy()
            roles = batch.keys.role[text, :count].numpy()
            for role in set(roles.tolist()):
                lengths[role].append(own[roles == role].mean() / own.mean())
            weights = batch.attention[text, head, :count, :count].double().numpy()
            received = [
                weights[:, key].sum() / (count - key if grid.causal else count) for key in range(count)
            ]
            correlations.append(stats.spearmanr(received, own).statistic)
        np.testing.assert_allclose(
            found["fetched_correlation"][layer, head], np.mean(correlations), atol=1e-6
        )
        for role, values in lengths.items():
            if values:
                expected = np.mean(values)
                np.testing.assert_allclose(found["fetched_length"][layer, head, role], expected, rtol=1e-4)
    np.testing.assert_allclose(found["fetched_shuffled"].sum(-1), 1, atol=1e-5)


def test_lengths_are_dealt_out_to_the_same_texts_keys() -> None:
    grid = GRIDS["encoder"]
    tokens = batches(grid, random_texts(grid, LENGTHS), extra=2)[0].keys
    places = shuffled_places(tokens)
    for text, count in enumerate(LENGTHS):
        assert sorted(places[text, :count].tolist()) == list(range(count))
        assert places[text, :count].tolist() != list(range(count))
    line = torch.arange(14.0).expand(3, 1, 14)
    torch.testing.assert_close(rank_correlation(line, line, tokens), torch.ones(3, 1, dtype=torch.float64))
    torch.testing.assert_close(rank_correlation(line, -line, tokens), -torch.ones(3, 1, dtype=torch.float64))


def shown(result: Any) -> list[tuple[str, Any]]:
    return [(row.quantity, row.ours) for section in result.sections for row in section.rows]


def test_a_model_and_its_atlas_say_the_same() -> None:
    result = kobayashi2020(tiny("bert"), text=as_corpus(TEXTS), max_length=32)
    rows = dict(shown(result))
    atlas = result.atlas
    for role, name in (("cls", "[CLS]"), ("sep", "[SEP]")):
        place = {"query_role": "all", "role": role}
        for measure, words in (("role_attention", "looked at"), ("role_attention_moved", "taken from")):
            mean = float(atlas[measure].sel(place).mean())
            assert rows[f"{words} {name}"].value == pytest.approx(mean)
    assert rows["correlation of weight and length"].value == pytest.approx(
        float(atlas["fetched_correlation"].mean())
    )
    assert shown(kobayashi2020(atlas)) == shown(result)
    [shares, vectors] = result.sections
    assert len(shares.drawings) == 8
    assert len(vectors.drawings) == 1


def test_what_has_no_values_is_refused_and_an_older_atlas_has_no_lengths() -> None:
    with pytest.raises(OptionError, match="does not say what heads move"):
        kobayashi2020(tiny("xlnet"), text=as_corpus(TEXTS), max_length=32)
    atlas = hs.analyze(tiny("bert"), TEXTS, measures=["role_attention"], max_length=32, sentences=0)
    _, vectors = kobayashi2020(atlas).sections
    assert "needs --text FILE" in vectors.needs
