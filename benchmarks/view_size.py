"""How large single-file views are, beside their bars: 72 heads (6 x 12), 128 and 512 tokens of the sample corpus.

The random model spreads its attention almost evenly; sharpened (queries and keys times 6) it looks at few tokens;
demo is a trained model of 96 heads, which may take as much more. Then attention made up to be hard to store, and
easy. Exits with 1 when a bar is missed.
"""

import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from transformers import BertConfig, BertModel, PreTrainedTokenizerBase

import headscope as hs
from headscope.models import Model
from headscope.pages.arrays import from_attentions
from headscope.pages.looking import Looked
from headscope.pages.neurons import NeuronReader, neuron_reader
from headscope.pages.page import write_view
from headscope.pages.quantise import MOST_ERROR, Array, Quantised
from headscope.pages.seen import Observed, observe

BARS = {128: 1_000_000, 512: 8_000_000}
BERTVIZ = {128: 53_500_000, 512: 869_000_000}
LAYERS, HEADS = 6, 12


def random_model(tokenizer: PreTrainedTokenizerBase, *, sharpened: float) -> Model:
    torch.manual_seed(0)
    config = BertConfig(num_hidden_layers=LAYERS, num_attention_heads=HEADS, vocab_size=len(tokenizer))
    network = BertModel(config).eval()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "query.weight" in name or "key.weight" in name:
                parameter.mul_(sharpened)
    return hs.wrap(network, tokenizer, name=f"random, sharpened {sharpened:g}")


def made_up(tokens: int) -> Iterator[Observed]:
    generator = np.random.default_rng(0)
    shape = (LAYERS, HEADS, tokens, tokens)
    arrays = {
        "even": lambda: np.ones(shape, dtype=np.float32),
        "exponential": lambda: generator.standard_exponential(shape, dtype=np.float32),
        "peaked": lambda: np.exp(3 * generator.standard_normal(shape, dtype=np.float32)),
        "one in two": lambda: (generator.random(shape, dtype=np.float32) < 0.5) + np.float32(1e-6),
        "100 keys of 512": lambda: (generator.random(shape, dtype=np.float32) < 0.2) + np.float32(1e-6),
        "identity": lambda: np.broadcast_to(np.eye(tokens, dtype=np.float32), shape),
    }
    for name, make in arrays.items():
        weights = make()
        weights = weights / weights.sum(-1, keepdims=True)
        yield from_attentions(weights, [f"word{number}" for number in range(tokens)], name=name)


def cases() -> Iterator[tuple[int, Observed, NeuronReader | None]]:
    demo = hs.load("demo", device="cpu")
    text = hs.sample_path("articles").read_text(encoding="utf-8")
    models = [random_model(demo.tokenizer, sharpened=sharpened) for sharpened in (1, 6)] + [demo]
    for tokens in BARS:
        for model in models:
            observed = observe(model, text, max_length=tokens)
            yield tokens, observed, neuron_reader(model, text, max_length=tokens)
        for observed in made_up(tokens):
            yield tokens, observed, None


def off(stored: Quantised, key: str, weights: Array) -> float:
    """The errors of a stored map, added up."""
    planes = np.frombuffer(zlib.decompress(stored.chunks[key], wbits=-zlib.MAX_WBITS), dtype=np.uint8)
    codes, *second = planes.reshape(-1, *weights.shape)
    again = stored.code.refined(codes, second[0]) if second else stored.code.levels[codes]
    return float(np.abs(again - weights).sum())


def main() -> int:
    missed = False
    print(
        "attention              tokens heads     MB    bar  BertViz   bits  max error  word error  mean error  seconds"
    )
    for tokens, observed, neurons in cases():
        heads = sum(stack.layers * stack.heads for stack in observed.stacks)
        share = heads / (LAYERS * HEADS)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "view.html"
            start = time.perf_counter()
            stored = write_view(path, Looked(observed, neurons)).quantised
            seconds = time.perf_counter() - start
            size = path.stat().st_size
        error = sum(off(stored, key, weights) for key, weights in observed.maps.items())
        largest = max(stored.max_error, stored.word_error)
        missed |= size > BARS[tokens] * share or largest > MOST_ERROR
        print(
            f"{observed.model:22}{tokens:7}{heads:6}{size / 1e6:7.2f}{BARS[tokens] * share / 1e6:7.2f}"
            f"{BERTVIZ[tokens] * share / 1e6:9.0f}{8 * stored.size / observed.weights:7.2f}{stored.max_error:11.5f}"
            f"{stored.word_error:12.5f}"
            f"{error / observed.weights:12.6f}{seconds:9.1f}"
        )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
