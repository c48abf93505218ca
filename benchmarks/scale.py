"""What shards, checkpoints and the merge cost, and that memory does not grow with the number of texts.

python benchmarks/scale.py read --texts 10000000    # reader, encoder and merge, without a model
python benchmarks/scale.py merge --shards 10000     # states of all measures of the demo model
python benchmarks/scale.py checkpoint --texts 2048  # the same run without and with --checkpoint
python benchmarks/scale.py ray --texts 2000         # the same run without and with Ray, one and two workers
"""

import argparse
import resource
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter, process_time

import torch

import headscope as hs
from headscope.capture import survey
from headscope.measures.base import TextMean
from headscope.run import checkpoint
from headscope.run.checkpoint import checkpoint as checkpointing
from headscope.run.merging import MergeTree
from headscope.run.on_ray import cluster
from headscope.run.one_pass import TEXTS_A_SHARD, in_chunks, run_pass
from headscope.run.reader import Reader, ReadText
from headscope.run.states import dump_state, load_state
from headscope.run.watch import Watch
from headscope.text.corpus import as_corpus

WORDS = (
    "the cat",
    "a red house",
    "my old friend",
    "nobody",
    "the river",
    "her letter",
    "this town",
    "all of it",
)
VERBS = ("saw", "took", "left", "wanted", "found", "knew")


def made_texts(count: int) -> Iterator[str]:
    """Short texts, each another one."""
    for number in range(count):
        first, second = WORDS[number % len(WORDS)], WORDS[number // len(WORDS) % len(WORDS)]
        yield f"{first} {VERBS[number % len(VERBS)]} {second} on day {number}, and {second} was gone."


def peak_mb() -> float:
    """The most memory that this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def read(texts: int) -> None:
    """Every text is read, split, encoded and counted in shards; ten times it is told how much memory that took."""
    watch = Watch(survey(hs.load("demo")))
    reader = Reader(as_corpus(made_texts(texts), name="made"), watch.encoder(128))
    state = TextMean.zeros()
    started, told = perf_counter(), 0

    def count(part: TextMean, batch: list[ReadText]) -> None:
        nonlocal told
        part.add(torch.tensor([float(len(text)) for text in batch]))
        if reader.read >= (told + 1) * texts // 10:
            told = 10 * reader.read // texts
            speed = reader.read / (perf_counter() - started)
            print(f"{reader.read:>12,} texts  {speed:8,.0f} texts/s  peak {peak_mb():7.1f} MB", flush=True)

    run_pass(reader, state, count, batches=in_chunks(TEXTS_A_SHARD))
    print(f"{reader.read:,} texts, mean {float(state.mean()):.3f} tokens, peak {peak_mb():.1f} MB")


def merge(shards: int) -> None:
    """The state of one shard, read back and merged as if it were that of many."""
    kept: list[bytes] = []
    original = checkpoint.dump_state

    def keeping(state: object) -> bytes:
        kept.append(original(state))
        return kept[-1]

    checkpoint.dump_state = keeping
    like: list[object] = []
    with tempfile.TemporaryDirectory() as folder, checkpointing(folder) as engine:
        inner = engine.run

        def noting(parts, job, accept, told, *, keep):  # type: ignore[no-untyped-def]
            like.append(job.nothing)
            inner(parts, job, accept, told, keep=keep)

        engine.run = noting  # type: ignore[method-assign]
        hs.analyze("demo", list(made_texts(64)), sentences=0)
    tree: MergeTree = MergeTree()
    started = process_time()
    for place in range(shards):
        tree.add(place, load_state(kept[0], like[0].empty()))  # type: ignore[attr-defined]
    root = tree.root()
    took = process_time() - started
    size = len(kept[0]) / 1e6
    each = f"{1e3 * took / shards:.2f} ms each"
    print(f"{shards:,} states of {size:.1f} MB read and merged in {took:.1f} s of one core, {each}")
    print(f"peak {peak_mb():.0f} MB; the whole is {len(dump_state(root)) / 1e6:.1f} MB")


def _run(texts: int, stack: ExitStack) -> tuple[float, float]:
    """Seconds by the clock and of this process for a run of all measures but distances."""
    with stack:
        model, corpus = hs.load("demo"), list(made_texts(texts))
        started, used = perf_counter(), process_time()
        hs.analyze(model, corpus, distances="none", sentences=0)
        return perf_counter() - started, process_time() - used


def checkpoints(texts: int) -> None:
    """Runs without and with a checkpoint by turns, and what the checkpoint itself took."""
    spent = 0.0
    put = checkpoint._Pass.put

    def timed(self, shard, state):  # type: ignore[no-untyped-def]
        nonlocal spent
        started = perf_counter()
        shard.id  # noqa: B018  # the hash of the texts is a part of the cost
        put(self, shard, state)
        spent += perf_counter() - started

    checkpoint._Pass.put = timed
    for _ in range(2):
        plain, _used = _run(texts, ExitStack())
        with tempfile.TemporaryDirectory() as folder:
            stack = ExitStack()
            stack.enter_context(checkpointing(Path(folder) / "kept"))
            spent = 0.0
            kept, _used = _run(texts, stack)
        print(
            f"{texts} texts: {plain:.2f} s without, {kept:.2f} s with; keeping took {spent:.3f} s, {spent / kept:.2%}"
        )


def on_ray(texts: int) -> None:
    """Without Ray, with one worker, and with two; starting the cluster is told apart."""
    plain, _ = _run(texts, ExitStack())
    print(f"{texts} texts: {plain:.1f} s without Ray", flush=True)
    for workers in (1, 2):
        stack, started = ExitStack(), perf_counter()
        stack.enter_context(cluster(workers=workers))
        start = perf_counter() - started
        took, used = _run(texts, stack)
        print(
            f"{workers} worker(s): {took:.1f} s, {took / plain - 1:+.1%}; cluster started in {start:.1f} s",
            flush=True,
        )
        print(f"  the driver used {used:.1f} s of a core", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["read", "merge", "checkpoint", "ray"])
    parser.add_argument("--texts", type=int, default=2048)
    parser.add_argument("--shards", type=int, default=10_000)
    options = parser.parse_args()
    if options.what == "merge":
        merge(options.shards)
    else:
        {"read": read, "checkpoint": checkpoints, "ray": on_ray}[options.what](options.texts)
