"""What does it cost to know what heads move, beside where they look?

Prints the median over rounds of the time of a run with `--weigh both` and loudness, as a ratio to the run with
`--weigh looked` and without loudness in the same round. With `--cpu`, times of the processor instead of the clock, for
machines that are busy. Exits with 1 when the default set of measures costs more than the bar.
"""

import argparse
import sys
from statistics import median
from time import perf_counter, process_time

from material import LENGTH, models, pairs

import headscope as hs
from headscope.measures import MEASURES
from headscope.types import Weigh

BAR = 1.15


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--segments", type=int, default=40)
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    clock = process_time if options.cpu else perf_counter
    texts = pairs(options.segments)
    attention = [name for name in MEASURES.names() if MEASURES.get(name).weighable]
    sets = {
        "all measures": attention,
        "all but head_distance": [name for name in attention if name != "head_distance"],
    }
    missed = False
    for name, model in models().items():
        for title, measures in sets.items():

            def seconds(kinds: list[str], weigh: Weigh) -> float:
                start = clock()
                hs.analyze(model, texts, measures=kinds, weigh=weigh, max_length=LENGTH, sentences=0)
                return clock() - start

            ratios = []
            for _ in range(options.rounds):
                before = seconds(measures, "looked")
                took = seconds([*measures, "loudness"], "both")
                ratios.append(took / ((before + seconds(measures, "looked")) / 2))
            bar = f"  (bar {BAR})" if title == "all measures" else ""
            print(f"{name}: {title:24s} {median(ratios):.3f}x{bar}", flush=True)
            missed = missed or (bool(bar) and median(ratios) > BAR)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
