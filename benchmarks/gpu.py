"""What "everything" costs on a GPU, as a ratio to the plain sdpa forward pass of the same round.

A run from ready batches on, as `headscope analyze` does it: batches as large as it takes them, or as the plain pass has
them where those are smaller, each counted in a state of its own and merged. What goes on beside it is not in it:
reading, encoding, and what is derived of tokens before they go to the GPU. Uses the light core alone (torch, triton,
transformers, numpy): make bench-gpu
"""

import argparse
import gc
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median

import torch
from accelerator import encoded, forward, in_batches, seconds
from results import Table, keep
from transformers import BertConfig, BertModel, Qwen2Config, Qwen2Model

from headscope.kernels.verify import choose_kernels
from headscope.measures import MEASURES, HeadDistance, Measure, SampledHeadDistance
from headscope.models import Model, load, wrap
from headscope.passes.measure_set import Measures
from headscope.passes.run_pass import Job, Shard
from headscope.passes.weighting import needs_values
from headscope.text.batching import by_length
from headscope.text.encode import EncodedInput
from headscope.trace import Carrier, survey
from headscope.trace.watch import Watch

LONGEST_EXACT = 512
"""Longer texts' maps of all layers do not fit beside each other."""
BATCHES = 8
"""So many batches' worth of texts."""
WITHOUT = [MEASURES.get(name) for name in MEASURES.names() if name != "head_distance"]


@dataclass(frozen=True)
class Text:
    """A text as a run reads it."""

    encoded: EncodedInput

    def __len__(self) -> int:
        return len(self.encoded)


class Road:
    """All of a model's measures, looked and moved, by the kernels or by the model's own function."""

    def __init__(self, model: Model) -> None:
        self.capture = survey(model)
        self.carrier = Carrier(self.capture)

    def run(
        self,
        texts: list[EncodedInput],
        together: int,
        kinds: list[type[Measure]],
        *,
        weigh: str,
        kernels: bool = True,
    ) -> Callable[[], Measures]:
        """A run over the texts, at most so many together: what a GPU is busy with, ready to be timed."""
        carries = weigh == "both" or any(map(needs_values, kinds))
        states = Measures.of(self.capture, kinds, weigh=weigh)
        watch = Watch(
            self.capture,
            held_rows=states.held_rows,
            derives=states.derives(),
            carrier=self.carrier if carries else None,
        )
        choose_kernels(watch, wanted=kernels, faithful=False)
        if kernels and not watch.by_kernels:
            raise RuntimeError(watch.kernels)
        fitting = watch.texts_at()
        batches = by_length(map(Text, texts), lambda length: min(together, fitting(length)))
        ready = [watch.ready(some) for some in batches]
        job = Job(states.empty(), lambda part, some: part.update(watch, some.moved()), lambda some: some)

        def run() -> Measures:
            with watch.running():
                return job.run(Shard(0, ready))

        return run


def bert_large(tokenizer: object) -> torch.nn.Module:
    return BertModel(
        BertConfig(
            vocab_size=len(tokenizer),  # type: ignore[arg-type]
            hidden_size=1024,
            num_hidden_layers=24,
            num_attention_heads=16,
            intermediate_size=4096,
        )
    )


def small_decoder(tokenizer: object) -> torch.nn.Module:
    return Qwen2Model(
        Qwen2Config(
            vocab_size=len(tokenizer),  # type: ignore[arg-type]
            hidden_size=1536, num_hidden_layers=28, num_attention_heads=12, num_key_value_heads=2,
            intermediate_size=8960, max_position_embeddings=4096,
        )
    )  # fmt: skip


MODELS: dict[str, tuple[Callable[[object], torch.nn.Module], list[tuple[int, int]]]] = {
    "BERT-large bf16": (bert_large, [(256, 128), (64, 512)]),
    "1.5B-class GQA decoder bf16": (small_decoder, [(8, 2048)]),
}
"""One at a time on the GPU, so that the memory of a pass is its own."""


