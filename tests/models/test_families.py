"""What users of today's models met first: each of these crashed or was refused once."""

import pytest
import torch
from tests.helpers.families import built

import headscope as hs
from headscope.models import wrap
from headscope.pages.seen import observe
from headscope.tasks import NextToken
from headscope.text.corpus import as_corpus

TEXTS = [
    "the cat sat on the mat.",
    "a dog saw it.",
    "the house was red and blue.",
    "a cat saw the dog in it.",
] * 2


@pytest.mark.parametrize("family", ["gemma3", "fuyu", "opt", "qwen3"])
def test_decoders_are_ablated_and_differentiated(family: str) -> None:
    model = wrap(*built(family), name=family)
    task = NextToken(as_corpus(TEXTS), max_length=24)
    result = hs.ablate(model, task, sweep="layers")
    assert len(result.table()) == 2
    assert hs.gradient_importance(model, task).loss > 0


def test_an_edit_of_opt_reaches_what_its_head_calls() -> None:
    model = wrap(*built("opt"), name="opt")
    ids = torch.tensor([[5, 6, 7, 8]])
    before = model.network(input_ids=ids).logits
    with hs.edit(model, "1.2", how="zero"):
        whole, core = model.network(input_ids=ids).logits, model.core(input_ids=ids)[0]
    assert not torch.allclose(before, whole, atol=1e-6)
    assert torch.allclose(model.network.lm_head(core), whole, atol=1e-6)


def test_the_text_part_of_a_config_counts() -> None:
    model = wrap(*built("gemma3"), name="gemma3")
    assert not hasattr(model.config, "vocab_size")
    assert (model.text_config.vocab_size, model.max_length) == (128, 256)


def test_florence_starts_with_the_token_of_its_language_model() -> None:
    model = wrap(*built("florence2"), name="florence2")
    assert not hasattr(model.config, "decoder_start_token_id")
    assert model.decoder_start == 2
    atlas = hs.analyze(model, TEXTS, max_length=32, measures=["entropy"], sentences=0)
    assert list(atlas.stacks) == ["encoder", "decoder", "cross"]


def test_what_is_not_seen_is_said() -> None:
    model = wrap(*built("gemma3"), name="gemma3")
    said = "gemma3 also reads images; it is shown text alone, so what its heads do with images is not seen"
    assert model.unseen == said
    assert said in observe(model, "the cat sat").note
    assert wrap(*built("qwen3"), name="qwen3").unseen == ""
