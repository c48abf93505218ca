"""What shards, checkpoints and the merge cost, and that memory does not grow with the number of texts.

python benchmarks/scale.py read --texts 10000000    # reader, encoder and merge, without a model
python benchmarks/scale.py merge --shards 10000     # states of all measures of the demo model
python benchmarks/scale.py checkpoint --texts 2048  # the same run twice without and once with --checkpoint
python benchmarks/scale.py ray --texts 2000         # the same run without and with Ray, one and two workers
"""

import argparse
import resource
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import torch

import headscope as hs
from headscope.measures.base import TextMean
from headscope.passes import checkpoint
from headscope.passes.checkpoint import checkpoint as checkpointing
from headscope.passes.cluster import cluster
from headscope.passes.merging import MergeTree
from headscope.passes.on_ray import OnRay
from headscope.passes.reader import Reader, ReadText
from headscope.passes.run_pass import TEXTS_A_SHARD, in_chunks, run_pass
from headscope.passes.states import dump_state, load_state
from headscope.text.corpus import as_corpus
from headscope.trace import survey
from headscope.trace.watch import Watch

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
KINDS = ("without", "without again", "with")
"""Runs that are compared for what a checkpoint costs."""


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
    clocks, told = [(now, now()) for now in (perf_counter, process_time)], 0

    def count(part: TextMean, batch: list[ReadText]) -> None:
        nonlocal told
        part.add(torch.tensor([float(len(text)) for text in batch]))
        if reader.read >= (told + 1) * texts // 10:
            told = 10 * reader.read // texts
            clock, core = (reader.read / (now() - since) for now, since in clocks)
            speed = f"{core:8,.0f} texts a second of a core, {clock:,.0f} by the clock"
            print(f"{reader.read:>12,} texts  {speed}  peak {peak_mb():7.1f} MB", flush=True)

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


def _run(texts: int, stack: ExitStack, file: Path | None = None) -> tuple[float, float]:
    """Seconds by the clock and of this process for a run of all measures but distances."""
    with stack:
        model, corpus = hs.load("demo"), list(made_texts(texts)) if file is None else hs.read_text(file)
        started, used = perf_counter(), process_time()
        hs.analyze(model, corpus, limit=texts, distances="none", sentences=0)
        return perf_counter() - started, process_time() - used


def checkpoints(texts: int, rounds: int) -> None:
    """Runs with a checkpoint between two without, in seconds of a core, and what the checkpoint itself took.

    How far the two without are apart says what a difference is worth.
    """
    spent, put = 0.0, checkpoint._Pass.put

    def timed(self, shard, state):  # type: ignore[no-untyped-def]
        nonlocal spent
        started = process_time()
        shard.id  # noqa: B018  # the hash of the texts is a part of the cost
        put(self, shard, state)
        spent += process_time() - started

    checkpoint._Pass.put = timed
    ratios, apart, shares = [], [], []
    _run(texts, ExitStack())
    for number in range(rounds):
        used = dict.fromkeys(KINDS, 0.0)
        for kind in KINDS[number % 3 :] + KINDS[: number % 3]:  # no kind always comes first
            with tempfile.TemporaryDirectory() as folder:
                stack, spent = ExitStack(), 0.0
                if kind == "with":
                    stack.enter_context(checkpointing(Path(folder) / "kept"))
                _, used[kind] = _run(texts, stack)
                if kind == "with":
                    shares.append(spent / used[kind])
        first, again, kept = (used[kind] for kind in KINDS)
        ratios.append(2 * kept / (first + again) - 1)
        apart.append(again / first - 1)
        seconds = f"{first:.2f} and {again:.2f} s of a core without, {kept:.2f} s with"
        print(f"{texts} texts: {seconds}, {ratios[-1]:+.1%}; keeping took {shares[-1]:.2%}", flush=True)
    runs = f"{median(ratios):+.2%} with; two runs without are {median(map(abs, apart)):.2%} apart"
    print(f"medians: {runs}; keeping {median(shares):.2%}")


def on_ray(texts: int, rounds: int, file: Path | None) -> None:
    """Without Ray, with one worker, and with two, by turns; what it takes to start them is told apart."""
    _run(min(texts, 64), ExitStack())
    for _ in range(rounds):
        plain, core = _run(texts, ExitStack(), file)
        print(f"{texts} texts without Ray: {plain:.1f} s, {core:.1f} s of a core", flush=True)
        for workers in (1, 2):
            stack, started = ExitStack(), perf_counter()
            engine = stack.enter_context(cluster(workers=workers))
            start = perf_counter() - started
            begun, ended = _noted(engine), []
            stack.callback(lambda engine=engine, ended=ended: ended.extend(_used_by_workers(engine)))
            took, used = _run(texts, stack, file)
            counting = sum(ended) - sum(begun)
            print(
                f"{workers} worker(s): {took:.1f} s, {took / plain - 1:+.1%}; {used:.1f} s of a core here and "
                f"{counting:.1f} s there, together {(used + counting) / core - 1:+.1%}; to start workers "
                f"{', '.join(f'{seconds:.1f}' for seconds in begun)} s of a core, the cluster {start:.1f} s",
                flush=True,
            )


def _noted(engine: OnRay) -> list[float]:
    """Gets what workers have used when they have their job: what they are started for begins then."""
    begun: list[float] = []
    begin = engine._begin

    def noting(job):  # type: ignore[no-untyped-def]
        begin(job)
        begun.extend(_used_by_workers(engine))

    engine._begin = noting  # type: ignore[method-assign]
    return begun


def _used_by_workers(engine: OnRay) -> list[float]:
    """Seconds of a core that each worker has used."""
    promised = [worker.__ray_call__.remote(lambda self: process_time()) for worker in engine._workers]
    return list(engine.ray.get(promised))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["read", "merge", "checkpoint", "ray"])
    parser.add_argument("--texts", type=int, default=2048)
    parser.add_argument("--shards", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--text", type=Path, help="for ray: texts of this file in place of short ones")
    options = parser.parse_args()
    match options.what:
        case "read":
            read(options.texts)
        case "merge":
            merge(options.shards)
        case "checkpoint":
            checkpoints(options.texts, options.rounds)
        case "ray":
            on_ray(options.texts, options.rounds, options.text)
