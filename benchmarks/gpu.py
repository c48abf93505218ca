"""What "everything" costs on a GPU, as a ratio to the plain sdpa forward pass of the same round.

Uses the light core alone (torch, triton, transformers, numpy): make bench-gpu
"""

import argparse
import gc
from collections.abc import Callable
from functools import partial
from statistics import median

import torch
from accelerator import forward, seconds, texts
from results import Table, keep
from torch import Tensor
from transformers import BertConfig, BertModel, Qwen2Config, Qwen2Model

from headscope.capture import AttentionCall, Carrier, Forward, survey
from headscope.capture.call import AttentionInputs
from headscope.capture.follow import replacing
from headscope.capture.kernels.batch import NOTHING, Asked, Root
from headscope.capture.kernels.gpu import TritonStack
from headscope.measures import MEASURES, HeadDistance, Measure, SampledHeadDistance
from headscope.models import Model, load, wrap
from headscope.models.stacks import Place
from headscope.text.batching import TextBatch
from headscope.types import AttentionBatch

LONGEST_EXACT = 512
"""Longer texts' maps of all layers do not fit beside each other."""
BATCHES = 4
"""So many batches follow each other, as in a run."""
WITHOUT = [MEASURES.get(name) for name in MEASURES.names() if name != "head_distance"]


class Road:
    """All of a model's measures, looked and moved, by the kernel or by the model's own function."""

    def __init__(self, model: Model) -> None:
        self.capture = survey(model)
        self.carrier = Carrier(self.capture)
        self.roots: dict[Place, Root] = {}
        (self.grid,) = self.capture.stacks.grids

    def count(self, states: list[Measure], moved: list[Measure], batch: AttentionBatch) -> None:
        for state in states:
            state.update(batch)
        weighed = batch.moved if moved else None
        for state in moved:
            state.update(weighed)

    def fused(self, batches: list[TextBatch], kinds: list[type[Measure]], *, moved: bool = True) -> None:
        """As `Watch.run_reduced` and `Measures.update` do it, which need more than the light core."""
        states, weighed = self._started(kinds)
        weighed = weighed if moved else []
        carries = moved or any(state.needs_carried for state in states)
        by_way = ((states, False), (weighed, True))
        single = [[state for state in own if not state.from_sums] for own, _ in by_way]
        at_once = [[state for state in own if state.from_sums] for own, _ in by_way]
        turn: list[TritonStack] = []
        shown = False

        def compute(place: Place, inputs: AttentionInputs, forward: Forward) -> Tensor:
            asked = NOTHING
            if carries:
                if place not in self.roots:
                    self.roots[place] = Root.of(self.carrier.root(place, inputs.value), inputs.value.dtype)
                asked = Asked(self.roots[place], self.carrier.residual(place), moved)
            (stack,) = turn
            call = stack.attend(place.layer, inputs, asked)
            if shown:
                self.count(*single, stack.layer(place.layer, call, None))
            if place.layer == self.grid.layers - 1:
                self.count(*at_once, stack.whole())
            return call.output

        with self.carrier.watching(), replacing(self.capture, compute) as run:
            for batch in batches:
                tokens = batch.source.on_host.to(
                    batch.source.ids.device
                )  # as in a run, where no batch comes twice
                wanted = [
                    rows
                    for own, is_moved in zip(at_once, (False, True), strict=True)
                    for state in own
                    for rows in state.wanted(tokens, tokens, moved=is_moved)
                ]
                shown = any(state.looks_at(tokens) for own in single for state in own)
                turn[:] = [TritonStack(self.grid, (tokens, tokens), wanted)]
                run(batch.inputs)
                turn.clear()

    def own(self, batches: list[TextBatch], kinds: list[type[Measure]]) -> None:
        states, moved = self._started(kinds)
        for batch in batches:
            tokens = batch.source.on_host.to(batch.source.ids.device)

            def look(place: Place, call: AttentionCall) -> None:
                carried = self.carrier.carried(place, call.value, call.output)
                seen = AttentionBatch.observed(place.layer, call.weights, tokens, tokens, carried)
                self.count(states, moved, seen)

            with self.carrier.watching():
                self.capture.run_calls(batch.inputs, look)

    def _started(self, kinds: list[type[Measure]]) -> tuple[list[Measure], list[Measure]]:
        fitting = [kind for kind in kinds if kind.fits(self.grid)]
        weighable = [kind for kind in fitting if kind.weighable]
        return [kind.empty(self.grid) for kind in fitting], [kind.empty(self.grid) for kind in weighable]


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
    road: Road, batches: list[TextBatch], length: int, *, each: bool
) -> dict[str, Callable[[], object]]:
    sampled, exact = [*WITHOUT, SampledHeadDistance], [*WITHOUT, HeadDistance]
    contenders: dict[str, Callable[[], object]] = {
        "kernels, nothing counted": partial(road.fused, batches, [], moved=False),
        "kernels, all but distances, looked": partial(road.fused, batches, WITHOUT, moved=False),
        "kernels, all but distances": partial(road.fused, batches, WITHOUT),
        "kernels, sampled distances, looked": partial(road.fused, batches, sampled, moved=False),
        "kernels, sampled distances": partial(road.fused, batches, sampled),
    }
    if length <= LONGEST_EXACT:
        contenders["kernels, exact distances, looked"] = partial(road.fused, batches, exact, moved=False)
    for kind in WITHOUT if each else []:
        contenders[f"kernels, {kind.name} alone, looked"] = partial(road.fused, batches, [kind], moved=False)
    return contenders | {"own function, all but distances": partial(road.own, batches, WITHOUT)}


def measured(
    model: Model, batches: list[TextBatch], contenders: dict[str, Callable[[], object]], rounds: int
) -> dict[str, tuple[float, float]]:
    """By contender, how much time and memory it takes, as multiples of the plain pass."""
    forward(model, batches)
    torch.cuda.reset_peak_memory_stats()
    plain = median(seconds(lambda: forward(model, batches)) for _ in range(rounds))
    memory = torch.cuda.max_memory_allocated()
    print(f"  plain sdpa {plain * 1e3:.1f} ms, {memory / 2**30:.2f} GiB")
    found: dict[str, tuple[float, float]] = {}
    for label, work in contenders.items():
        try:
            work()
            work()
            torch.cuda.reset_peak_memory_stats()
            ratios = []
            for _ in range(1 if "exact" in label or "own" in label else rounds):
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
        network = make(tokenizer).eval().to("cuda", torch.bfloat16)
        model = wrap(network, tokenizer, name="random")
        road = Road(model)
        for count, length in shapes:
            print(f"{name}, {count} x {length}")
            batches = texts(model, BATCHES * count, length, together=count)
            contenders = contenders_of(road, batches, length, each=arguments.each)
            columns[f"{name}, {count} x {length}"] = measured(model, batches, contenders, rounds)
            keep("gpu", tables_of(columns, rounds), machine=torch.cuda.get_device_name())
        del network, model, road, batches, contenders
        gc.collect()


def tables_of(columns: dict[str, dict[str, tuple[float, float]]], rounds: int) -> list[Table]:
    """What was measured so far, by model and shape, as pages show it: time, then memory."""
    labels = dict.fromkeys(label for column in columns.values() for label in column)
    notes = (
        f"Texts x tokens of a batch, random weights, {rounds} rounds, exact distances and own function one; by where "
        "heads look (looked), or by that and by what they move."
    )
    titles = (
        "Four batches that follow each other, as a multiple of the plain forward pass",
        "Their memory, as a multiple of that of the plain forward pass",
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
