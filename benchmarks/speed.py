"""How much longer than the plain forward pass does it take to know everything about every head?

Prints the median over rounds of the ratio to the plain sdpa forward pass of the same round. Measures alone: the second
look at typical sentences costs the same however long the corpus is.
"""

import argparse
import sys
import warnings
from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np
import torch
from material import LENGTH, SEGMENTS, models, pairs
from torch import Tensor

import headscope as hs
from headscope.measures import MEASURES
from headscope.models import Model

BATCH = 8
BARS = {"all but head_distance": 1.6, "all measures, exact distances": 8.0}


def seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def batches(model: Model, texts: list[tuple[str, str]]) -> list[dict[str, Tensor]]:
    encoded = [
        model.tokenizer(a, b, truncation="longest_first", max_length=LENGTH, return_tensors="pt")
        for a, b in texts
    ]
    assert all(text["input_ids"].shape[1] == LENGTH for text in encoded)
    keys = ("input_ids", "attention_mask", "token_type_ids")
    return [
        {key: torch.cat([text[key] for text in encoded[start : start + BATCH]]) for key in keys}
        for start in range(0, len(encoded), BATCH)
    ]


def forward(model: Model, inputs: list[dict[str, Tensor]], **options: bool) -> None:
    with torch.inference_mode():
        for batch in inputs:
            model.core(**batch, **options)


def as_in_2019(model: Model, inputs: list[dict[str, Tensor]], *, distances: bool) -> None:
    """Ask for all attention maps, keep them as numpy arrays, loop over texts: averages, entropies, distances."""
    model.core.set_attn_implementation("eager")
    try:
        with torch.inference_mode():
            for batch in inputs:
                maps = torch.stack(model.core(**batch, output_attentions=True).attentions, 1).numpy()
                for ids, attention in zip(
                    batch["input_ids"].numpy(), maps, strict=True
                ):  # (layer, head, query, key)
                    _statistics(ids, attention, model)
                    if distances:
                        _distances(attention.reshape(-1, LENGTH, LENGTH))
    finally:
        model.core.set_attn_implementation("sdpa")


def _statistics(ids: np.ndarray, attention: np.ndarray, model: Model) -> None:
    tokenizer = model.tokenizer
    place = np.arange(LENGTH)
    masks = {
        "previous": place[:, None] - 1 == place,
        "next": place[:, None] + 1 == place,
        "self": np.eye(LENGTH, dtype=bool),
        "cls": np.tile(ids == tokenizer.cls_token_id, (LENGTH, 1)),
        "sep": np.tile(ids == tokenizer.sep_token_id, (LENGTH, 1)),
        "punctuation": np.tile(np.isin(ids, tokenizer.convert_tokens_to_ids([".", ","])), (LENGTH, 1)),
    }
    masks["rest"] = ~(masks["cls"] | masks["sep"] | masks["punctuation"])
    for mask in masks.values():
        (attention * mask).sum((-1, -2)) / LENGTH
    smoothed = 0.9999 * attention + 0.0001 / LENGTH
    -(smoothed * np.log(smoothed)).sum(-1).mean(-1)


def _distances(heads: np.ndarray) -> None:
    smoothed = 0.999 * heads + 0.001 / LENGTH
    for head in smoothed:
        middle = (head + smoothed) / 2
        first = (head * np.log(head / middle)).sum(-1)
        second = (smoothed * np.log(smoothed / middle)).sum(-1)
        ((first + second) / 2).sum(-1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--segments", type=int, default=SEGMENTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # the texts are cut on purpose
    without = [name for name in MEASURES.names() if name != "head_distance"]
    texts = pairs(options.segments)
    few = max(BATCH, options.segments // 25)  # for what would take minutes; scaled up, and said so
    print(
        f"{options.segments} segments of {LENGTH} tokens, {torch.get_num_threads()} threads, {options.rounds} rounds"
    )
    missed = 0
    for name, model in models().items():
        inputs = batches(model, texts)
        contenders: dict[str, tuple[Callable[[], object], float]] = {
            "all but head_distance": (
                lambda m=model: hs.analyze(m, texts, measures=without, weigh="looked", sentences=0),
                1,
            ),
            "all measures": (lambda m=model: hs.analyze(m, texts, weigh="looked", sentences=0), 1),
            "all measures, exact distances": (
                lambda m=model: hs.analyze(m, texts, weigh="looked", sentences=0, distances="exact"),
                1,
            ),
            "the default: looked and moved, sampled distances": (
                lambda m=model: hs.analyze(m, texts, sentences=0),
                1,
            ),
            "2019: averages and entropy, numpy": (
                lambda m=model, i=inputs: as_in_2019(m, i, distances=False),
                1,
            ),
            f"2019: with distances, numpy ({few} segments, scaled)": (
                lambda m=model, i=inputs: as_in_2019(m, i[: few // BATCH], distances=True),
                len(texts) / few,
            ),
        }
        forward(model, inputs[:2])
        plain: list[float] = []
        ratios: dict[str, list[float]] = {contender: [] for contender in contenders}
        for number in range(options.rounds):
            for contender, (work, scale) in contenders.items():
                if contender != "all but head_distance" and number >= 2:  # slow and far from its bar
                    continue
                before, took = seconds(lambda: forward(model, inputs)), seconds(work)
                base = (before + seconds(lambda: forward(model, inputs))) / 2
                plain.append(base)
                ratios[contender].append(took * scale / base)
        print(f"\n{name}: plain sdpa forward pass {median(plain):.2f} s")
        for contender, found in ratios.items():
            bar = f"  (bar {BARS[contender]})" if contender in BARS else ""
            print(f"  {contender:52s} {median(found):7.2f}x{bar}", flush=True)
            missed += contender in BARS and median(found) > BARS[contender]
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
