"""Attention with fewer passes: the same as the module's own function, or that function itself."""

import pytest
import torch
from torch import Tensor, nn
from transformers.models.bert.modeling_bert import eager_attention_forward as bert
from transformers.models.gemma2.modeling_gemma2 import eager_attention_forward as gemma2
from transformers.models.llama.modeling_llama import eager_attention_forward as llama

from headscope.capture import lean


class Module(nn.Module):
    num_key_value_groups = 1


def inputs(
    texts: int = 3, heads: int = 4, groups: int = 4, queries: int = 9, keys: int = 9
) -> tuple[Tensor, ...]:
    torch.manual_seed(0)
    query = torch.randn(texts, queries, heads, 8).transpose(1, 2)  # as models lay them out
    key, value = (torch.randn(texts, keys, groups, 8).transpose(1, 2) for _ in range(2))
    return query, key, value


def padding(texts: int = 3, keys: int = 9) -> Tensor:
    mask = torch.zeros(texts, 1, 1, keys)
    for text in range(texts):
        mask[text, ..., keys - text :] = torch.finfo(torch.float32).min
    return mask


def attended(own, module: nn.Module, *arguments, **options) -> tuple[Tensor, Tensor, list[bool]]:
    """What is given, and what the proofs of the module say."""
    with torch.no_grad(), lean.leaner_attention():
        output, weights = lean.attend(own, module.eval(), *arguments, **options)
    return output, weights, list(lean._proved.get(module, {}).values())


@pytest.mark.parametrize("block", [1, 500, 1 << 20])
@pytest.mark.parametrize("mask", [None, padding(), padding()[:1].expand(1, 1, 9, 9)])
def test_it_gives_what_the_module_gives(mask: Tensor | None, block: int, monkeypatch) -> None:
    monkeypatch.setattr(lean, "BLOCK", block)
    module, arguments = Module(), inputs()
    output, weights, proofs = attended(bert, module, *arguments, mask, scaling=0.3, dropout=0.0)
    own_output, own_weights = bert(module, *arguments, mask, scaling=0.3)
    assert proofs == [True]
    torch.testing.assert_close(weights, own_weights, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(output, own_output, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("queries", [9, 1])
def test_grouped_heads_and_keys_from_a_cache(queries: int) -> None:
    module, arguments = Module(), inputs(groups=2, queries=queries)
    module.num_key_value_groups = 2
    output, weights, proofs = attended(llama, module, *arguments, padding(), scaling=0.3)
    own_output, own_weights = llama(module, *arguments, padding(), scaling=0.3)
    assert proofs == [True]
    torch.testing.assert_close(weights, own_weights, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(output, own_output, atol=1e-6, rtol=1e-6)


def test_what_differs_keeps_its_own_function() -> None:
    def capped(module, query, key, value, mask, **options):  # the cap is no option, and hardly shows
        return gemma2(module, query, key, value, mask, scaling=8**-0.5, softcap=50.0)

    query, *rest = inputs()
    module, arguments = Module(), (query / 10, *rest)
    _, weights, proofs = attended(capped, module, *arguments, None)
    assert proofs == [False]
    torch.testing.assert_close(weights, capped(module, *arguments, None)[1], atol=0, rtol=0)


def test_options_that_change_something_keep_the_own_function() -> None:
    module, arguments = Module(), inputs()
    *_, proofs = attended(gemma2, module, *arguments, None, scaling=0.3, softcap=50.0)
    assert proofs == []
    *_, proofs = attended(bert, module, *arguments, None, scaling=0.3, softcap=None, output_attentions=False)
    assert proofs == [True]


def test_gradients_dropout_and_double_precision_keep_the_own_function() -> None:
    module, arguments = Module(), inputs()
    with lean.leaner_attention():
        lean.attend(bert, module.eval(), *arguments, None)
    with torch.no_grad(), lean.leaner_attention():
        lean.attend(bert, module.train(), *arguments, None)
        lean.attend(bert, module.eval(), *(tensor.double() for tensor in arguments), None)
    assert module not in lean._proved


def test_who_does_not_ask_gets_the_own_function() -> None:
    module, arguments = Module(), inputs()
    with torch.no_grad():
        lean.attend(bert, module.eval(), *arguments, None)
    assert module not in lean._proved
