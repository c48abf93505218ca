from pathlib import Path

import pytest
import torch
import transformers as tf
from tests.helpers.tasks import headed
from tests.helpers.tiny import saved, tiny

from headscope.errors import ModelError
from headscope.models import load, wrap
from headscope.tasks import has_head, with_head
from headscope.tasks.heads import Head, check_causal, check_head


@pytest.mark.parametrize(
    ("architecture", "task", "head"),
    [
        ("bert", "qa", "question-answering"),
        ("distilbert", "classification", "classification"),
        ("bert", "pretraining", "masked-lm"),
        ("gpt2", "lm", "next-token"),
    ],
)
def test_a_model_is_loaded_again_with_its_head(
    tmp_path: Path, architecture: str, task: str, head: Head
) -> None:
    original = headed(architecture, task)
    plain = load(saved(original, tmp_path))
    assert has_head(original.network, head)
    assert not has_head(plain.network, head)
    with pytest.raises(ModelError, match=f'has no .* head here .*with_head\\(model, "{head}"\\)'):
        check_head(plain, head)
    found = with_head(plain, head)
    assert has_head(found.network, head)
    assert with_head(found, head) is found
    assert (found.name, found.device, found.dtype) == (plain.name, plain.device, plain.dtype)
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.inference_mode():
        expected, output = original.network(input_ids=ids), found.network(input_ids=ids)
    name = "start_logits" if task == "qa" else "logits"
    first = expected["prediction_logits" if task == "pretraining" else name]
    torch.testing.assert_close(output[name], first)


def test_by_name(tmp_path: Path) -> None:
    assert has_head(
        with_head(saved(headed("bert", "qa"), tmp_path), "question-answering").network, "question-answering"
    )


def test_a_head_that_is_not_there(tmp_path: Path, tiny_folder: Path) -> None:
    with pytest.raises(ModelError, match="has no question-answering head; use demo-qa"):
        with_head(tiny_folder, "question-answering")
    with pytest.raises(ModelError, match="has no classification head; use demo-mrpc"):
        with_head(saved(headed("bert", "qa"), tmp_path), "classification")
    with pytest.raises(ModelError, match="wrap a network that has one"):
        with_head(tiny("bert"), "masked-lm")


def test_an_architecture_that_has_no_such_head(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has no masked-language-model head"):
        with_head(saved(headed("gpt2", "lm"), tmp_path), "masked-lm")


def test_a_network_that_is_not_causal(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="sees the tokens it is to predict; use the task mlm"):
        with_head(saved(headed("bert", "mlm"), tmp_path), "next-token")


def test_a_network_that_hardly_sees_what_comes_is_not_causal() -> None:
    """A fresh network's attention is so even that its output hardly moves with a later token."""
    base = tiny("bert")
    torch.manual_seed(0)
    network = tf.BertLMHeadModel(base.config).eval()
    with pytest.raises(ModelError, match="sees the tokens it is to predict"):
        check_causal(wrap(network, base.tokenizer, name="fresh"))


def test_weights_that_changed_since(tmp_path: Path) -> None:
    model = load(saved(headed("bert", "qa"), tmp_path))
    with torch.no_grad():
        model.core.encoder.layer[1].output.dense.weight[0, 0] += 1
    with pytest.raises(ModelError, match=r"layer\.1\.output\.dense\.weight differs"):
        with_head(model, "question-answering")
