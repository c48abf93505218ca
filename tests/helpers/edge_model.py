"""A masked language model built by hand in which one edge is the only route to a word, and sentences for it.

The verb tells the object: sat ... mat, saw ... house, was ... cat. Heads 0 and 1 look at the verb from everywhere. What
head 0 reads there is written out as the object; head 1 reads the same, and nothing is made of it: an unused copy. Heads
2 and 3 look evenly and write nothing.
"""

from functools import cache
from pathlib import Path

import torch
import transformers as tf
from tests.helpers.tiny import wordpiece_tokenizer
from tests.helpers.treebanks import block

from headscope.models import Model, wrap

OBJECT_OF = {"sat": "mat", "saw": "house", "was": "cat"}
FILLERS = ("red", "blue", "and", "of", "in")
WIDTH, NEURONS = 64, 16
VERB, IDENTITY, WRITTEN = 0, 2, 20
"""Where each feature lies: as a pair of numbers that add up to 0, so that norms take nothing off."""


@cache
def edge_model() -> Model:
    """The model."""
    tokenizer = wordpiece_tokenizer()
    config = tf.BertConfig(
        hidden_size=WIDTH,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=8,
        vocab_size=len(tokenizer),
        max_position_embeddings=48,
        tie_word_embeddings=False,
    )
    network = tf.BertForMaskedLM(config).eval()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.fill_(1.0 if "LayerNorm.weight" in name else 0.0)
        words, layer = network.bert.embeddings.word_embeddings.weight, network.bert.encoder.layer[0]
        read, written = layer.attention.self, layer.attention.output.dense.weight
        decoder = network.cls.predictions.decoder.weight
        network.cls.predictions.transform.dense.weight.copy_(torch.eye(WIDTH))
        for number, (verb, noun) in enumerate(OBJECT_OF.items()):
            token = tokenizer.convert_tokens_to_ids(verb)
            _pair(words[token], VERB, 1)
            _pair(words[token], IDENTITY + 2 * number, 1)
            decoder[tokenizer.convert_tokens_to_ids(noun), WRITTEN + 2 * number] = 1
            for head in (0, 1):
                read.value.weight[NEURONS * head + number, IDENTITY + 2 * number] = 1
            _pair(written[:, number], WRITTEN + 2 * number, 3)  # of head 0 alone
        for head in (0, 1):
            read.query.bias[NEURONS * head] = 10
            read.key.weight[NEURONS * head, VERB] = 2
    return wrap(network, tokenizer, name="edge-model")


def _pair(vector: torch.Tensor, place: int, size: float) -> None:
    vector[place], vector[place + 1] = size, -size


def sentences(count: int) -> list[tuple[list[str], int, int]]:
    """Words, the place of the verb and that of the object, which is two to five words later."""
    made = []
    for number in range(count):
        verb = list(OBJECT_OF)[number % 3]
        between = [FILLERS[(number + step) % len(FILLERS)] for step in range(1 + (number * 7 // 3) % 4)]
        after = [FILLERS[number % len(FILLERS)]] * (1 + number % 2)
        words = ["the", "dog", verb, *between, OBJECT_OF[verb], *after]
        made.append((words, 2, 3 + len(between)))
    return made


def treebank_file(folder: Path, count: int = 48) -> Path:
    """The sentences with their trees."""
    text = ""
    for words, verb, noun in sentences(count):
        relations = [
            "obj" if place == noun else "nsubj" if place == 1 else "dep" for place in range(len(words))
        ]
        rows = [
            (word, 0 if place == verb else verb + 1, "root" if place == verb else relations[place], "X")
            for place, word in enumerate(words)
        ]
        text += block(*rows)
    path = folder / "edges.conllu"
    path.write_text(text)
    return path
