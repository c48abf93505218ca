"""A BERT of one layer whose heads were built by hand, so that what they do and why is known.

Head 0 looks at the token before (positions only), head 1 at its own segment (segments only), head 2 at [SEP] (tokens
only, by neuron 0), head 3 nowhere in particular: its queries and keys are 0.
"""

import math
from functools import cache

import torch
import transformers as tf
from tests.helpers.tiny import wordpiece_tokenizer

from headscope.models import Model, wrap

WIDTH, HEADS, NEURONS, LONGEST = 64, 4, 16, 48
SPEEDS = (0.13, 0.5, 1.1, 2.3)
POSITION, SEPARATOR, TOKEN, SEGMENT = 0, 16, 18, 40
"""Where each kind of embedding lies; what they hold adds up to 0 and has one size, so that norms change nothing."""
PAIRS = [
    ("the cat sat on the mat", "a dog saw it and it was red"),
    ("it was a blue house", "the dog sat in it"),
    ("a red mat and a blue mat", "the cat saw the house"),
    ("the house was red", "it was on the mat of the cat"),
    ("a dog and a cat", "the dog was in the blue house"),
    ("a cat", "the red dog saw the blue cat in the house"),
]


@cache
def built() -> Model:
    """The model."""
    tokenizer = wordpiece_tokenizer()
    config = tf.BertConfig(
        hidden_size=WIDTH,
        num_hidden_layers=1,
        num_attention_heads=HEADS,
        intermediate_size=8,
        vocab_size=len(tokenizer),
        max_position_embeddings=LONGEST,
    )
    network = tf.BertModel(config, add_pooling_layer=False).eval()
    with torch.no_grad():
        _embed(network.embeddings, tokenizer.sep_token_id)
        attention = network.encoder.layer[0].attention.self
        for linear in (attention.query, attention.key):
            linear.weight.zero_()
            linear.bias.zero_()
        query, key = attention.query.weight, attention.key.weight
        for number, speed in enumerate(SPEEDS):  # a query is its position's wave, turned back by one
            cos, sin = POSITION + 2 * number, POSITION + 2 * number + 1
            turn = torch.tensor([[math.cos(speed), math.sin(speed)], [-math.sin(speed), math.cos(speed)]])
            query[2 * number : 2 * number + 2, cos : sin + 1] = 30 * turn
            key[2 * number, cos] = key[2 * number + 1, sin] = 1
        query[NEURONS, SEGMENT] = key[NEURONS, SEGMENT] = 4
        attention.query.bias[2 * NEURONS] = 8
        key[2 * NEURONS, SEPARATOR] = 4
    return wrap(network, tokenizer, name="built")


def _embed(embeddings: torch.nn.Module, separator: int) -> None:
    tables = embeddings.word_embeddings, embeddings.position_embeddings, embeddings.token_type_embeddings
    for table in tables:
        table.weight.zero_()
    words, positions, segments = (table.weight for table in tables)
    places = torch.arange(LONGEST)[:, None] * torch.tensor(SPEEDS)  # (position, speed)
    waves = torch.stack([places.cos(), places.sin()], -1).flatten(1)
    positions[:, POSITION : POSITION + 16] = torch.cat([waves, -waves], -1)
    signs = torch.randint(0, 2, (len(words), 10), generator=torch.Generator().manual_seed(0)) * 2.0 - 1
    words[:, TOKEN : TOKEN + 20] = torch.cat([signs, -signs], -1)
    words[:, SEPARATOR], words[:, SEPARATOR + 1] = -1, 1
    words[separator, SEPARATOR], words[separator, SEPARATOR + 1] = 1, -1
    segments[0, SEGMENT], segments[0, SEGMENT + 1] = 1, -1
    segments[1, SEGMENT], segments[1, SEGMENT + 1] = -1, 1