def contenders_of(
    road: Road, texts: list[EncodedInput], together: int, length: int, *, each: bool
) -> dict[str, Callable[[], object]]:
    sampled, exact = [*WITHOUT, SampledHeadDistance], [*WITHOUT, HeadDistance]
    entropy = [MEASURES.get("entropy")]
    contenders: dict[str, Callable[[], Callable[[], object]]] = {
        "kernels, entropy alone": partial(road.run, texts, together, entropy, weigh="looked"),
        "kernels, all but distances, looked": partial(road.run, texts, together, WITHOUT, weigh="looked"),
        "kernels, all but distances": partial(road.run, texts, together, WITHOUT, weigh="both"),
        "kernels, sampled distances, looked": partial(road.run, texts, together, sampled, weigh="looked"),
        "kernels, sampled distances": partial(road.run, texts, together, sampled, weigh="both"),
    }
    if length <= LONGEST_EXACT:
        contenders["kernels, exact distances, looked"] = partial(
            road.run, texts, together, exact, weigh="looked"
        )
    for kind in WITHOUT if each else []:
        contenders[f"kernels, {kind.name} alone, looked"] = partial(
            road.run, texts, together, [kind], weigh="looked"
        )
    own = partial(road.run, texts, together, WITHOUT, weigh="both", kernels=False)
    return {
        name: _made(make) for name, make in (contenders | {"own function, all but distances": own}).items()
    }


def _made(make: Callable[[], Callable[[], object]]) -> Callable[[], object]:
    """The work, made ready when it is first done."""
    ready: list[Callable[[], object]] = []

    def work() -> object:
        ready[:] = ready or [make()]
        return ready[0]()

    return work


def measured(
    model: Model,
    texts: list[EncodedInput],
    together: int,
    contenders: dict[str, Callable[[], object]],
    rounds: int,
) -> dict[str, tuple[float, float]]:
    """By contender, how much time and memory it takes, as multiples of the plain pass in batches of so many."""
    batches = in_batches(model, texts, together)
    forward(model, batches)
    torch.cuda.reset_peak_memory_stats()
    plain = median(seconds(lambda: forward(model, batches)) for _ in range(rounds))
    memory = torch.cuda.max_memory_allocated()
    print(f"  plain sdpa {plain * 1e3:.1f} ms, {memory / 2**30:.2f} GiB")
    found: dict[str, tuple[float, float]] = {}
    for label, work in contenders.items():
        is_slow = "exact" in label or "own" in label
        try:
            for _ in range(1 if is_slow else 2):
                work()
            torch.cuda.reset_peak_memory_stats()
            ratios = []
            for _ in range(1 if is_slow else rounds):
                took = seconds(work)
                ratios.append(took / seconds(lambda: forward(model, batches)))
            found[label] = median(ratios), torch.cuda.max_memory_allocated() / memory
            print(f"  {label:36s} {found[label][0]:7.2f}x, memory {found[label][1]:.2f}x", flush=True)
        except Exception as error:
            print(f"  {label:36s} {type(error).__name__}: {str(error)[:200]}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--each", action="store_true", help="each measure by itself too")
    arguments = parser.parse_args()
    rounds = arguments.rounds
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {rounds} rounds, medians")
    tokenizer = load("demo", device="cpu").tokenizer
    columns: dict[str, dict[str, tuple[float, float]]] = {}
    for name, (make, shapes) in MODELS.items():
        with torch.device("cuda"):
            network = make(tokenizer).eval().bfloat16()
        model = wrap(network, tokenizer, name="random")
        road = Road(model)
        for count, length in shapes:
            print(f"{name}, {count} x {length}")
            texts = encoded(model, BATCHES * count, length)
            contenders = contenders_of(road, texts, count, length, each=arguments.each)
            columns[f"{name}, {count} x {length}"] = measured(model, texts, count, contenders, rounds)
            keep("gpu", tables_of(columns, rounds), machine=torch.cuda.get_device_name())
        del network, model, road, contenders
        gc.collect()


def tables_of(columns: dict[str, dict[str, tuple[float, float]]], rounds: int) -> list[Table]:
    """What was measured so far, by model and shape, as pages show it: time, then memory."""
    labels = dict.fromkeys(label for column in columns.values() for label in column)
    notes = (
        f"Texts x tokens of a batch, random weights, {rounds} rounds, exact distances and own function one; by where "
        "heads look (looked), or by that and by what they move."
    )
    titles = (
        "A run over eight batches' worth of texts, as a multiple of the plain forward pass",
        "Its memory, as a multiple of that of the plain forward pass",
    )
    return [
        Table(
            title,
            notes,
            list(columns),
            [
                (label, [column[label][number] if label in column else None for column in columns.values()])
                for label in labels
            ],
            quoted=number == 0,
        )
        for number, title in enumerate(titles)
    ]


if __name__ == "__main__":
    main()
