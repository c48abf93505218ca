"""Embeddings are found, averaged and replaced; nothing stays behind, and nothing is silently left undone."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from tests.helpers.tiny import tiny
from torch import Tensor, nn

from headscope.errors import CaptureError
from headscope.explanation.embeddings import Table, TableMeans, averaging, find_tables, replacing
from headscope.text.batching import TextBatch
from headscope.text.items import TextPair
from headscope.trace import Capture, surveyed
from headscope.trace.watch import Watch

KINDS = {
    "bert": {
        "token": "word_embeddings",
        "position": "position_embeddings",
        "segment": "token_type_embeddings",
    },
    "albert": {
        "token": "word_embeddings",
        "position": "position_embeddings",
        "segment": "token_type_embeddings",
    },
    "distilbert": {"token": "word_embeddings", "position": "position_embeddings"},
    "gpt2": {"token": "wte", "position": "wpe"},
    "llama": {"token": "embed_tokens"},
}


def hooks(network: nn.Module) -> int:
    return sum(len(one._forward_hooks) + len(one._forward_pre_hooks) for one in network.modules())


def batch_of(capture: Capture) -> tuple[Watch, TextBatch]:
    watch = Watch(capture)
    texts = [TextPair("the cat sat on the mat", "it was red"), TextPair("a dog", "the cat")]
    return watch, watch.batch([watch.encoder(30).encode(text) for text in texts])


@pytest.mark.parametrize("architecture", KINDS)
def test_tables_are_found(architecture: str) -> None:
    capture = surveyed(tiny(architecture))
    names = {id(module): name for name, module in capture.model.core.named_modules()}
    before = hooks(capture.model.core)  # transformers leaves some behind where attention was asked for
    found = {table.kind: names[id(table.module)] for table in find_tables(capture)}
    assert {kind: name.rpartition(".")[2] for kind, name in found.items()} == KINDS[architecture]
    assert hooks(capture.model.core) == before


@pytest.mark.parametrize(
    ("architecture", "expected"),
    [
        ("t5", [("token", ("source",)), ("token", ("target",))]),
        (
            "bart",
            [
                ("position", ("source",)),
                ("position", ("target",)),
                ("token", ("source",)),
                ("token", ("target",)),
            ],
        ),
    ],
)
def test_encoder_decoders_have_tables_on_both_sides(
    architecture: str, expected: list[tuple[str, tuple[str, ...]]]
) -> None:
    found = find_tables(surveyed(tiny(architecture)))
    together = [(table.kind, (side,)) for table in found for side in table.sides]
    assert sorted(together) == expected


def test_means_are_over_the_tokens_that_were_seen_padding_left_out() -> None:
    capture = surveyed(tiny("bert"))
    watch, batch = batch_of(capture)
    tables = find_tables(capture)
    means = TableMeans.zeros(tables)
    with averaging(tables, means, batch):
        watch.run(batch, lambda stack, seen: None)
    embeddings = capture.model.core.embeddings
    total, places, count = np.zeros(32), np.zeros(32), 0
    for ids, real in zip(batch.source.ids, batch.source.is_token, strict=True):
        for place in range(int(real.sum())):
            total += embeddings.word_embeddings.weight[ids[place]].detach().numpy()
            places += embeddings.position_embeddings.weight[place].detach().numpy()
            count += 1
    by_kind = {table.kind: means.mean(number).numpy() for number, table in enumerate(tables)}
    assert by_kind["token"] == pytest.approx(total / count)
    assert by_kind["position"] == pytest.approx(places / count)


def maps(run: Callable[[Callable[..., None]], None]) -> Tensor:
    found = []
    run(lambda stack, seen: found.append(seen.attention))
    return torch.stack(found)


def test_replacing_is_the_same_as_a_network_whose_table_holds_the_mean() -> None:
    capture = surveyed(tiny("bert"))
    watch, batch = batch_of(capture)
    tables = find_tables(capture)
    means = TableMeans.zeros(tables)
    with averaging(tables, means, batch):
        watch.run(batch, lambda stack, seen: None)
    before = maps(lambda see: watch.run(batch, see))
    for number, table in enumerate(tables):
        with replacing(tables, means, [table.kind]):
            replaced = maps(lambda see: watch.run(batch, see))
        weight = table.module.weight
        kept = weight.detach().clone()
        with torch.no_grad():
            weight.copy_(means.mean(number).float().expand_as(weight))
            by_hand = maps(lambda see: watch.run(batch, see))
            weight.copy_(kept)
        assert torch.allclose(replaced, by_hand, atol=1e-6)
        assert not torch.allclose(replaced, before, atol=1e-3)
    assert torch.equal(maps(lambda see: watch.run(batch, see)), before)


def test_hooks_come_off_when_something_fails() -> None:
    capture = surveyed(tiny("bert"))
    tables = find_tables(capture)
    means = TableMeans.zeros(tables)
    for number in range(3):
        means.add(number, torch.ones(1, 1, 32), torch.ones(1, 1, dtype=torch.bool))
    before = hooks(capture.model.core)
    with pytest.raises(ZeroDivisionError), replacing(tables, means, ["token"]):
        raise ZeroDivisionError
    assert hooks(capture.model.core) == before


def test_a_replacement_that_did_not_happen_is_an_error() -> None:
    capture = surveyed(tiny("bert"))
    watch, batch = batch_of(capture)
    tables = (Table("token", nn.Embedding(3, 32), ("source",)),)
    means = TableMeans.zeros(tables)
    means.add(0, torch.ones(1, 1, 32), torch.ones(1, 1, dtype=torch.bool))
    never = pytest.raises(CaptureError, match="looked up 1 times in a forward pass, and were 0")
    with never, replacing(tables, means, ["token"]):
        watch.run(batch, lambda stack, seen: None)
    with pytest.raises(CaptureError, match="no table of segment"), replacing(tables, means, ["segment"]):
        pass
