"""A diagonal is followed where it is brighter than the diagonals two and three places beside it, on average."""

import torch

from headscope.kinds.pattern_maps import REACH
from headscope.kinds.pattern_numbers import _lines


def test_what_lies_beside_a_diagonal_is_the_mean_of_four() -> None:
    band = torch.arange(2.0 * REACH + 1).square().expand(1, 1, -1)  # (map, query, offset)
    on, beside = _lines(band)
    offsets = torch.arange(on.shape[-1]) + 3  # places in the band
    assert torch.equal(on[0, 0], offsets.square().float())
    expected = torch.stack([(offsets + side).square() for side in (-3, -2, 2, 3)]).float().mean(0)
    assert torch.equal(beside[0, 0], expected)
