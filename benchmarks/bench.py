"""`make bench`: what a run costs on this machine's CPU, beside the plain forward pass and beside other ways.

Every contender runs between two plain forward passes of the same texts, all contenders in turn, several rounds; what is
kept are medians of ratios. Writes benchmarks/RESULTS.md and the README's table. About ten minutes on two quiet cores.

    python benchmarks/bench.py [--quick] [--peers PYTHON]

`--peers` names the Python of an environment that has transformer-lens, beside torch and transformers; see peers.py.
"""

import argparse
import json
import subprocess
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
from material import LENGTH, models, pairs
from results import Cell, Table, keep
from speed import as_in_2019, batches, forward, seconds
from torch import Tensor
from transformers import BertConfig, BertModel

import headscope as hs
from headscope.measures import MEASURES
from headscope.models import Model

Work = Callable[[], object]
ALL_BUT = [name for name in MEASURES.names() if name != "head_distance"]
FEW = 8
"""Segments of what would take minutes; scaled up."""


def raced(plain: Work, contenders: Mapping[str, tuple[Work, float]], rounds: int) -> dict[str, float]:
    """By contender, the median ratio of its time (times a scale) to the plain pass before and after it."""
    ratios: dict[str, list[float]] = {name: [] for name in contenders}
    plain()
    for _ in range(rounds):
        before = seconds(plain)
        for name, (work, scale) in contenders.items():
            took, after = seconds(work), seconds(plain)
            ratios[name].append(took * scale / ((before + after) / 2))
            before = after
    return {name: median(found) for name, found in ratios.items()}


def analysed(model: Model, texts: Sequence[tuple[str, str]], **options: Any) -> Work:
    """A run of headscope, without the second look at typical sentences, whose cost does not grow with the texts."""
    return lambda: hs.analyze(model, texts, sentences=0, **options)


def with_torch(model: Model, inputs: Sequence[dict[str, Tensor]]) -> None:
    """`output_attentions=True`, then averages and entropy by torch: previous, next, self, special tokens, rest."""
    model.core.set_attn_implementation("eager")
    special = torch.tensor([model.tokenizer.cls_token_id, model.tokenizer.sep_token_id])
    try:
        with torch.inference_mode():
            for batch in inputs:
                for attention in model.core(**batch, output_attentions=True).attentions:
                    for offset in (-1, 0, 1):
                        attention.diagonal(offset, -2, -1).mean(-1)
                    is_special = torch.isin(batch["input_ids"], special).to(attention)  # (text, key)
                    (attention @ is_special[:, None, :, None]).mean((-1, -2))
                    torch.special.entr(attention).sum(-1).mean(-1)
    finally:
        model.core.set_attn_implementation("sdpa")


