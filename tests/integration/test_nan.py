"""A model whose attention is nan on a text shows none: whatever looks at it beside the analyses of the contract."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from tests.contract.broken import NAN, broken
from tests.helpers.tasks import headed
from tests.helpers.tiny import tiny
from tests.helpers.treebanks import as_file, random_sentences, treebank

import headscope as hs
from headscope.errors import CaptureError, ModelError
from headscope.models import wrap
from headscope.pages.neurons import read_neurons
from headscope.pages.seen import observe
from headscope.server.answers.predictions import predict
from headscope.server.shapes import PredictRequest
from headscope.tasks import MaskedLanguageModelling, Task
from headscope.text.annotated.treebank import Treebank
from headscope.text.corpus import as_corpus

TEXT = "the red cat saw a blue house. it was in the house, and the dog saw it."
MASKED = PredictRequest(model="broken", text_a="the [MASK] saw it")


def mlm() -> Task:
    return MaskedLanguageModelling(as_corpus([TEXT, TEXT * 2]), max_length=40)


def trees(folder: Path) -> Treebank:
    return treebank(folder, as_file(random_sentences(6, seed=7, documents=3)))


Ask = Callable[[Path], object]

ASKS: dict[str, Ask] = {
    "view": lambda folder: observe(broken(tiny("bert")), TEXT),
    "neurons": lambda folder: list(read_neurons(broken(tiny("bert")), TEXT)),
    "examples": lambda folder: hs.DependencyProbe(broken(tiny("bert"))).examples(
        trees(folder), head="1.2", direction="dependent_to_head"
    ),
    "prediction": lambda folder: predict(broken(headed("bert", "mlm")), "mlm", MASKED),
    "fallback": lambda folder: hs.analyze(broken(tiny("mpnet")), [TEXT], max_length=40),
    "decoder": lambda folder: hs.analyze(broken(tiny("llama")), [TEXT], max_length=40),
}


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS.keys())
def test_every_way_refuses(ask: Ask, tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match=NAN):
        ask(tmp_path)


def test_a_model_loaded_again_with_its_head_is_not_taken_for_another(tmp_path: Path) -> None:
    model = headed("bert", "mlm")
    network = deepcopy(model.network)
    with torch.no_grad():
        network.bert.encoder.layer[1].attention.self.query.weight[0, 0] = torch.nan
    network.save_pretrained(tmp_path)
    model.tokenizer.save_pretrained(tmp_path)
    with pytest.raises(CaptureError, match=r"layer 1 holds nan \(head 0\)"):
        hs.ablate(tmp_path, mlm())


def test_predictions_that_are_nan_though_attention_is_not() -> None:
    model = headed("bert", "mlm")
    network = deepcopy(model.network)
    with torch.no_grad():
        network.cls.predictions.bias[3] = torch.nan
    for ask in (
        lambda found: hs.ablate(found, mlm()),
        lambda found: hs.gradient_importance(found, mlm()),
        lambda found: predict(found, "mlm", MASKED),
    ):
        with pytest.raises(
            ModelError, match=r"broken: its predictions \(logits\) are nan though its attention is not"
        ):
            ask(wrap(network, model.tokenizer, name="broken"))  # type: ignore[no-untyped-call]
