"""Generated tokens: their attention as they were made is that of prompt and output read as one text."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf
from tests.helpers.tasks import headed
from tests.helpers.tiny import sentencepiece_tokenizer, tiny, wordpiece_tokenizer

import headscope as hs
from headscope.errors import CaptureError, HeadscopeWarning, ModelError, OptionError, TextError
from headscope.generation import Generated
from headscope.models import Model, wrap
from headscope.trace import surveyed
from headscope.trace.architecture import Place

PROMPT = "the cat sat on the mat and the dog saw it"
SHAPE: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "intermediate_size": 48,
    "vocab_size": 128,
    "max_position_embeddings": 64,
    "eos_token_id": 1,
    "bos_token_id": 3,
    "pad_token_id": 0,
}
SLIDING = {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"], "sliding_window": 6}
NETWORKS: dict[str, Callable[[], Any]] = {
    "qwen3": lambda: tf.Qwen3ForCausalLM(tf.Qwen3Config(**SHAPE)),
    "mistral": lambda: tf.MistralForCausalLM(tf.MistralConfig(**SHAPE, sliding_window=6)),
    "gemma3": lambda: tf.Gemma3ForCausalLM(tf.Gemma3TextConfig(**SHAPE, **SLIDING)),
}


@cache
def writer(architecture: str) -> Model:
    if architecture in ("gpt2", "llama", "t5"):
        return headed(architecture, "lm")
    if architecture == "demo-lm":
        return hs.with_head("demo-lm", "next-token")
    torch.manual_seed(7)
    if architecture == "bart":
        network: Any = tf.BartForConditionalGeneration(tiny("bart").config)
        return wrap(_loud(network), wordpiece_tokenizer(), name="tiny-bart")
    return wrap(_loud(NETWORKS[architecture]()), sentencepiece_tokenizer(bos=True), name=architecture)


def _loud(network: Any) -> Any:
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() == 2:
                parameter.mul_(5)
    return network.eval()


def largest_difference(generated: Generated) -> float:
    """Between the maps as they were made and those of the whole text in one forward pass."""
    inputs = {"input_ids": torch.tensor([generated.encoded.source.ids])}
    if generated.encoded.target is not None:
        inputs["decoder_input_ids"] = torch.tensor([generated.encoded.target.ids])
    differences = []

    def see(place: Place, weights: torch.Tensor) -> None:
        mine, theirs = generated.maps[place], weights[0].numpy()
        assert mine.shape == theirs.shape
        differences.append(float(np.abs(mine - theirs).max()))

    surveyed(generated.model).run(inputs, see)
    assert len(differences) == len(generated.maps)
    return max(differences)


ARCHITECTURES = ["gpt2", "llama", "qwen3", "mistral", "gemma3", "t5", "bart", "demo-lm"]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_as_made_is_as_one_text(architecture: str) -> None:
    generated = hs.generate(writer(architecture), PROMPT, tokens=12)
    assert 1 <= sum(generated.generated) <= 12
    assert len(generated.ids) == generated.first + sum(generated.generated)
    assert largest_difference(generated) < 1e-5


@pytest.mark.parametrize("architecture", ["gpt2", "llama", "mistral", "gemma3", "t5"])
def test_greedy_is_what_transformers_writes(architecture: str) -> None:
    model = writer(architecture)
    generated = hs.generate(model, PROMPT, tokens=10, watch=False)
    network: Any = model.network
    source = torch.tensor([generated.encoded.source.ids])
    prompt = source if generated.encoded.target else source[:, : generated.first]
    expected = network.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=10, do_sample=False, pad_token_id=0
    )
    assert generated.ids == expected[0].tolist()
    assert not generated.maps
    with pytest.raises(OptionError, match="watch=True"):
        generated.attention()


def test_a_window_cuts_the_cache_and_rows_stay_where_they_are() -> None:
    generated = hs.generate(writer("mistral"), PROMPT, tokens=12)
    rows = generated.attention()[:, :, -1]  # (layer, head, key)
    assert rows[..., :-6].max() == 0
    np.testing.assert_allclose(rows.sum(-1), 1, atol=1e-5)


def test_edits_in_force_act_and_are_seen() -> None:
    model = writer("llama")
    plain = hs.generate(model, PROMPT, tokens=10)
    with hs.edit(model, "0.*, 1.*"):
        changed = hs.generate(model, PROMPT, tokens=10)
        assert changed.attention()[:2].max() == 0
        assert largest_difference(changed) < 1e-5
    assert changed.ids != plain.ids
    assert hs.generate(model, PROMPT, tokens=10).ids == plain.ids


def test_an_edit_is_never_lost_with_the_head_that_writes() -> None:
    model = hs.load("demo-lm")
    unused = pytest.warns(HeadscopeWarning, match="no forward pass")
    with unused, hs.edit(model, "4.2"), pytest.raises(ModelError, match="with_head"):
        hs.generate(model, PROMPT, tokens=2)


def test_chance_is_told_by_the_seed() -> None:
    def drawn(seed: int, temperature: float) -> list[int]:
        options: dict[str, Any] = {"tokens": 12, "watch": False, "seed": seed, "temperature": temperature}
        return hs.generate(writer("qwen3"), PROMPT, **options).ids

    assert drawn(1, 1.0) == drawn(1, 1.0)
    assert len({tuple(drawn(seed, 1.0)) for seed in range(4)}) > 1
    assert drawn(1, 1e-4) == drawn(2, 0.0)


def test_the_text_is_what_its_tokens_say() -> None:
    generated = hs.generate(
        "demo-lm", "The old doctor lost a silver letter. The old doctor lost a silver", tokens=3
    )
    assert generated.output.startswith(" letter")
    assert generated.text == generated.prompt + generated.output
    surfaces = [generated.text[start:end] for start, end in generated.spans]
    assert "".join(surfaces) == generated.text
    assert surfaces[generated.first] == " letter"
    assert generated.generated == [False] * generated.first + [True] * 3
    words = generated.encoded.source.word
    assert words[generated.first] == words[generated.first - 1] + 1
    assert generated.attention("decoder").shape == (12, 8, len(generated.ids), len(generated.ids))


def test_an_encoder_decoder_reads_the_prompt_and_writes_another_text() -> None:
    generated = hs.generate(writer("t5"), PROMPT, tokens=6)
    assert generated.encoded.target is not None
    assert generated.first == 1
    assert generated.attention("cross").shape[2:] == (len(generated.ids), len(generated.encoded.source.ids))
    assert generated.attention("encoder").shape[2] == len(generated.encoded.source.ids)


def test_a_model_that_ends_its_text_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    model = writer("llama")
    first = hs.generate(model, PROMPT, tokens=5)
    assert not first.ended
    monkeypatch.setattr(model.network.generation_config, "eos_token_id", [first.ids[first.first + 1], 5])
    shorter = hs.generate(model, PROMPT, tokens=5)
    assert shorter.ended
    assert sum(shorter.generated) <= 2
    assert largest_difference(shorter) < 1e-5


def test_what_cannot_be_is_refused_in_words() -> None:
    model = writer("llama")
    with pytest.raises(OptionError, match="at least 1 token"):
        hs.generate(model, PROMPT, tokens=0)
    with pytest.raises(OptionError, match="temperature"):
        hs.generate(model, PROMPT, temperature=-1)
    with pytest.raises(TextError, match="empty"):
        hs.generate(model, " ")
    with pytest.raises(OptionError, match="takes 64 in all"):
        hs.generate(model, PROMPT, tokens=60)
    with pytest.raises(ModelError, match="sees a whole text at once"):
        hs.generate(tiny("bert"), PROMPT)
    with pytest.raises(OptionError, match="no stack 'cross'"):
        hs.generate(model, PROMPT, tokens=1).attention("cross")


def test_who_waits_may_end_it() -> None:
    def stop() -> None:
        raise CaptureError("enough")

    with pytest.raises(CaptureError, match="enough"):
        hs.generate(writer("llama"), PROMPT, between=stop)
