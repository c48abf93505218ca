"""GPT-BigCode keeps queries, keys and values in one matrix, in one of two orders; pruning must know which."""

import pytest
import torch
import transformers as tf
from tests.helpers.tiny import byte_tokenizer

from headscope.edits import prune
from headscope.models import Model, wrap
from headscope.models.adapters import GPTBigCode


def bigcode(*, multi_query: bool) -> Model:
    torch.manual_seed(3)
    config = tf.GPTBigCodeConfig(
        n_embd=32,
        n_layer=2,
        n_head=4,
        vocab_size=300,
        n_positions=64,
        multi_query=multi_query,
        bos_token_id=0,
        eos_token_id=0,
    )
    return wrap(tf.GPTBigCodeForCausalLM(config).eval(), byte_tokenizer(), name="bigcode")


@pytest.mark.parametrize("multi_query", [True, False])
def test_a_single_head_is_taken_out(multi_query: bool) -> None:
    model = bigcode(multi_query=multi_query)
    smaller = prune(model, "0.1, 1.0, 1.3")  # raises unless it gives what zeroing gives
    of_head = 8 * 32 * 2 + 8 if multi_query else 8 * 32 * 4 + 3 * 8
    assert model.parameters - smaller.parameters == 3 * of_head


def test_rows_of_a_head() -> None:
    rows = GPTBigCode().joined_rows([1], width=4, size=2, rows=8)
    assert rows == [2, 3, 4, 5, 6, 7]  # its queries, and the key and value of all
    assert GPTBigCode().joined_rows([1], width=4, size=2, rows=12) == [6, 7, 8, 9, 10, 11]
