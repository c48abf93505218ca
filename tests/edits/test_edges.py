"""One edge removed is what the layer gives when its weights are changed by hand; all else stays bit for bit."""

from copy import deepcopy

import torch
from tests.helpers.tiny import tiny
from torch import Tensor

from headscope.edits import Edge, without_edges
from headscope.models import wrap
from headscope.trace import AttentionCall, Forward, following, surveyed
from headscope.trace.architecture import Place
from headscope.types import HeadId

LAYER, HEAD = 2, 1


def by_hand(network: torch.nn.Module, ids: Tensor) -> Tensor:
    """The last layer of BERT with the weights from tokens 3 and 4 to token 2 at 0, in head 1 of the first text."""
    network.set_attn_implementation("eager")
    output = network(ids, output_attentions=True, output_hidden_states=True)
    network.set_attn_implementation("sdpa")
    hidden, weights = output.hidden_states[LAYER], output.attentions[LAYER].clone()
    for query in (3, 4):
        row = weights[0, HEAD, query].clone()
        row[2] = 0
        weights[0, HEAD, query] = row / row.sum()
    layer = network.encoder.layer[LAYER]
    texts, tokens, width = hidden.shape
    value = layer.attention.self.value(hidden).view(texts, tokens, 4, width // 4).transpose(1, 2)
    mixed = (weights @ value).transpose(1, 2).reshape(texts, tokens, width)
    attended = layer.attention.output(mixed, hidden)
    return layer.output(layer.intermediate(attended), attended)


def test_an_edge_removed_is_as_by_hand() -> None:
    model = wrap(deepcopy(tiny("bert").network), tiny("bert").tokenizer, name="tiny")
    ids = torch.randint(5, 60, (2, 8), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        attention = model.core.encoder.layer[LAYER].attention
        attention.self.value.weight.mul_(20)  # so that an edge matters
        attention.output.dense.weight.mul_(20)
        expected, plain = by_hand(model.core, ids), model.core(ids).last_hidden_state
        edge = Edge(0, "encoder", HeadId(LAYER, HEAD), (3, 4), (2,))
        with without_edges(surveyed(model), [edge]):
            edited = model.core(ids).last_hidden_state
    torch.testing.assert_close(edited, expected, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(edited[0, 3], plain[0, 3], atol=1e-4)
    torch.testing.assert_close(edited[1], plain[1], atol=1e-5, rtol=1e-5)


def test_other_heads_rows_and_texts_stay_as_they_are() -> None:
    model = tiny("bert")
    capture = surveyed(model)
    ids = torch.randint(5, 60, (2, 8), generator=torch.Generator().manual_seed(0))
    seen: list[Tensor] = []

    def see(place: Place, call: AttentionCall, forward: Forward) -> AttentionCall:
        seen.append(call.weights)
        return call

    place = Place("encoder", 0)
    with torch.no_grad(), following(capture, [place], see):
        model.core(ids)
        edges = [Edge(0, "encoder", HeadId(0, 1), (3,), (2, 5)), Edge(1, "encoder", HeadId(0, 3), (1,), (1,))]
        with without_edges(capture, edges):
            pass
    with torch.no_grad(), without_edges(capture, edges), following(capture, [place], see):
        model.core(ids)
    before, after = seen
    assert after[0, 1, 3, 2] == after[0, 1, 3, 5] == after[1, 3, 1, 1] == 0
    torch.testing.assert_close(after.sum(-1), torch.ones_like(after.sum(-1)))
    same = torch.ones_like(before, dtype=torch.bool)
    same[0, 1, 3] = same[1, 3, 1] = False
    assert torch.equal(before[same], after[same])
