"""A model whose attention is nan on a text gives no number, whichever way it is asked."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from tests.helpers.coreference import conllu, written
from tests.helpers.relations import made_up
from tests.helpers.tasks import headed
from tests.helpers.tiny import tiny
from tests.helpers.treebanks import as_file, random_sentences, treebank

import headscope as hs
from headscope.capture import surveyed
from headscope.errors import CaptureError, ModelError
from headscope.models import Model, wrap
from headscope.pages.neurons import read_neurons
from headscope.pages.seen import observe
from headscope.server.answers.predictions import predict
from headscope.server.shapes import PredictRequest
from headscope.tasks import MaskedLanguageModelling, Task
from headscope.text.annotated.treebank import Treebank
from headscope.text.corpus import as_corpus

TEXT = "the red cat saw a blue house. it was in the house, and the dog saw it."
MASKED = PredictRequest(model="broken", text_a="the [MASK] saw it")


def broken(model: Model) -> Model:
    """A model in which all but the first few words are nan, so that the survey of it finds nothing wrong."""
    network = deepcopy(model.network)
    with torch.no_grad():
        network.get_input_embeddings().weight[14:] = torch.nan
    found = wrap(network, model.tokenizer, name="broken")
    surveyed(found)
    return found


def mlm() -> Task:
    return MaskedLanguageModelling(as_corpus([TEXT, TEXT * 2]), max_length=40)


def trees(folder: Path) -> Treebank:
    return treebank(folder, as_file(random_sentences(6, seed=7, documents=3)))


def coreference(folder: Path) -> object:
    first = ["The/DET/2/(cat-x-2-", "cat/NOUN/3/cat)", "saw/VERB/0", "a/DET/5", "house/NOUN/3", "./PUNCT/3"]
    second = ["It/PRON/2/(cat-x-1-)", "sat/VERB/0", "./PUNCT/2"]
    corpus = hs.read_coreference(written(folder, conllu([first, second])))
    return hs.CoreferenceProbe(broken(tiny("bert"))).fit_score(corpus)


Ask = Callable[[Path], object]

ASKS: dict[str, Ask] = {
    "analyze": lambda folder: hs.analyze(broken(tiny("bert")), [TEXT], max_length=40),
    "view": lambda folder: observe(broken(tiny("bert")), TEXT),
    "neurons": lambda folder: list(read_neurons(broken(tiny("bert")), TEXT)),
    "compare": lambda folder: hs.compare(tiny("bert"), broken(tiny("bert")), [TEXT], max_length=40),
    "features": lambda folder: hs.FeaturesProbe(broken(tiny("bert"))).score(trees(folder)),
    "dependency": lambda folder: hs.DependencyProbe(broken(tiny("bert"))).fit_score(trees(folder)),
    "coreference": coreference,
    "relations": lambda folder: hs.RelationsProbe(broken(tiny("bert"))).fit_score(
        hs.read_roles(made_up(folder))
    ),
    "examples": lambda folder: hs.DependencyProbe(broken(tiny("bert"))).examples(
        trees(folder), head="1.2", direction="dependent_to_head"
    ),
    "patterns": lambda folder: hs.find_patterns(broken(tiny("bert")), [TEXT], max_length=40),
    "explain": lambda folder: hs.explain(broken(tiny("bert")), ["1.2"], [TEXT], max_length=40),
    "mean outputs": lambda folder: hs.mean_outputs(broken(tiny("bert")), [TEXT]),
    "importance": lambda folder: hs.gradient_importance(broken(headed("bert", "mlm")), mlm()),
    "ablate": lambda folder: hs.ablate(broken(headed("bert", "mlm")), mlm()),
    "ablate types": lambda folder: hs.ablate(broken(headed("bert", "mlm")), mlm(), sweep="types"),
    "task": lambda folder: mlm().evaluate(broken(headed("bert", "mlm"))),
    "prediction": lambda folder: predict(broken(headed("bert", "mlm")), "mlm", MASKED),
    "fallback": lambda folder: hs.analyze(broken(tiny("mpnet")), [TEXT], max_length=40),
    "decoder": lambda folder: hs.analyze(broken(tiny("llama")), [TEXT], max_length=40),
}


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS.keys())
def test_every_way_refuses(ask: Ask, tmp_path: Path) -> None:
    with pytest.raises(
        CaptureError, match=r"broken: the attention of layer 0 holds nan \(all heads\); its weights"
    ):
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
