"""While it is looked at what a network itself does, nobody who edits it is asked."""

import torch
from tests.helpers.tiny import tiny
from torch import nn

from headscope.trace.observe import intercepting, without_edits

IDS = torch.tensor([[2, 5, 6, 7, 3]])


def test_who_edits_is_not_asked_inside_and_is_asked_again_afterwards() -> None:
    network = tiny("bert").network
    asked: list[nn.Module] = []

    with intercepting(network, asked.append, edit="an edit that changes nothing"):
        with without_edits():
            network(IDS)
        assert asked == []
        network(IDS)
    assert len(asked) == 3  # the layers
