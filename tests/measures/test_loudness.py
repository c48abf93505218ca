"""Loudness against vectors written out one by one."""

from dataclasses import replace

import numpy as np
import torch
from tests.helpers.attention import Text, encoder, random_texts
from tests.seams import measured

GRID = encoder(2, 3)
ONE = encoder(1, 3)
NAMES = ("loudness", "loudness_residual", "constancy")


def reference(text: Text) -> dict[str, np.ndarray]:
    """(layer, head) each, from the vector that every query is given."""
    assert text.vectors is not None
    assert text.residual is not None
    layers, heads = text.maps.shape[:2]
    cells = {name: np.zeros((layers, heads)) for name in NAMES}
    for layer, head in np.ndindex(layers, heads):
        given = [
            sum(
                weight * vector for weight, vector in zip(row, text.vectors[layer, head].numpy(), strict=True)
            )
            for row in text.maps[layer, head].numpy()
        ]
        lengths = [np.linalg.norm(vector) for vector in given]
        stream = [np.linalg.norm(vector) for vector in text.residual[layer].numpy()]
        cells["loudness"][layer, head] = np.mean(lengths)
        cells["loudness_residual"][layer, head] = np.mean(np.array(lengths) / stream)
        together = np.linalg.norm(np.mean(given, axis=0))
        cells["constancy"][layer, head] = together / np.sqrt(np.mean(np.square(lengths)))
    cells["loudness"] /= cells["loudness"].sum(1, keepdims=True)
    return cells


def test_against_every_vector_by_itself() -> None:
    texts = random_texts(GRID, [21, 8, 2])
    result = measured("loudness", texts, GRID, padding=3).result()
    by_text = [reference(text) for text in texts]
    for name in NAMES:
        values = [cells[name] for cells in by_text]
        np.testing.assert_allclose(result[name].values, np.mean(values, axis=0), rtol=1e-4, err_msg=name)
        error = np.std(values, axis=0, ddof=1) / np.sqrt(3)
        np.testing.assert_allclose(result[f"{name}_stderr"].values, error, rtol=1e-3, err_msg=name)


def test_the_same_vector_for_every_query_is_a_constant() -> None:
    (text,) = random_texts(ONE, [12])
    assert text.vectors is not None
    text.vectors[0, 0] = torch.tensor([1.0, 2.0, 3.0])
    text.maps[0, 1] = torch.eye(
        12
    )  # each query is given a vector of its own: half of them 1, half of them -1
    text.vectors[0, 1, ::2], text.vectors[0, 1, 1::2] = 1.0, -1.0
    constancy = measured("loudness", [text], ONE).result()["constancy"].values[0]
    assert abs(constancy[0] - 1) < 1e-6
    assert constancy[1] < 1e-6


def test_a_silent_layer_has_no_share_and_an_unknown_residual_stream_no_ratio() -> None:
    (text,) = random_texts(ONE, [12])
    assert text.vectors is not None
    silent = replace(text, vectors=torch.zeros_like(text.vectors), residual=None)
    result = measured("loudness", [silent], ONE).result()
    for name in NAMES:
        assert np.isnan(result[name].values).all(), name
