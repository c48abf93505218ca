"""Mutants: which tests notice a fault, and which of them are run between two edits.

python -m tools.mutants check               is the list in order: each snippet occurs once, each file can be read
python -m tools.mutants plan [WHAT ...]     how many tests each mutant has, and how long all of them take
python -m tools.mutants map                 run the suite once, and record which test file executes which lines
python -m tools.mutants durations REPORT    take from a report of pytest (--junit-xml) how long test files take
python -m tools.mutants matrix [WHAT ...]   run the tests of each mutant, into matrix.json; goes on where it was stopped
python -m tools.mutants summary             what the matrix says
python -m tools.mutants without TESTS ...   what nothing would catch without these test files
python -m tools.mutants run [WHAT ...]      is what was caught still caught: first by the test that caught it
python -m tools.mutants random              draw the random mutants that folders lack
python -m tools.mutants strike ID WHY       take a mutant off the list: its code is gone, or it changes nothing
python -m tools.mutants near                run the tests that are nearest to what changed

WHAT are ids of mutants, folders of src/headscope, or files; by default all. Each command has --help.
"""

import argparse
import json
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tools.mutants import catalogue, draw, linemap, matrix, near
from tools.mutants.recorder import LINES
from tools.mutants.trees import private_copy

PER_FOLDER = 5
SEED = 2026


