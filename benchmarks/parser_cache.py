"""The parser probe's attention: kept in a memory-mapped file, or computed again in every epoch?

Prints what an epoch costs either way as a ratio to a plain forward pass (sdpa, no attention kept) over the same
sentences in the same run, and the peak memory of a fresh process either way, on some text and on four times as much.
"""

import argparse
import resource
import subprocess
import sys
import warnings
from statistics import median
from time import perf_counter

import torch

import headscope as hs
from headscope.models import Model
from headscope.probes.observe import Observer
from headscope.text.annotated.treebank import Treebank, read_treebank
from headscope_papers.parser import training as parser_training
from headscope_papers.parser.attention import CACHE_LIMIT
from headscope_papers.parser.data import Account, Batcher
from headscope_papers.parser.probe import ParserProbe

EPOCHS = 3
LIMITS = {"computed again": 0, "kept in a file": CACHE_LIMIT}
BAR = 0.5
"""A later epoch with the file must cost less than so much of one without."""


def material(times: int) -> Treebank:
    """The sample treebank, so many times over."""
    return read_treebank(*[hs.sample_path("treebank")] * times)


def forward(model: Model, treebank: Treebank) -> float:
    """Seconds of a plain forward pass over the batches that the probe makes."""
    observer = Observer(model)
    batches = list(Batcher(observer.encoder, "encoder", None).batches(treebank, Account()))
    inputs = [observer.watch.batch(batch.encoded).inputs for batch in batches]
    start = perf_counter()
    with torch.inference_mode():
        for one in inputs:
            model.core(**one)
    return perf_counter() - start


def fit(model: Model, treebank: Treebank, *, limit: int, epochs: int) -> float:
    """Seconds it takes to train for so many epochs."""
    probe = ParserProbe(model, words=True, cache_limit=limit, max_epochs=epochs, patience=epochs)
    start = perf_counter()
    probe.fit(treebank, treebank)
    return perf_counter() - start


def peak_megabytes(limit: int, times: int) -> float:
    """Peak resident memory of a fresh process; pages of the mapped file that the system keeps are counted."""
    done = subprocess.run(
        [sys.executable, __file__, "--limit", str(limit), "--times", str(times)],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--times", type=int, default=4, help="how often the sample treebank is repeated")
    parser.add_argument("--limit", type=int, help=argparse.SUPPRESS)  # for the child process
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    parser_training.EPOCH_STEPS = (
        1  # an epoch is to go over the sentences once, as it does on a large treebank
    )
    model = hs.load("demo", device="cpu")
    if options.limit is not None:
        fit(model, material(options.times), limit=options.limit, epochs=2)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    treebank = material(options.times)
    sentences = sum(1 for _ in treebank)
    print(f"{sentences} sentences, {torch.get_num_threads()} threads, {options.rounds} rounds")
    forward(model, material(1))
    first: dict[str, list[float]] = {name: [] for name in LIMITS}
    later: dict[str, list[float]] = {name: [] for name in LIMITS}
    plain = []
    for _ in range(options.rounds):
        base = forward(model, treebank)
        plain.append(base)
        for name, limit in LIMITS.items():
            once = fit(model, treebank, limit=limit, epochs=1)
            more = fit(model, treebank, limit=limit, epochs=1 + EPOCHS)
            first[name].append(once / base)
            later[name].append((more - once) / EPOCHS / base)
    print(f"plain sdpa forward pass {median(plain):.2f} s; an epoch trains on all sentences and scores all")
    for name in LIMITS:
        print(
            f"  {name:16s} first epoch {median(first[name]):6.2f}x   later epochs {median(later[name]):6.2f}x"
        )
    again, kept = (median(later[name]) for name in LIMITS)
    print(f"  a later epoch with the file costs {kept / again:.2f} of one without  (bar {BAR})")
    for name, limit in LIMITS.items():
        small, large = (peak_megabytes(limit, times) for times in (options.times, 4 * options.times))
        print(f"  {name:16s} peak memory {small:.0f} MB, on four times the text {large:.0f} MB")
    sys.exit(1 if kept > BAR * again else 0)


if __name__ == "__main__":
    main()
