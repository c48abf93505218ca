"""Gradients of a task's loss: finite differences, each text's own, and nothing of padding or of the future."""

from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf
from tests.helpers.tasks import headed, questions_file
from tests.helpers.tiny import tiny

from headscope.errors import CaptureError
from headscope.importance.gradients import KEY_ROLES, layer_gradients, text_numbers
from headscope.models import Model, wrap
from headscope.tasks import (
    Classification,
    MaskedLanguageModelling,
    NextToken,
    QuestionAnswering,
    Regression,
    Task,
    TaskBatch,
    forward,
)
from headscope.text.corpus import as_corpus
from headscope.text.formats.labelled import LabelledText, LabelledTexts
from headscope.text.formats.squad import read_questions
from headscope.text.skipped import Skipped
from headscope.trace import AttentionCall, Capture, Forward, following, surveyed
from headscope.trace.architecture import Place
from headscope.types import CLS, COMMA, OTHER, PERIOD, ROLES, SEP

TEXTS = [
    "The cat sat on the mat. A dog saw it, and it was red.",
    "A red house. A dog.",
    "It was blue. The house of the cat was red, and the dog sat in it.",
]


def labelled(*labels: str) -> LabelledTexts:
    texts = [
        LabelledText(text, None, label, f"t:{k}")
        for k, (text, label) in enumerate(zip(TEXTS, labels, strict=True))
    ]
    return LabelledTexts("t", tuple(texts), Skipped("texts"))


@cache
def precise(architecture: str, task: str, labels: int = 2) -> Model:
    if architecture == "t5":
        torch.manual_seed(3)
        config = deepcopy(tiny("t5").config)
        config.num_labels = labels
        kind = {"classification": tf.T5ForSequenceClassification, "qa": tf.T5ForQuestionAnswering}[task]
        network: Any = kind(config)
        network.eval()
    else:
        network = deepcopy(headed(architecture, task, labels).network)
    return wrap(network.double(), tiny(architecture).tokenizer, name=f"precise-{architecture}")


def case(name: str, folder: Path) -> tuple[Model, Task]:
    architecture, kind = name.split()
    if kind in ("classification", "regression"):
        model = precise(architecture, "classification", 1 if kind == "regression" else 2)
        if kind == "regression":
            return model, Regression(labelled("1.5", "0.2", "-1"))
        return model, Classification(labelled("0", "1", "1"), labels={0: "a", 1: "b"})
    model = precise(architecture, kind)
    if kind == "qa":
        return model, QuestionAnswering(read_questions(questions_file(folder / "q.json")), max_length=60)
    if kind == "mlm":
        return model, MaskedLanguageModelling(as_corpus(TEXTS), max_length=40, share=0.3)
    return model, NextToken(as_corpus(TEXTS), max_length=40)


CASES = [
    "bert mlm",
    "bert qa",
    "bert classification",
    "bert regression",
    "gpt2 lm",
    "llama lm",
    "bart classification",
    "t5 classification",
]
# They normalise in float32 whatever their parameters are, in which small steps drown.
ROUGH = ("llama", "t5")


@pytest.fixture(params=CASES)
def made(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Capture, Task, TaskBatch]:
    model, task = case(request.param, tmp_path)
    batch = next(iter(task.batches(model, batch_size=3)))
    assert not batch.text.source.is_token.all(), "a batch without padding shows little"
    return surveyed(model), task, batch


def changed(capture: Capture, task: Task, batch: TaskBatch, place: Place, change: Any) -> torch.Tensor:
    """(text,) the losses with `change(weights)` of one layer."""

    def handle(_: Place, call: AttentionCall, __: Forward) -> AttentionCall:
        heads = torch.arange(call.weights.shape[1])
        weights = call.weights.clone()
        change(weights)
        return call.with_weights(heads, weights)

    with following(capture, [place], handle), torch.no_grad():
        return task.loss(forward(capture.model, batch), batch)


def test_gradients_are_finite_differences_of_the_own_loss(made: tuple[Capture, Task, TaskBatch]) -> None:
    capture, task, batch = made
    rough = any(name in capture.model.name for name in ROUGH)
    step, near = (1e-3, 2e-2) if rough else (1e-5, 1e-5)
    random = np.random.default_rng(0)
    _, layers = layer_gradients(task, capture, batch)
    compared = 0
    for layer in layers:
        for text in range(batch.rows):
            visible = layer.counted[text].expand_as(layer.gradient[text])
            size = torch.where(visible, layer.gradient[text].abs(), 0).ravel()
            for index in (
                [int(size.argmax()), int(random.choice(np.flatnonzero(size > 0)))] if size.any() else []
            ):
                spot: Any = (text, *np.unravel_index(index, layer.gradient[text].shape))

                def nudge(weights: torch.Tensor, by: float, spot: Any = spot) -> None:
                    weights[spot] += by

                up, down = (
                    changed(capture, task, batch, layer.place, lambda weights, by=by: nudge(weights, by))
                    for by in (step, -step)
                )
                slope = (up - down) / (2 * step)  # (text,)
                expected = float(layer.gradient[spot])
                assert float(slope[text]) == pytest.approx(expected, rel=near, abs=near * float(size.max()))
                others = [other for other in range(batch.rows) if other != text]
                assert not slope[others].any(), "texts of a batch do not mix"
                compared += 1
    assert compared >= 2 * len(capture.stacks.places)


