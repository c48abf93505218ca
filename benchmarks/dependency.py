"""How much longer than the plain forward pass does the dependency probe take?

Plain means: read the treebank, encode its sentences, batch them as the probe does, and run the model with its own
fast attention. Prints the ratio of each round and their median.

    python benchmarks/dependency.py FILE.conllu
"""

import argparse
import sys
from collections.abc import Iterator
from statistics import median
from time import perf_counter

import torch

import headscope as hs
from headscope.probes.observe import USUAL
from headscope.text.batching import Bucketed
from headscope.text.encode import EncodedInput

BAR = 1.5


def plain(probe: hs.DependencyProbe, treebank: str) -> None:
    observer = probe.observer

    def encoded() -> Iterator[EncodedInput]:
        for sentence in hs.read_treebank(treebank):
            yield observer.encoder.encode_words(sentence.content)

    with torch.inference_mode():
        for batch in Bucketed(observer.watch.texts_at(), USUAL)(encoded()):
            observer.model.core(**observer.watch.batch(batch).inputs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("treebank", nargs="?", default=str(hs.sample_path("treebank")))
    parser.add_argument("--model", default="demo")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    probe = hs.DependencyProbe(options.model)
    plain(probe, options.treebank)  # warm up
    ratios = []
    for _ in range(options.rounds):
        start = perf_counter()
        plain(probe, options.treebank)
        middle = perf_counter()
        probe.fit_score(hs.read_treebank(options.treebank))
        ratios.append((perf_counter() - middle) / (middle - start))
        print(f"plain {middle - start:.1f} s, probe {ratios[-1]:.2f} x", flush=True)
    print(f"median {median(ratios):.2f} x the plain pass (bar {BAR})")
    sys.exit(median(ratios) > BAR)


if __name__ == "__main__":
    main()
