"""The same question on an accelerator, and whether it gives the CPU's numbers.

Uses the light core alone (torch, numpy, transformers), so it also runs where nothing else is installed:

    PYTHONPATH=src:models/src python benchmarks/accelerator.py
"""

import argparse
from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np
import torch
from transformers import BertConfig, BertModel

from headscope.data import sample_path
from headscope.measures import MEASURES, Measure
from headscope.models import Model, load, wrap
from headscope.text.batching import TextBatch, collate
from headscope.text.encode import EncodedInput, TextEncoder
from headscope.text.items import TextPair
from headscope.trace import AttentionCall, Capture, Carrier, survey
from headscope.trace.architecture import Place
from headscope.types import LayerAttention


def encoded(model: Model, count: int, length: int) -> list[EncodedInput]:
    """Pairs of paragraphs of the sample corpus that follow each other, so many of so many tokens."""
    paragraphs = [line for line in sample_path().read_text(encoding="utf-8").splitlines() if line.strip()]
    encoder = TextEncoder(model.tokenizer, "pair", length)
    size = 1 + length // 128
    joined = [
        " ".join(paragraphs[(start + k) % len(paragraphs)] for k in range(size))
        for start in range(count + size)
    ]
    return [encoder.encode(TextPair(joined[i], joined[i + size])) for i in range(count)]


def in_batches(model: Model, texts: list[EncodedInput], together: int) -> list[TextBatch]:
    """The texts as padded batches on the model's device."""
    made = [
        collate(texts[start : start + together], pad=0, has_segments=model.has_segments, one_segment=False)
        for start in range(0, len(texts), together)
    ]
    return [batch.bound_for(model.device).to(model.device) for batch in made]


def texts(model: Model, count: int, length: int) -> list[TextBatch]:
    return in_batches(model, encoded(model, count, length), max(1, 32_768 // length))


def observe(
    capture: Capture, carrier: Carrier, batches: list[TextBatch], names: list[str], *, moved: bool = False
) -> list[Measure]:
    """All of these measures by where heads look, and with `moved` by what they move too."""
    (grid,) = capture.stacks.grids
    kinds = [MEASURES.get(name) for name in names]
    looked = [kind.empty(grid) for kind in kinds]
    taken = [kind.empty(grid) for kind in kinds if moved and kind.weighable]
    for batch in batches:

        def see(place: Place, call: AttentionCall, batch: TextBatch = batch) -> None:
            carried = carrier.carried(place, call.value, call.output)
            seen = LayerAttention.observed(place.layer, call.weights, batch.source, batch.source, carried)
            for state in looked:
                state.update(seen)
            for state in taken:
                state.update(seen.moved)

        with carrier.watching():
            capture.run_calls(batch.inputs, see)
    return [*looked, *taken]


def surveyed(model: Model) -> tuple[Capture, Carrier]:
    capture = survey(model)
    return capture, Carrier(capture)


def forward(model: Model, batches: list[TextBatch]) -> None:
    with torch.inference_mode():
        for batch in batches:
            model.core(**batch.inputs)


def seconds(work: Callable[[], object]) -> float:
    torch.cuda.synchronize()
    start = perf_counter()
    work()
    torch.cuda.synchronize()
    return perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--demo", default="demo", help="the demo model's name or folder")
    options = parser.parse_args()
    names = MEASURES.names()
    fast = [name for name in names if name != "head_distance"]

    on_cpu, on_gpu = load(options.demo, device="cpu"), load(options.demo, device="cuda", dtype="float32")
    expected = observe(*surveyed(on_cpu), texts(on_cpu, 16, 128), names)
    found = observe(*surveyed(on_gpu), texts(on_gpu, 16, 128), names)
    for left, right in zip(expected, found, strict=True):
        for name, array in left.result().items():
            gap = np.nanmax(np.abs(array.values - right.result()[name].values))
            print(f"CPU against {torch.cuda.get_device_name()}: {name:28s} largest difference {gap:.1e}")

    config = BertConfig(vocab_size=len(on_gpu.tokenizer))
    base = wrap(
        BertModel(config).eval().to("cuda", torch.bfloat16),
        on_gpu.tokenizer,
        name="random 12 x 12 x 768, bf16",
    )
    for model in (on_gpu, base):
        road = surveyed(model)  # once a run, however long
        for count, length in ((2048, 128), (256, 512)):
            batches = texts(model, count, length)
            forward(model, batches)
            observe(*road, batches[:1], names)
            plain = median(seconds(lambda: forward(model, batches)) for _ in range(5))
            print(f"{model.name}, {count} x {length} tokens: plain sdpa {plain:.3f} s")
            for label, chosen, rounds, moved in (
                ("all but head_distance", fast, 3, False),
                ("the same, and what is moved", fast, 3, True),
                ("all measures, looked", names, 1, False),
            ):
                few = batches if chosen is fast else batches[:1]
                took = median(
                    seconds(lambda: observe(*road, few, chosen, moved=moved)) for _ in range(rounds)
                )
                scale = len(batches) / len(few)
                print(f"  {label:28s} {took * scale / plain:8.1f}x", flush=True)


if __name__ == "__main__":
    main()