def everything(rounds: int, segments: int, peers: str | None) -> Iterator[Table]:
    """The table that the README quotes."""
    texts, rows = pairs(segments), {}
    for name, model in models().items():
        inputs = batches(model, texts)
        few = inputs[: max(1, FEW // len(inputs[0]["input_ids"]))]
        scale = len(texts) / sum(len(batch["input_ids"]) for batch in few)
        contenders: dict[str, tuple[Work, float]] = {
            "all but head distances, looked": (
                analysed(model, texts, distances="none", weigh="looked"),
                1,
            ),
            "all but head distances, looked and moved": (analysed(model, texts, distances="none"), 1),
            "everything, sampled distances (the default)": (analysed(model, texts), 1),
            "everything, exact distances": (analysed(model, texts, distances="exact"), 1),
            "`output_attentions=True`, averages and entropy by torch": (
                partial(with_torch, model, inputs),
                1,
            ),
            "notebook: the same by numpy": (partial(as_in_2019, model, inputs, distances=False), 1),
            "notebook: with all head distances": (partial(as_in_2019, model, few, distances=True), scale),
        }
        rows[name] = raced(partial(forward, model, inputs), contenders, rounds)
        rows[name] |= _of_peers(peers, name, segments, rounds)
    first = next(iter(rows.values()))
    yield Table(
        "A whole run as a multiple of the plain forward pass",
        f"{segments} segments of {LENGTH} tokens, float32, {torch.get_num_threads()} threads, {rounds} rounds. The "
        f"notebook way with distances on {FEW} segments, scaled up. TransformerLens, where it is listed, keeps all "
        "patterns of a batch and averages them by torch, as above; BertViz draws the maps of a text and has no "
        "numbers over texts, so it does not do this job.",
        list(rows),
        [(name, [found.get(name) for found in rows.values()]) for name in first],
        quoted=True,
    )


def by_measure(rounds: int, segments: int) -> Iterator[Table]:
    """Each measure alone, by where heads look and by what they move too."""
    model, texts = models()["demo 12 x 8 x 256"], pairs(segments)
    contenders: dict[str, tuple[Work, float]] = {}
    for name in MEASURES.names():
        for weigh in ("looked", "both") if MEASURES.get(name).weighable else ("looked",):
            contenders[f"{name} {weigh}"] = (analysed(model, texts, measures=[name], weigh=weigh), 1)
    found = raced(partial(forward, model, batches(model, texts)), contenders, rounds)
    yield Table(
        "Each measure alone",
        f"The demo model, {segments} segments of {LENGTH} tokens, {rounds} rounds; sampled distances.",
        ["looked", "looked and moved"],
        [(name, [found[f"{name} looked"], found.get(f"{name} both")]) for name in MEASURES.names()],
    )


def random_model(tokenizer: Any, *, layers: int, heads: int, hidden: int, longest: int = 512) -> Model:
    """A BERT of that shape with random weights."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * hidden,
        max_position_embeddings=longest,
    )
    tokenizer = deepcopy(tokenizer)
    tokenizer.model_max_length = longest
    return hs.wrap(BertModel(config).eval(), tokenizer, name=f"{layers}x{heads}x{hidden}")


GROWN = {
    "all but head distances": {"distances": "none"},
    "everything, sampled distances": {},
    "everything, exact distances": {"distances": "exact"},
}


def grown(
    points: Mapping[str, tuple[Model, Sequence[tuple[str, str]], Mapping[str, Any]]],
    rounds: int,
    most: Mapping[str, str] | None = None,
) -> list[tuple[str, list[Cell]]]:
    """A row for each point: seconds of the plain pass, and ratios; `most` says where a column is left out."""
    rows: list[tuple[str, list[Cell]]] = []
    for point, (model, texts, options) in points.items():
        inputs = _inputs(model, texts, options.get("max_length", LENGTH), options.get("batch_size", 8))
        chosen = {
            name: given for name, given in GROWN.items() if point not in (most or {}).get(name, "").split()
        }
        contenders = {
            name: (analysed(model, texts, **options, **given), 1.0) for name, given in chosen.items()
        }
        plain = partial(forward, model, inputs)
        found = raced(plain, contenders, rounds)
        rows.append((point, [f"{seconds(plain):.2f} s", *(found.get(name) for name in GROWN)]))
    return rows


def growth(rounds: int, *, quick: bool) -> Iterator[Table]:
    """Lengths, batches, heads and corpora."""
    demo = models()["demo 12 x 8 x 256"]
    columns = ["plain pass", *GROWN]
    lengths = (64, 128) if quick else (64, 128, 256, 512, 1024, 2048, 4096)
    small = random_model(demo.tokenizer, layers=2, heads=4, hidden=128, longest=4096)
    tokens = 512 if quick else 8192
    by_length = {
        str(length): (small, _long_pairs(tokens // length, length), {"max_length": length})
        for length in lengths
    }
    sizes = (1, 8) if quick else (1, 4, 16, 64)
    by_batch = {
        str(size): (demo, pairs(8 if quick else 64), {"batch_size": size, "weigh": "looked"})
        for size in sizes
    }
    by_heads = {
        str(4 * heads): (
            random_model(demo.tokenizer, layers=4, heads=heads, hidden=384),
            pairs(4 if quick else 32),
            {},
        )
        for heads in ((4, 12) if quick else (4, 8, 16, 32))
    }
    counts = (4, 8) if quick else (25, 100, 400)
    by_corpus = {str(count): (demo, pairs(count), {}) for count in counts}
    yield Table(
        "By length of text",
        f"Tokens of a text; a random BERT of 2 layers, 4 heads, 128 units; {tokens:,} tokens each time, so "
        "that the start of a run is most of it. Exact distances up to 1,024 tokens.",
        columns,
        grown(by_length, rounds, {"everything, exact distances": "2048 4096"}),
    )
    yield Table(
        "By batch",
        "Texts of 128 tokens at a time (`batch_size`), the demo model, looked.",
        columns,
        grown(by_batch, rounds),
    )
    yield Table(
        "By heads",
        "All heads of 4 layers of 384 units together, random weights.",
        columns,
        grown(by_heads, rounds),
    )
    yield Table("By corpus", "Segments of 128 tokens, the demo model.", columns, grown(by_corpus, rounds))


def _inputs(
    model: Model, texts: Sequence[tuple[str, str]], length: int, size: int
) -> list[dict[str, Tensor]]:
    """The texts as padded batches, about as many tokens together as headscope takes on a CPU."""
    together = max(1, min(size * LENGTH // length, 1024 // length)) if length != LENGTH else size
    return [
        dict(
            model.tokenizer(
                [a for a, _ in texts[start : start + together]],
                [b for _, b in texts[start : start + together]],
                truncation="longest_first",
                max_length=length,
                padding=True,
                return_tensors="pt",
            )
        )
        for start in range(0, len(texts), together)
    ]


def _long_pairs(count: int, length: int) -> list[tuple[str, str]]:
    """Pairs of at least that many tokens."""
    parts = max(1, length // 64)
    short = iter(pairs(2 * count * parts))
    return [
        (" ".join(next(short)[0] for _ in range(parts)), " ".join(next(short)[1] for _ in range(parts)))
        for _ in range(count)
    ]


def _of_peers(python: str | None, model: str, segments: int, rounds: int) -> dict[str, float]:
    """What peers.py measures in another environment; nothing where there is none, or it fails."""
    if python is None:
        return {}
    script = Path(__file__).parent / "peers.py"
    asked = [python, str(script), model, str(segments), str(rounds), str(torch.get_num_threads())]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{python} {script.name} failed: {done.stderr.strip().splitlines()[-1:]}", flush=True)
        return {}
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer texts and rounds: a minute or two, noisy")
    parser.add_argument("--peers", metavar="PYTHON", help="of an environment with transformer-lens")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # the texts are cut on purpose
    rounds, segments = (1, 8) if options.quick else (3, 200)
    tables: list[Table] = []
    for measured in (
        partial(everything, rounds, segments, options.peers),
        partial(by_measure, rounds, min(segments, 50)),
        partial(growth, min(rounds, 2), quick=options.quick),
    ):
        for table in measured():
            tables.append(table)
            print(f"\n{table.title}\n{table.markdown()}", flush=True)
    note = (
        "A quick run of few texts: expect noise, and the start of a run to weigh much."
        if options.quick
        else ""
    )
    keep("cpu", tables, note=note)


if __name__ == "__main__":
    main()
