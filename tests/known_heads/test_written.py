"""Copying and copy suppression: made by hand, and none in random weights."""

import numpy as np
import pytest
import torch
from tests.helpers.tiny import WORDS, tiny
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel

import headscope as hs
from headscope.known_heads import KnownResult
from headscope.models import Model, wrap
from headscope.trace import surveyed
from headscope.writing.readout import StraightPaths
from headscope.writing.weights import head_matrices

TOKENS = 260  # the bytes and the end of text
WIDTH = 264


def built(write: Tensor) -> Model:
    """A decoder of one layer and two heads without a feed-forward part; tokens are unit vectors, head 0 writes.

    `write` (token, token) is what head 0 adds to scores for each token that it sees; head 1 adds nothing and looks
    evenly. Head 0 looks at equal tokens, itself among them.
    """
    tokenizer = tiny("gpt2").tokenizer
    config = GPT2Config(
        vocab_size=TOKENS,
        n_embd=2 * WIDTH,
        n_head=2,
        n_layer=1,
        n_positions=64,
        n_inner=1,
        bos_token_id=0,
        eos_token_id=0,
        tie_word_embeddings=False,
        attn_pdrop=0.0,
    )
    network = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        for norm in (network.transformer.h[0].ln_1, network.transformer.h[0].ln_2, network.transformer.ln_f):
            norm.weight.fill_(1.0)
        network.transformer.wte.weight[:, :TOKENS] = torch.eye(TOKENS)
        network.lm_head.weight[:, WIDTH : WIDTH + TOKENS] = torch.eye(TOKENS)
        attention = network.transformer.h[0].attn
        for part in range(3):  # queries, keys, values of head 0
            columns = 2 * WIDTH * part
            attention.c_attn.weight[:TOKENS, columns : columns + TOKENS] = torch.eye(TOKENS)
        attention.c_proj.weight[:TOKENS, WIDTH : WIDTH + TOKENS] = write
    return wrap(network, tokenizer, name="built")


def known(write: Tensor) -> dict[str, dict[str, object]]:
    result = hs.known(built(write), made=8, length=10)
    return {str(row["kind"]): row for row in result.rows()}


@pytest.mark.parametrize(("sign", "kind", "other"), [(1, "copying", "copy_suppression"),
                                                     (-1, "copy_suppression", "copying")])  # fmt: skip
def test_an_output_that_copies_or_suppresses_is_named(sign: int, kind: str, other: str) -> None:
    rows = known(sign * 20 * torch.eye(TOKENS))
    assert rows[kind]["heads"] == ["0.0"]
    assert rows[kind]["verdict"] == "above"
    assert rows[kind]["logits"] > rows[kind]["control"] >= 0
    assert rows[other]["heads"] == []


@pytest.mark.parametrize("seed", range(5))
def test_random_weights_write_no_known_kind(seed: int) -> None:
    core = tiny("gpt2")
    torch.manual_seed(seed)
    network = GPT2LMHeadModel(core.config).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    model = wrap(network, core.tokenizer, name="random")
    texts = [" ".join(np.random.default_rng(10 * seed + n).choice(WORDS, 12)) for n in range(12)]
    result = hs.known(model, texts, made=12, length=10, max_length=48, seed=seed)
    written = [row for row in result.rows() if str(row["kind"]).startswith("cop")]
    assert len(written) == 4
    assert [row["kind"] for row in written if row["heads"]] == []


def test_copying_is_the_direct_effect_by_hand() -> None:
    """The array holds, text by text, what the head's output at a position adds to the token it looks at most."""
    model = hs.with_head("demo-lm", "next-token")
    texts = hs.read_text(hs.sample_path("articles"))
    both = hs.known(model, texts, made=2, length=4, limit=4), hs.writes(model, texts, limit=4)
    kind = both[0].arrays()["decoder"]["known_heads"]
    at = list(kind.coords["kind"]).index("copying_in_text")
    effect = both[1].arrays()["decoder"]["direct_effect"].values[0]
    np.testing.assert_allclose(kind.values[at][11], effect[11], atol=1e-5)
    below = list(kind.coords["kind"]).index("copy_suppression_in_text")
    np.testing.assert_allclose(kind.values[below], -kind.values[at], atol=1e-6)


def test_loudness_is_the_length_of_what_heads_add() -> None:
    result = hs.known(built(20 * torch.eye(TOKENS)), made=4, length=6)
    assert result.loudness is not None
    np.testing.assert_allclose(result.loudness, [[2, 0]], atol=1e-6)
    sink = next(row for row in result.rows() if row["kind"] == "sink")
    assert sink["loudness"] in (pytest.approx(2), pytest.approx(0))


def test_models_without_a_straight_path_say_why() -> None:
    result = hs.known(tiny("gemma2"), made=4, length=6)
    assert not {row["kind"] for row in result.rows()} & {"copying", "copy_suppression"}
    assert any("left out" in note and "next-token head" in note for note in result.source.notes)


def shown(result: KnownResult) -> str:
    return " ".join(str(finding) for finding in hs.findings(result.to_atlas()))


def test_logits_are_told_as_logits() -> None:
    said = shown(hs.known(built(20 * torch.eye(TOKENS)), made=8, length=10))
    assert "logits more than its control" in said
    assert "Head 0.0 raises the token it looks at, a copying head: " in said


def test_matrices_of_the_built_model_are_as_built() -> None:
    capture = surveyed(built(torch.eye(TOKENS)))
    [layer] = head_matrices(StraightPaths.of(capture)).values()
    assert isinstance(capture.model.network.get_input_embeddings(), nn.Embedding)
    assert float(layer.value[1].abs().max()) == 0
