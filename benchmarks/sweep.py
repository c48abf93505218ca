"""What does a sweep over all single heads cost, as a share of as many full evaluations?

Both ways in one run, in turns, in CPU time: the sweep, and full evaluations of the same examples, untouched (fast
attention everywhere) and with one head edited. The bar is against untouched ones, the stricter of both: one for the
untouched model and one for each head.

    python benchmarks/sweep.py FILE.json [--model demo-qa] [--questions 24]
"""

import argparse
import sys
from pathlib import Path
from time import process_time

import headscope as hs
from headscope.models import Model
from headscope.tasks import Task, with_head
from headscope.trace import surveyed

BAR = 0.6
PLAIN = 4
ROUNDS = 2


def seconds_of_plain(model: Model, task: Task) -> float:
    start = process_time()
    for _ in range(PLAIN):
        task.evaluate(model)
    return (process_time() - start) / PLAIN


def seconds_of_edited(model: Model, task: Task) -> float:
    layers = surveyed(model).stacks.grids[0].layers
    start = process_time()
    for layer in range(layers):
        with hs.edit(model, f"{layer}.0"):
            task.evaluate(model)
    return (process_time() - start) / layers


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", default="demo-qa")
    parser.add_argument("--task", default="qa")
    parser.add_argument("--questions", type=int, default=24)
    options = parser.parse_args()
    model = hs.load(options.model, device="cpu")
    stride = {"stride": None} if options.task == "qa" else {}
    whole = hs.task_for(options.task, options.data, model, **stride)
    model = with_head(model, whole.head)
    task = whole.limited(options.questions)
    grid = surveyed(model).stacks.grids[0]
    evaluations = 1 + grid.layers * grid.heads
    task.evaluate(model)  # warm up, and encode
    sweep = plain = edited = 0.0
    for number in range(ROUNDS):
        plain += seconds_of_plain(model, task)
        start = process_time()
        hs.ablate(model, task, sweep="heads")
        took = process_time() - start
        sweep += took
        plain += seconds_of_plain(model, task)
        edited += seconds_of_edited(model, task)
        print(
            f"round {number}: {took:.1f} s, {2 * took / plain * (number + 1) / evaluations:.3f}", flush=True
        )
    plain /= 2
    print(
        f"{evaluations} evaluations of {options.questions} examples, {options.model} on {options.data.name}"
    )
    print(f"{sweep / (evaluations * edited):.3f} of as many full evaluations with a head edited")
    print(f"{sweep / (evaluations * plain):.3f} of as many untouched ones (bar {BAR})")
    sys.exit(sweep / (evaluations * plain) > BAR)


if __name__ == "__main__":
    main()
