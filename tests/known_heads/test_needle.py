"""Texts around a needle: the same seed draws the same ones."""

import torch
from tests.helpers.tiny import tiny

from headscope.known_heads.needle import Needle, draw
from headscope.trace import surveyed


def test_the_same_seed_draws_the_same_texts_and_another_seed_others() -> None:
    capture = surveyed(tiny("gpt2"))
    haystack = torch.arange(4, 204)

    def texts(seed: int) -> list[list[int]]:
        needle = Needle("it was", "red")
        drawn = draw(needle, haystack, capture, count=4, length=60, seed=seed)
        return [trial.ids.tolist() for trial in drawn]

    assert texts(1) == texts(1)
    assert texts(1) != texts(2)
