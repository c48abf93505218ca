"""Loudness against vectors written out one by one."""

from dataclasses import replace

import numpy as np
import torch
from tests.helpers.attention import batches, random_texts

from headscope.measures import Loudness
from headscope.types import HeadGrid

GRID = HeadGrid("encoder", 2, 3, causal=False)
ONE = HeadGrid("encoder", 1, 3, causal=False)


def test_against_every_vector_by_itself() -> None:
    texts = random_texts(GRID, [21, 8, 2])
    state = Loudness.empty(GRID)
    expected: dict[str, list[np.ndarray]] = {"loudness": [], "loudness_residual": [], "constancy": []}
    layers = batches(GRID, texts, extra=3)
    for batch in layers:
        state.update(batch)
    for number, text in enumerate(texts):
        cells = {name: np.zeros((2, 3)) for name in expected}
        for layer, batch in enumerate(layers):
            carried = batch.carried
            assert carried is not None
            for head in range(3):
                given = [
                    (carried.output[number, i, head] @ carried.root[head]).numpy() for i in range(len(text))
                ]
                lengths = [np.linalg.norm(vector) for vector in given]
                stream = [np.linalg.norm(carried.stream[number, i]) for i in range(len(text))]  # type: ignore[index]
                cells["loudness"][layer, head] = np.mean(lengths)
                cells["loudness_residual"][layer, head] = np.mean(np.array(lengths) / stream)
                together = np.linalg.norm(np.mean(given, axis=0))
                cells["constancy"][layer, head] = together / np.sqrt(np.mean(np.square(lengths)))
        cells["loudness"] /= cells["loudness"].sum(1, keepdims=True)
        for name, values in cells.items():
            expected[name].append(values)
    result = state.result()
    for name, values in expected.items():
        np.testing.assert_allclose(result[name].values, np.mean(values, axis=0), rtol=1e-4, err_msg=name)
        error = np.std(values, axis=0, ddof=1) / np.sqrt(3)
        np.testing.assert_allclose(result[f"{name}_stderr"].values, error, rtol=1e-3, err_msg=name)


def test_the_same_vector_for_every_query_is_a_constant() -> None:
    batch = batches(ONE, random_texts(ONE, [12]))[0]
    assert batch.carried is not None
    output = batch.carried.output.clone()
    output[:, :, 0] = torch.tensor([1.0, 2.0, 3.0])
    output[:, ::2, 1], output[:, 1::2, 1] = 1.0, -1.0
    state = Loudness.empty(ONE)
    state.update(replace(batch, carried=replace(batch.carried, output=output)))
    constancy = state.result()["constancy"].values[0]
    assert abs(constancy[0] - 1) < 1e-6
    assert constancy[1] < 1e-6


def test_a_silent_layer_has_no_share_and_an_unseen_stream_no_ratio() -> None:
    batch = batches(ONE, random_texts(ONE, [12]))[0]
    assert batch.carried is not None
    silent = replace(batch.carried, output=torch.zeros_like(batch.carried.output), stream=None)
    state = Loudness.empty(ONE)
    state.update(replace(batch, carried=silent))
    for name in ("loudness", "loudness_residual", "constancy"):
        assert np.isnan(state.result()[name].values).all(), name
