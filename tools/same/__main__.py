"""Record what the studies leave, or compare it.

python -m tools.same record FOLDER      run every study and write what it left (make reference)
python -m tools.same                    run every study; differ from the committed reference by 1e-6 at most (make same)
python -m tools.same --ref COMMIT       the same beside that commit, built and run on this machine: bit for bit
    --tolerance X                       another tolerance, such as 1e-6 where sums are taken in another order
    --study NAME …                      only these studies
python -m tools.same faults             put six small faults into a copy, one at a time: each must be noticed
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from tools.same.compare import differences
from tools.same.faults import unnoticed
from tools.same.recording import Recording
from tools.same.studies import STUDIES
from tools.worktrees import ROOT, checked_out, environment

REFERENCE = ROOT / "tools" / "same" / "reference"


def main() -> int:
    """Read the options and do as they say."""
    parser = argparse.ArgumentParser(description="Same numbers, same verdicts.")
    parser.add_argument("action", nargs="?", choices=("check", "record", "run", "faults"), default="check")
    parser.add_argument("folder", nargs="?", type=Path, default=REFERENCE, help="where to write (record)")
    parser.add_argument("--ref", help="a commit to compare with")
    parser.add_argument("--tolerance", type=float, help="relative; 1e-6, or 0 beside a commit")
    parser.add_argument("--study", nargs="+", choices=list(STUDIES), default=list(STUDIES), help="only these")
    parser.add_argument("--compact", action="store_true", help="as it is committed (run)")
    options = parser.parse_args()
    if options.action == "run":
        run_study(options.study[0], options.folder, compact=options.compact)
        return 0
    if options.action == "record":
        shutil.rmtree(options.folder, ignore_errors=True)
        run_all(ROOT, options.study, options.folder, compact=True)
        return 0
    if options.action == "faults":
        return 1 if unnoticed() else 0
    tolerance = options.tolerance if options.tolerance is not None else 0.0 if options.ref else 1e-6
    with TemporaryDirectory() as folder:
        old, new = REFERENCE, Path(folder) / "new"
        run_all(ROOT, options.study, new, compact=not options.ref)
        if options.ref:
            old = Path(folder) / "old"
            with checked_out(options.ref) as tree:
                lend_studies(tree)
                run_all(tree, options.study, old)
        return compare_all(options.study, old, new, tolerance)


def run_study(name: str, folder: Path, *, compact: bool) -> None:
    """Run one study in this process and write what it left."""
    recording = Recording.of(STUDIES[name]())
    (recording.compact() if compact else recording).save(folder, name)


def run_all(tree: Path, studies: Sequence[str], folder: Path, *, compact: bool = False) -> None:
    """Run the studies of a tree, two at a time, with one thread each: sums are then taken in one order."""
    single = {**environment(tree), "OMP_NUM_THREADS": "1"}

    def run(name: str) -> None:
        started = perf_counter()
        words = [sys.executable, "-m", "tools.same", "run", str(folder), "--study", name]
        words += ["--compact"] if compact else []
        done = subprocess.run(words, cwd=tree, env=single, check=False, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"the study {name} failed:\n{done.stderr[-4000:]}")
        print(f"{name}: {perf_counter() - started:.0f} s", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, studies))


def lend_studies(tree: Path) -> None:
    """Give a commit from before these studies a copy of them."""
    if not (tree / "tools" / "same").is_dir():
        shutil.copytree(ROOT / "tools" / "same", tree / "tools" / "same", ignore=lambda *_: {"reference"})
        shutil.copy2(ROOT / "tools" / "worktrees.py", tree / "tools" / "worktrees.py")


def compare_all(studies: Sequence[str], old: Path, new: Path, tolerance: float) -> int:
    """Print what differs; 1 if anything does."""
    changed = False
    for name in studies:
        before, after = (Recording.read(folder, name) for folder in (old, new))
        found = differences(before, after, tolerance=tolerance)
        changed |= bool(found)
        size = f"{len(after.verdicts):,} verdicts, {len(after.arrays):,} arrays"
        print(f"{name}: {'DIFFERS' if found else 'same'} ({size})")
        for difference in found:
            print(f"    {difference}")
    return int(changed)


if __name__ == "__main__":
    sys.exit(main())