def main() -> int:
    """Read the options and do what is asked."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check")
    commands.add_parser("summary")
    for name in ("plan", "matrix", "run"):
        command = commands.add_parser(name)
        command.add_argument("what", nargs="*", help="ids, folders or files (all)")
        command.add_argument(
            "--by", choices=("hand", "random"), help="those made by hand, or by chance, alone"
        )
        command.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
        command.add_argument(
            "--most", type=int, default=matrix.MOST_FILES, help="most test files of a mutant"
        )
        command.add_argument(
            "--budget", type=float, default=matrix.BUDGET, help="most seconds of tests of a mutant"
        )
        command.add_argument(
            "--enough",
            type=int,
            default=matrix.ENOUGH,
            help="stop when so many files caught a mutant; 0: never",
        )
        command.add_argument(
            "--seconds",
            type=float,
            default=float("inf"),
            help="run so many seconds of tests of each mutant now, the rest another time",
        )
        command.add_argument(
            "--patience", type=float, default=matrix.PATIENCE, help="more on a machine that is busy"
        )
        command.add_argument(
            "--changed",
            action="store_true",
            help="those whose source changed since --base, or every test that caught them",
        )
        command.add_argument("--base", default="HEAD", help="the commit that changes are counted from (HEAD)")
    recording = commands.add_parser("map")
    recording.add_argument("--jobs", type=int, default=2, help="how many tests at a time (2)")
    recording.add_argument(
        "--record", type=Path, help="make the map of what is in this folder; nothing is run"
    )
    recording.add_argument("--tree", type=Path, help="the tree that was recorded, with --record")
    timing = commands.add_parser("durations")
    timing.add_argument("report", type=Path, help="of a run on a machine with nothing else to do")
    without = commands.add_parser("without")
    without.add_argument("tests", nargs="+", help="test files")
    drawing = commands.add_parser("random")
    drawing.add_argument("--seed", type=int, default=SEED)
    drawing.add_argument(
        "--per-folder", type=int, default=PER_FOLDER, help=f"how many a folder has ({PER_FOLDER})"
    )
    striking = commands.add_parser("strike")
    striking.add_argument("id", help="the mutant")
    striking.add_argument("why", help="the reason, in a sentence")
    nearest = commands.add_parser("near")
    nearest.add_argument("--base", default="HEAD", help="the commit that changes are counted from (HEAD)")
    nearest.add_argument(
        "--seconds", type=float, default=near.SECONDS, help=f"how long it may take ({near.SECONDS})"
    )
    nearest.add_argument("--dry", action="store_true", help="say what would be run, and run nothing")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what runs is ended, and copies are removed
    return {
        "check": check,
        "plan": show_plan,
        "map": record,
        "durations": take_durations,
        "matrix": make_matrix,
        "summary": summarise,
        "without": show_without,
        "run": again,
        "random": draw_random,
        "strike": strike,
        "near": run_near,
    }[options.command](options)


def check(options: argparse.Namespace) -> int:
    """Say what is wrong with the list."""
    mutants = catalogue.read()
    problems = catalogue.problems(mutants)
    print("\n".join(problems) or f"{len(mutants)} mutants are in order")
    return 1 if problems else 0


def _plans(options: argparse.Namespace) -> list[matrix.Planned]:
    mutants = catalogue.selected(catalogue.read(), options.what)
    mutants = [mutant for mutant in mutants if options.by in (None, mutant.by)]
    if options.changed:
        change = near.changes(catalogue.ROOT, options.base)
        held, mutants = near.unsettled(change, catalogue.ROOT, mutants, matrix.caught_by())
        print(f"{held} mutants of other files are caught by tests that did not change")
    if problems := catalogue.problems(mutants):
        raise SystemExit("\n".join(problems))
    return matrix.plan(mutants, matrix.choice_for(), most=options.most, budget=options.budget)


def _runner(options: argparse.Namespace) -> matrix.Runner:
    return matrix.Runner(matrix.choice_for(), patience=options.patience, enough=options.enough)


def show_plan(options: argparse.Namespace) -> int:
    """Say how many tests each mutant has, and how long they take."""
    plans = _plans(options)
    for planned in plans:
        chosen = planned.chosen
        print(
            f"{planned.mutant.id:44}{len(chosen.tests):4} files{chosen.seconds:7.0f} s  left out {chosen.left_out}"
        )
    hours = sum(planned.chosen.seconds + linemap.START_SECONDS for planned in plans) / 3600
    print(
        f"{len(plans)} mutants, at most {hours:.1f} h of one core, {hours / options.jobs:.1f} h with {options.jobs}"
    )
    return 0


def record(options: argparse.Namespace) -> int:
    """Run the suite in a copy and make the map of what it executes."""
    if options.record is not None:
        linemap.save(linemap.make(options.record, options.tree or catalogue.ROOT))
        return 0
    by_hand = linemap.ByHand.load()
    tests = [test for test in linemap.all_tests(catalogue.ROOT) if not by_hand.leaves_out(test)]
    with private_copy() as tree, tempfile.TemporaryDirectory() as folder:
        arguments = ["-n", str(options.jobs), "--override-ini=timeout=1800", *tests]
        run = tree.pytest(arguments, record=Path(folder), more={LINES: "1"})
        print(run.output)
        linemap.save(linemap.make(Path(folder), tree.root))
    return 0


def take_durations(options: argparse.Namespace) -> int:
    """Take from a report how long test files take."""
    linemap.save(linemap.timed(json.loads(linemap.MAP.read_text(encoding="utf-8")), options.report))
    return 0


def make_matrix(options: argparse.Namespace) -> int:
    """Run what is missing of the matrix."""
    plans, results = _plans(options), matrix.Results()
    results.keep({mutant.id for mutant in catalogue.read()}, linemap.all_tests(catalogue.ROOT))
    making = matrix.Matrix(matrix.choice_for(), _runner(options), results, _tell)
    making.run(plans, jobs=options.jobs, seconds=options.seconds)
    return summarise(options)


def summarise(options: argparse.Namespace) -> int:
    """Say what the matrix says."""
    print("\n".join(matrix.summary(catalogue.read(), matrix.caught_by())))
    return 0


def show_without(options: argparse.Namespace) -> int:
    """Say which mutants only these test files catch."""
    lost = matrix.lost_without([test.removeprefix("./") for test in options.tests], matrix.caught_by())
    for id, tests in lost.items():
        print(f"{id}: caught by {', '.join(tests)} alone")
    print(f"{len(lost)} mutants would no longer be caught")
    return 1 if lost else 0


def again(options: argparse.Namespace) -> int:
    """See whether what was caught still is."""
    running = matrix.Again(matrix.choice_for(), _runner(options), matrix.Results(), _tell)
    lost = running.run(_plans(options), jobs=options.jobs)
    print(f"no longer caught: {', '.join(lost)}" if lost else "all that was caught is caught")
    return 1 if lost else 0


def draw_random(options: argparse.Namespace) -> int:
    """Draw what folders lack and write it behind the list."""
    mutants = catalogue.read()
    gone = [(entry["file"], entry["old"], entry["new"]) for entry in catalogue.struck()]
    counts: Counter[str] = Counter()
    with catalogue.CATALOGUE.open("a", encoding="utf-8") as file:
        for folder in draw.folders():
            for mutant in draw.draw(
                folder, options.per_folder, seed=options.seed, taken=mutants, struck=gone
            ):
                file.write(draw.as_toml(mutant))
                counts[folder] += 1
    print(f"{counts.total()} drawn: {', '.join(f'{count} in {folder}' for folder, count in counts.items())}")
    return check(options)


def strike(options: argparse.Namespace) -> int:
    """Take a mutant off the list."""
    mutant = next((mutant for mutant in catalogue.read() if mutant.id == options.id), None)
    if mutant is None:
        raise SystemExit(f"there is no mutant {options.id}; python -m tools.mutants plan names all")
    path = catalogue.CATALOGUE
    path.write_text(draw.strike(path.read_text(encoding="utf-8"), mutant, options.why), encoding="utf-8")
    return 0


def run_near(options: argparse.Namespace) -> int:
    """Run the tests that are nearest to what changed."""
    choice, caught = matrix.choice_for(), matrix.caught_by()
    change = near.changes(catalogue.ROOT, options.base)
    seconds = max(0.0, options.seconds - near.JOBS * linemap.START_SECONDS) * near.JOBS
    selection = near.select(change, choice, catalogue.read(), caught, seconds=seconds)
    print(near.told(change, selection, choice))
    if options.dry or not selection.tests:
        print("\n".join(selection.tests) or "nothing to run")
        return 0
    return near.run(catalogue.ROOT, selection)


def _tell(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    if shutil.which("git") is None:
        sys.exit("git was not found, which tells what changed and what a copy holds")
    sys.exit(main())
