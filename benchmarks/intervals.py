"""How often do the probes' 95 % intervals hold the truth, when texts of one document are alike?

Made-up corpora with a known truth, counted by the probes' own sums: documents of unequal length (the logarithms of
their numbers of sentences have a standard deviation of 1, as in English EWT), sentences of one or more cases, and a
share of the variance that lies between documents. Intervals as they are (over documents) and as they would be over
sentences, for shares of right guesses as the dependency probe has them and for mean differences as the relations
probe has them.

    python benchmarks/intervals.py [--draws 2000]

Exits with 1 when intervals over documents hold the truth less often than BAR.
"""

import argparse
import sys

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.probes.means import CaseMeans
from headscope.stats.intervals import mean_interval, share_interval

BAR = 0.925
TRUTH = 0.7
DOCUMENTS = (10, 20, 40, 100, 300)
BETWEEN = (0.0, 0.01, 0.05, 0.1)
AT_ONCE = 20
"""Draws that share the documents' lengths; each of the others has new ones."""

Floats = NDArray[np.float64]


def shares(rng: np.random.Generator, document: NDArray[np.int64], between: float) -> Floats:
    """(case, draw) 1 for a right guess; documents differ in how easy they are (beta-binomial)."""
    shape = (document.max() + 1, AT_ONCE)
    easy = np.full(shape, TRUTH)
    if between:
        scale = (1 - between) / between
        easy = rng.beta(TRUTH * scale, (1 - TRUTH) * scale, shape)
    return (rng.random((len(document), AT_ONCE)) < easy[document]).astype(float)


def differences(rng: np.random.Generator, document: NDArray[np.int64], between: float) -> Floats:
    """(case, draw) differences with a long tail, as those between an attention and its control."""
    own = rng.exponential(size=(len(document), AT_ONCE)) - 1
    common = rng.normal(size=(document.max() + 1, AT_ONCE))[document]
    return TRUTH + np.sqrt(between) * common + np.sqrt(1 - between) * own


def covered(documents: int, between: float, *, is_share: bool, draws: int, seed: int = 0) -> Floats:
    """(over sentences or documents, how often it holds the truth and how wide it is)."""
    rng = np.random.default_rng(seed)
    found = np.zeros((2, 2))
    for _ in range(draws // AT_ONCE):
        sentences = np.ceil(rng.lognormal(2, 1, documents)).astype(int)
        of_sentence = np.repeat(np.arange(documents), sentences)
        sentence = np.repeat(np.arange(len(of_sentence)), 1 + rng.poisson(0.8, len(of_sentence)))
        document = of_sentence[sentence]
        values = torch.from_numpy((shares if is_share else differences)(rng, document, between))
        for way, fewest in enumerate((documents + 1, 10)):
            sums = CaseMeans(AT_ONCE, fewest_documents=fewest)
            labels = ["all"] * len(document)
            sums.add(sums.begin(sentence.tolist(), labels, document.tolist()), values)
            units = sums.sampling("all").effective
            for mean, error in zip(sums.mean("all"), sums.stderr("all"), strict=True):
                low, high = (
                    share_interval(mean, error, len(document), units)
                    if is_share
                    else mean_interval(mean, error, units)
                )
                found[way] += low <= TRUTH <= high, high - low
    return found / (draws // AT_ONCE * AT_ONCE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--draws", type=int, default=2000, help="made-up corpora a row")
    draws: int = parser.parse_args().draws
    print(
        "| intervals of | documents | variance between them | over sentences | over documents | times as wide |"
    )
    print("|---|---|---|---|---|---|")
    least = 1.0
    for name in ("shares", "differences"):
        for documents in DOCUMENTS:
            for between in BETWEEN:
                (old, old_width), (new, width) = covered(
                    documents, between, is_share=name == "shares", draws=draws
                )
                least = min(least, new)
                ratio = width / old_width
                print(
                    f"| {name} | {documents} | {between:.0%} | {old:.1%} | {new:.1%} | {ratio:.2f} |",
                    flush=True,
                )
    print(f"\nover documents at least {least:.1%}, bar {BAR:.1%}")
    return int(least < BAR)


if __name__ == "__main__":
    sys.exit(main())
