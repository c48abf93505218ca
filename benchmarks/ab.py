"""`make bench-ab OLD=<commit>`: is this tree slower than a commit? Both run in turn, on this machine.

Every work of ab_works.py runs in a fresh process, by the one tree and by the other, in pairs whose order alternates.
Loading and a warm-up are not timed: compiling kernels is no part of a work. An older commit without ab_works.py is
given a copy.

Prints how long the new tree takes as a multiple of the old one, pair by pair, with the median and the middle half (from
the first to the third quartile), and exits with 1 if the whole middle half of a work lies above 1.03. A busy machine
widens the middle half: more pairs narrow it again. Seven pairs of all works take a quarter of an hour on two quiet
cores.

    python -m benchmarks.ab COMMIT [--pairs 7] [--work NAME ...]
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

from benchmarks.ab_works import WORKS
from tools.worktrees import ROOT, checked_out, environment

WORKER = Path("benchmarks") / "ab_works.py"
BAR = 1.03
"""A tree is slower where the whole middle half of its ratios lies above this."""


@dataclass(frozen=True)
class Ratios:
    """How long a work takes by the new tree, as multiples of the old one: a number for each pair."""

    values: Sequence[float]

    @property
    def quartiles(self) -> tuple[float, float, float]:
        """The first one, the median, and the third one."""
        first, middle, third = quantiles(self.values, n=4, method="inclusive")
        return first, middle, third

    @property
    def is_slower(self) -> bool:
        """Whether the whole middle half lies above the bar."""
        return self.quartiles[0] > BAR

    def __str__(self) -> str:
        first, middle, third = self.quartiles
        verdict = f"SLOWER: the whole middle half lies above {BAR}" if self.is_slower else "not slower"
        return f"median {middle:.3f}, middle half {first:.3f} to {third:.3f} ({verdict})"


def seconds(tree: Path, work: str) -> float:
    """How long a work takes by a tree, in a process of its own."""
    words = [sys.executable, str(WORKER), work]
    done = subprocess.run(words, cwd=tree, env=environment(tree), check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{work} failed in {tree}:\n{done.stderr[-4000:]}")
    return float(done.stdout.split()[-1])


def compared(work: str, old: Path, new: Path, pairs: int) -> Ratios:
    """Time a work by both trees in turn, and print each pair."""
    ratios: list[float] = []
    for pair in range(pairs):
        order = (old, new) if pair % 2 == 0 else (new, old)
        took = {tree: seconds(tree, work) for tree in order}
        ratios.append(took[new] / took[old])
        print(
            f"{work} {pair + 1}: old {took[old]:.2f} s, new {took[new]:.2f} s, {ratios[-1]:.3f}", flush=True
        )
    return Ratios(ratios)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", metavar="COMMIT", help="what this tree, as it is now, is compared with")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--work", nargs="+", choices=list(WORKS), default=list(WORKS), help="only these")
    options = parser.parse_args()
    if options.pairs < 2:
        parser.error("at least 2 pairs are needed for a middle half")
    found: dict[str, Ratios] = {}
    with checked_out(options.old) as tree:
        if not (tree / WORKER).is_file():
            shutil.copy2(ROOT / WORKER, tree / WORKER)
        for work in options.work:
            found[work] = compared(work, tree, ROOT, options.pairs)
            print(f"{work}: {found[work]}", flush=True)
    sys.exit(any(ratios.is_slower for ratios in found.values()))


if __name__ == "__main__":
    main()
