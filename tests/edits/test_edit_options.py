"""What an edit is told: options that cannot work are refused, and sentences must be known."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.helpers.reference_edits import BOTH, batch, patched, run
from tests.helpers.tiny import tiny

from headscope.edits import edit
from headscope.errors import HeadscopeWarning, OptionError


def test_one_sentence_has_nothing_between_sentences() -> None:
    inputs, _ = batch("bert")
    inputs["token_type_ids"] = torch.zeros_like(inputs["input_ids"])
    with (
        pytest.warns(HeadscopeWarning, match="no text had a second sentence"),
        edit(tiny("bert"), "all", how="inter"),
    ):
        run("bert", inputs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"how": "none"}, "not an edit; choose from zero"),
        ({"how": "mean"}, "needs means=mean_outputs"),
        ({"how": "zero", "renormalise": True}, "renormalise is for"),
        ({"how": "uniform", "sentences": torch.zeros(1, 1)}, "sentences is for"),
        ({"how": "zero", "means": {}}, "means is for"),
        ({"how": "mean", "means": {}}, "nothing for the encoder"),
        ({"how": "mean", "means": {"encoder": torch.zeros(2, 4, 8)}}, "2 x 4 for the encoder"),
        ({"heads": None}, "no heads were named"),
    ],
)
def test_options_that_cannot_work_are_refused(options: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message), edit(tiny("bert"), **{"heads": "1.1", **options}):
        raise AssertionError("never here")


@pytest.mark.parametrize(
    ("architecture", "sentences", "message"),
    [
        ("bert", None, "was run without token_type_ids"),
        ("distilbert", None, "has no segments"),
        ("gpt2", None, "has no segments"),
        ("t5", torch.zeros(2, 12, dtype=torch.long), "reads one text and writes another"),
        ("t5", {"target": torch.zeros(2, 6, dtype=torch.long)}, "has no 'source'"),
        ("bert", torch.zeros(2, 11, dtype=torch.long), "do not fit a batch of 2 texts of 12 tokens"),
        ("bert", torch.zeros(2, 12), "whole numbers"),
        ("bert", lambda inputs: inputs["input_ids"].tolist(), "shape list"),
    ],
)
def test_sentences_that_are_not_known_are_refused(architecture: str, sentences: Any, message: str) -> None:
    inputs, _ = batch(architecture)
    heads = "encoder 1.1" if architecture in BOTH else "1.1"
    with (
        pytest.raises(OptionError, match=message),
        edit(tiny(architecture), heads, how="intra", sentences=sentences),
    ):
        run(architecture, inputs)


def test_sentences_can_be_told_by_a_function_of_the_inputs() -> None:
    inputs, reference = batch("gpt2")
    reference = replace(reference, heads={("decoder", 1): [1]}, how="intra")
    reference.source = (inputs["input_ids"] % 3).tolist()
    with patched("gpt2", tiny("gpt2").network, reference):
        expected = run("gpt2", inputs)
    with edit(tiny("gpt2"), "1.1", how="intra", sentences=lambda given: given["input_ids"] % 3):
        torch.testing.assert_close(run("gpt2", inputs), expected, atol=1e-5, rtol=1e-5)
        with torch.no_grad():  # by position, as people also call it
            mask = inputs["attention_mask"]
            tiny("gpt2").network(inputs["input_ids"], attention_mask=mask)