def test_attribution_adds_up_to_what_turning_a_head_down_does(made: tuple[Capture, Task, TaskBatch]) -> None:
    capture, task, batch = made
    rough = any(name in capture.model.name for name in ROUGH)
    step, near = (1e-3, 2e-2) if rough else (1e-5, 1e-5)
    _, layers = layer_gradients(task, capture, batch)
    for layer in layers:
        numbers = text_numbers(layer)
        by_role = numbers.attribution[..., : len(ROLES)].sum(-1)  # (text, head)
        torch.testing.assert_close(by_role.abs(), numbers.importance)
        both = [ROLES.index("period"), ROLES.index("comma")]
        torch.testing.assert_close(
            numbers.attribution[..., both].sum(-1), numbers.attribution[..., KEY_ROLES.index("punctuation")]
        )
        for head in range(layer.weights.shape[1]):

            def turn(weights: torch.Tensor, by: float, head: int = head) -> None:
                weights[:, head] *= 1 + by

            up, down = (
                changed(capture, task, batch, layer.place, lambda weights, by=by: turn(weights, by))
                for by in (step, -step)
            )
            scale = float(by_role.abs().max())
            torch.testing.assert_close(
                ((up - down) / (2 * step)), by_role[:, head].to(up), rtol=near, atol=near * scale
            )


def test_numbers_are_those_of_a_slow_loop(made: tuple[Capture, Task, TaskBatch]) -> None:
    capture, task, batch = made
    _, layers = layer_gradients(task, capture, batch)
    groups = {"cls": [CLS], "sep": [SEP], "period": [PERIOD], "comma": [COMMA], "other": [OTHER]}
    groups["punctuation"] = [PERIOD, COMMA]
    lengths = batch.inputs["attention_mask"].sum(1).tolist()
    for layer in layers:
        causal = layer.place.stack == "decoder"
        numbers = text_numbers(layer)
        for text, length in enumerate(lengths):
            for k, role in enumerate(KEY_ROLES):
                pairs = [
                    (query, key)
                    for query in range(length)
                    for key in range(query + 1 if causal else length)
                    if int(layer.keys.role[text, key]) in groups[role]
                ]
                assert bool(numbers.applies[text, 0, k]) == bool(pairs)
                for head in range(layer.weights.shape[1]) if pairs else ():
                    gradient = np.array([float(layer.gradient[text, head, q, j]) for q, j in pairs])
                    weights = np.array([float(layer.weights[text, head, q, j]) for q, j in pairs])
                    assert float(numbers.gradient[text, head, k]) == pytest.approx(np.abs(gradient).mean())
                    assert float(numbers.attribution[text, head, k]) == pytest.approx(
                        (weights * gradient).sum(), abs=1e-12
                    )


def test_roles_of_a_decoder_that_reads_the_source_again(tmp_path: Path) -> None:
    model, task = case("bart classification", tmp_path)
    batch = next(iter(task.batches(model, batch_size=3)))
    _, layers = layer_gradients(task, surveyed(model), batch)
    by_stack = {layer.place.stack: layer for layer in layers}
    source = batch.text.source
    assert torch.equal(by_stack["cross"].keys.role, source.role)
    role = by_stack["decoder"].keys.role
    assert (role[:, 0] == CLS).all()
    assert (role[:, 1] == OTHER).all()  # [CLS], after the start token
    assert torch.equal(role[:, 2:], source.role[:, 1:-1])
    assert (by_stack["decoder"].keys.ids[:, 0] == model.config.decoder_start_token_id).all()


def test_a_decoder_that_is_given_something_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, task = case("bart classification", tmp_path)
    batch = next(iter(task.batches(model, batch_size=3)))
    plain = type(model.network).forward

    def other(network: Any, **inputs: Any) -> Any:
        return plain(network, **inputs, decoder_input_ids=inputs["input_ids"])

    monkeypatch.setattr(type(model.network), "forward", other)
    with pytest.raises(CaptureError, match="roles of its tokens are not known"):
        layer_gradients(task, surveyed(model), batch)


def test_the_network_is_left_as_it_was(tmp_path: Path) -> None:
    model, task = case("bert mlm", tmp_path)
    network: Any = model.network
    batch = next(iter(task.batches(model, batch_size=3)))
    try:
        network.train()
        first = next(network.parameters())
        first.requires_grad_(False)
        first_loss, layers = layer_gradients(task, surveyed(model), batch)
        gradients = [layer.gradient for layer in layers]
        with torch.inference_mode():  # in eval mode nothing is dropped out: the same twice
            again, layers = layer_gradients(task, surveyed(model), batch)
            assert torch.equal(again, first_loss)
            assert all(torch.equal(one, layer.gradient) for one, layer in zip(gradients, layers, strict=True))
        assert network.training
        assert not first.requires_grad
        assert all(parameter.requires_grad for parameter in list(network.parameters())[1:])
        assert all(parameter.grad is None for parameter in network.parameters())
    finally:
        network.eval()
        first.requires_grad_(True)
