"""Means of a number, of its control, and of their difference, over the texts that have a case."""

import numpy as np
import torch

from headscope.passes.controlled import ControlledMean
from headscope.types import HeadGrid


def test_the_difference_is_that_of_number_and_control_text_by_text() -> None:
    rng = np.random.default_rng(0)
    value, control = rng.random((2, 2, 5, 3))  # (layer, text, head) each
    has_case = np.array([True, True, False, True, True])
    seen = ControlledMean.zeros(HeadGrid("encoder", 2, 3, causal=False))
    for layer in range(2):
        for part in (slice(0, 2), slice(2, 5)):
            numbers = torch.tensor(value[layer, part]), torch.tensor(control[layer, part])
            seen.add(layer, *numbers, torch.tensor(has_case[part, None]))
    own, beside = value[:, has_case], control[:, has_case]
    assert seen.texts == 4
    np.testing.assert_allclose(seen.value.mean(), own.mean(1))
    np.testing.assert_allclose(seen.control.mean(), beside.mean(1))
    np.testing.assert_allclose(seen.difference.mean(), (own - beside).mean(1))
    np.testing.assert_allclose(seen.difference.stderr(), (own - beside).std(1, ddof=1) / 2)
