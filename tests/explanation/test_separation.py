"""AUCs against scikit-learn, and which keys are held against which."""

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from tests.explanation.slow import products, random_scores

from headscope.explanation.separation import Contrast, Side, contrasts, neuron_areas, score_area
from headscope.types import CLS, OTHER, SEP


def side() -> Side:
    role = torch.tensor([CLS, OTHER, OTHER, SEP, OTHER, SEP])
    segment = torch.tensor([-1, 0, 0, -1, 1, -1])
    return Side(role, segment, torch.tensor([-1, 0, 1, -1, 2, -1]))


def slow_area(values: np.ndarray, contrast: Contrast) -> float:
    found = []
    for row, positive, negative in zip(values, contrast.positive, contrast.negative, strict=True):
        if positive.any() and negative.any():
            used = (positive | negative).numpy()
            found.append(roc_auc_score(positive.numpy()[used], row[used]))
    return float(np.mean(found))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_areas_are_those_of_scikit_learn(causal: bool, bias: bool) -> None:
    text = random_scores(queries=9, causal=causal, bias=bias)
    role = torch.tensor([CLS, OTHER, OTHER, OTHER, SEP, OTHER, OTHER, OTHER, SEP])
    segment = torch.tensor([-1, 0, 0, 0, -1, 1, 1, 1, -1])
    tokens = Side(role, segment, torch.tensor([-1, 0, 0, 1, -1, 2, 2, 3, -1]))
    for name, contrast in contrasts(tokens, tokens, text.visible, cross=False).items():
        neurons, whole = neuron_areas(text, contrast), score_area(text, contrast)
        for head in range(2):
            values = products(text, head)
            assert float(whole[head]) == pytest.approx(slow_area(values.sum(-1), contrast)), name
            for m in range(5):
                assert float(neurons[head, m]) == pytest.approx(slow_area(values[..., m], contrast)), name


def test_which_keys_are_held_against_which() -> None:
    found = contrasts(side(), side(), torch.ones(6, 6, dtype=torch.bool), cross=False)
    segment, sentence, separator = (found[name] for name in ("segment", "sentence", "sep"))
    assert segment.positive.nonzero().tolist() == [[1, 2], [2, 1]]  # no token with itself
    assert segment.negative.nonzero().tolist() == [[1, 4], [2, 4], [4, 1], [4, 2]]
    assert not sentence.positive.any()
    assert sentence.negative[1].nonzero().flatten().tolist() == [2, 4]
    assert separator.positive[0].nonzero().flatten().tolist() == [3, 5]
    assert separator.negative[0].nonzero().flatten().tolist() == [0, 1, 2, 4]
    assert segment.asks.tolist() == [False, True, True, False, False, False]
    assert list(contrasts(side(), side(), torch.ones(6, 6, dtype=torch.bool), cross=True)) == ["sep"]


def test_what_a_query_cannot_see_is_not_compared() -> None:
    found = contrasts(side(), side(), torch.ones(6, 6, dtype=torch.bool).tril(), cross=False)
    assert not (found["sep"].positive | found["sep"].negative).triu(1).any()
