"""Tiny random models with task heads, and small made-up data for them."""

import json
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers as tf
from tests.helpers.tiny import tiny

from headscope.models import Model, wrap

HEADED = {
    ("bert", "qa"): "BertForQuestionAnswering",
    ("roberta", "qa"): "RobertaForQuestionAnswering",
    ("distilbert", "qa"): "DistilBertForQuestionAnswering",
    ("convbert", "qa"): "ConvBertForQuestionAnswering",
    ("gpt2", "qa"): "GPT2ForQuestionAnswering",
    ("bert", "classification"): "BertForSequenceClassification",
    ("roberta", "classification"): "RobertaForSequenceClassification",
    ("distilbert", "classification"): "DistilBertForSequenceClassification",
    ("gpt2", "classification"): "GPT2ForSequenceClassification",
    ("bart", "classification"): "BartForSequenceClassification",
    ("bert", "mlm"): "BertForMaskedLM",
    ("bert", "pretraining"): "BertForPreTraining",
    ("roberta", "mlm"): "RobertaForMaskedLM",
    ("distilbert", "mlm"): "DistilBertForMaskedLM",
    ("bert", "lm"): "BertLMHeadModel",
    ("gpt2", "lm"): "GPT2LMHeadModel",
    ("llama", "lm"): "LlamaForCausalLM",
    ("t5", "lm"): "T5ForConditionalGeneration",
}

CONTEXT = "The red cat sat on the mat, and a dog saw it in the blue house of the cat. "


@cache
def headed(architecture: str, task: str, labels: int = 2) -> Model:
    """A random model with the task's head; the same at every call."""
    base = tiny(architecture)
    config = deepcopy(base.config)
    config.num_labels = labels
    if architecture == "bart":
        config.eos_token_id = base.tokenizer.sep_token_id
    torch.manual_seed(sum(map(ord, architecture + task)))
    network = getattr(tf, HEADED[architecture, task])(config)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() == 2:
                parameter.mul_(5)  # so that outputs differ by more than rounding
    return wrap(network.eval(), base.tokenizer, name=f"tiny-{architecture}-{task}")


def squad(*paragraphs: tuple[str, list[dict[str, Any]]], version: str = "1.1") -> dict[str, Any]:
    """SQuAD's JSON with an article for each paragraph."""
    articles = [
        {"title": f"t{number}", "paragraphs": [{"context": context, "qas": asked}]}
        for number, (context, asked) in enumerate(paragraphs)
    ]
    return {"version": version, "data": articles}


def asked(
    name: str, question: str, *answers: tuple[str, int], impossible: bool | None = None
) -> dict[str, Any]:
    """One question of SQuAD's JSON."""
    found = [{"text": text, "answer_start": start} for text, start in answers]
    entry = {"id": name, "question": question, "answers": found}
    return entry if impossible is None else {**entry, "is_impossible": impossible}


def write_json(path: Path, content: object) -> Path:
    """The content as a JSON file."""
    path.write_text(json.dumps(content))
    return path


def questions_file(path: Path) -> Path:
    """Five questions on three passages of different lengths."""
    long = CONTEXT * 3

    def ask(name: str, question: str, context: str, answer: str) -> dict[str, Any]:
        return asked(name, question, (answer, context.index(answer)))

    first = [
        ask("a", "what sat on the mat?", CONTEXT, "The red cat"),
        ask("b", "who saw it?", CONTEXT, "a dog"),
    ]
    second = [
        ask("c", "where?", long, "blue house"),
        ask("d", "the cat of the house was red?", long, "mat"),
    ]
    third = [ask("e", "what was it in the house of the cat?", "It was a dog.", "a dog")]
    return write_json(path, squad((CONTEXT, first), (long, second), ("It was a dog.", third)))
