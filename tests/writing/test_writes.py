"""What the heads of the demo decoder write, beside a slow loop over one text."""

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.trace import surveyed
from headscope.writing import WritesResult
from headscope.writing.readout import find_readout

TEXT = "The river flows past the old mill, and past the river mill the road goes on to the sea."


@pytest.fixture(scope="module")
def decoder() -> hs.Model:
    return hs.with_head("demo-lm", "next-token")


@pytest.fixture(scope="module")
def found(decoder: hs.Model) -> WritesResult:
    return hs.writes(decoder, hs.read_text(hs.sample_path("articles")), limit=16)


def test_effects_of_one_text_by_a_loop(decoder: hs.Model) -> None:
    result = hs.writes(decoder, [TEXT], max_length=64)
    arrays = result.arrays()["decoder"]
    ids = decoder.tokenizer(TEXT, return_tensors="pt")["input_ids"]
    kept: dict[int, torch.Tensor] = {}
    stream: list[torch.Tensor] = []
    hooks = [
        layer.self_attn.o_proj.register_forward_pre_hook(
            lambda module, args, at=at: kept.update({at: args[0][0]})
        )
        for at, layer in enumerate(decoder.network.model.layers)
    ]
    hooks.append(
        decoder.network.model.norm.register_forward_pre_hook(lambda module, args: stream.append(args[0][0]))
    )
    decoder.network.set_attn_implementation("eager")
    with torch.inference_mode():
        maps = decoder.network(ids, output_attentions=True).attentions
    decoder.network.set_attn_implementation("sdpa")
    for hook in hooks:
        hook.remove()
    unembedding = decoder.network.lm_head.weight.detach()
    centred = unembedding - unembedding.mean(0)
    length, norm = ids.shape[1], decoder.network.model.norm

    def effect(layer: int, head: int, place: int, token: int) -> float:
        columns = slice(32 * head, 32 * head + 32)
        matrix = decoder.network.model.layers[layer].self_attn.o_proj.weight.detach()[:, columns].T
        spread = (stream[0][place].square().mean() + norm.variance_epsilon).sqrt()
        added = kept[layer][place, columns] @ matrix / spread * norm.weight.detach()
        return float(added @ centred[token])

    for layer, head in ((4, 5), (11, 3), (0, 0)):
        sums: dict[str, list[tuple[float, float]]] = {"looked_at": [], "next": [], "current": []}
        for query in range(length):
            other = (query + length // 2) % length

            looked = int(maps[layer][0, head, query].argmax())
            tokens = {"next": int(ids[0, query + 1]) if query + 1 < length else None}
            tokens["current"] = int(ids[0, query]) if query else None  # the first is the start token
            tokens["looked_at"] = int(ids[0, looked]) if looked else None
            for name, token in tokens.items():
                if token is not None:
                    sums[name].append((effect(layer, head, query, token), effect(layer, head, other, token)))
        for at, name in enumerate(arrays["direct_effect"].coords["target"]):
            value, control = np.array(sums[str(name)]).mean(0) if sums[str(name)] else (np.nan, np.nan)
            assert arrays["direct_effect"].values[at, layer, head] == pytest.approx(
                value, abs=1e-4, nan_ok=True
            )
            assert arrays["direct_effect_control"].values[at, layer, head] == pytest.approx(
                control, abs=1e-4, nan_ok=True
            )


def test_the_known_circuit(found: WritesResult) -> None:
    arrays = found.arrays()["decoder"]
    copies = arrays["copying"].values
    assert copies[11, 3] == pytest.approx(0.99, abs=0.02)
    assert copies[1, 4] == pytest.approx(-0.9, abs=0.05)
    assert min(copies[4, head] for head in (2, 3, 4, 5, 6)) > 0.9  # the induction heads
    reads = arrays["composition"].values
    by_key = reads[1, 4, 5, 3]  # what 4.5 reads, as keys, of what layer 3 wrote
    assert set(np.argsort(by_key)[-2:]) == {2, 3}  # the previous-token heads
    assert by_key[3] > 3 * found.chance
    assert np.isnan(reads[:, 3, :, 4]).all()  # nobody reads what is written later


def test_tokens_are_raised_by_what_the_head_adds(found: WritesResult, decoder: hs.Model) -> None:
    raised, lowered = found.tokens("11.3", most=5)
    assert [token.effect for token in raised] == sorted((token.effect for token in raised), reverse=True)
    assert raised[0].effect > 0 > lowered[0].effect
    readout = find_readout(surveyed(decoder))
    mean = found.sums.written[11, 3].float() / found.sums.tokens
    token = decoder.tokenizer.encode(raised[0].token, add_special_tokens=False)
    assert float(readout.directions[token[0]] @ mean) == pytest.approx(raised[0].effect, rel=1e-3)


def test_a_row_names_a_head_only_for_what_it_does(found: WritesResult) -> None:
    rows = {row["effect"]: row for row in found.rows()}
    assert rows["copying"]["verdict"] == "above"
    assert all(row["head"] is None or row["logits"] > 0 for row in rows.values())


def test_into_the_atlas(found: WritesResult) -> None:
    atlas = found.to_atlas()
    assert atlas["direct_effect"].dims == ("target", "layer", "head")
    assert atlas["copying"].dims == ("layer", "head")
    assert atlas["composition"].sizes["read"] == 3
