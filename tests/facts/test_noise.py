"""Random weights do nothing: of such models nothing is found, whatever their heads happen to differ by."""

import pytest
import torch
import transformers
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.facts.headlines import headlines

SIZES = {
    "bert": {"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 64},
    "gpt2": {
        "n_embd": 64,
        "n_layer": 3,
        "n_head": 4,
        "n_positions": 128,
        "bos_token_id": 0,
        "eos_token_id": 0,
    },
    "t5": {
        "d_model": 64,
        "d_kv": 16,
        "d_ff": 64,
        "num_layers": 2,
        "num_heads": 4,
        "decoder_start_token_id": 0,
    },
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("family", SIZES)
def test_no_positive_finding(family: str, seed: int) -> None:
    known = tiny(family)
    torch.manual_seed(seed)
    config = transformers.AutoConfig.for_model(family, vocab_size=len(known.tokenizer), **SIZES[family])
    model = hs.wrap(transformers.AutoModel.from_config(config).eval(), known.tokenizer)
    texts = hs.read_text(hs.sample_path("articles"))
    found = hs.analyze(model, texts, limit=16, max_length=64, sentences=0).findings()
    assert len(found) > 10
    assert {finding.verdict for finding in found} == {"unclear"}, [
        finding.text for finding in found if finding.verdict != "unclear"
    ]
    assert not headlines(found)
