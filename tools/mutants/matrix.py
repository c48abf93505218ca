"""Which test files catch which mutants: the matrix, kept in `matrix.json`, and the journal of the run that makes it.

The journal, `results.jsonl`, is not part of the repository. A run that was stopped goes on where it was: a test file is
run again for a mutant only if the snippet, the source file or the test file has changed.
"""

import hashlib
import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from tools.mutants.catalogue import ROOT, Mutant
from tools.mutants.linemap import START_SECONDS, ByHand, Chosen, LineMap, TestChoice
from tools.mutants.recorder import ENOUGH as RECORD_ENOUGH
from tools.mutants.trees import Run, StoppedError, Tree, private_copy

MATRIX = Path(__file__).with_name("matrix.json")
JOURNAL = Path(__file__).with_name("results.jsonl")
MOST_FILES = 60
BUDGET = 240.0
"""Seconds of tests for a mutant, beside those that must be run."""
PATIENCE = 4.0
"""So many times as long as recorded may tests take before they are taken to hang; other programs run beside."""
ENOUGH = 8
"""Once so many test files have caught a mutant, no others are run."""
MOST_HANGS = 2
"""After so many test files that hang, no others are tried."""
NO_TESTS = 5
"""The exit status of pytest when there was none to run."""
HANGS, CRASHES, BREAKS = "(hangs)", "(crashes)", "(does not start)"
"""In place of the names of failing tests."""


@dataclass(frozen=True)
class Planned:
    """A mutant with the tests that are to be run for it."""

    mutant: Mutant
    chosen: Chosen
    key: str
    """Changes with the snippet and the source file."""


@dataclass
class Row:
    """What is known of a mutant."""

    key: str
    cells: dict[str, tuple[str, list[str]]]
    """By test file: the hash of it, and the tests in it that fail."""
    seconds: float = 0.0

    @property
    def caught(self) -> dict[str, int]:
        """By test file that catches the mutant, how many of its tests do."""
        return {test: len(failing) for test, (_, failing) in sorted(self.cells.items()) if failing}


def plan(mutants: Iterable[Mutant], choice: TestChoice, *, most: int, budget: float) -> list[Planned]:
    """The tests of each mutant."""
    planned = []
    for mutant in mutants:
        text = (choice.root / mutant.file).read_text(encoding="utf-8")
        chosen = choice.tests_of(mutant.file, mutant.lines(text), most=most, budget=budget)
        planned.append(Planned(mutant, chosen, key_of(mutant, text)))
    return planned


def key_of(mutant: Mutant, text: str) -> str:
    """The same for the same snippet in the same file."""
    return _hash(f"{mutant.old}\0{mutant.new}\0{text}")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class Journal:
    """What was found so far, written down as it is found."""

    def __init__(self, path: Path = JOURNAL) -> None:
        self.path = path
        self.rows: dict[str, Row] = {}
        self._lock = threading.Lock()
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            entry = json.loads(line)
            cells = {test: (said, failing) for test, (said, failing) in entry["cells"].items()}
            self._take(entry["id"], Row(entry["key"], cells, entry["seconds"]))

    def add(self, id: str, row: Row) -> None:
        """Take in what was found of a mutant: of some test files, or of all."""
        with self._lock:
            self._take(id, row)
            with self.path.open("a", encoding="utf-8") as file:
                entry = {"id": id, "key": row.key, "seconds": round(row.seconds, 1), "cells": row.cells}
                file.write(json.dumps(entry) + "\n")

    def _take(self, id: str, row: Row) -> None:
        known = self.rows.get(id)
        if known is None or known.key != row.key:
            self.rows[id] = Row(row.key, dict(row.cells), row.seconds)
        else:
            known.cells |= row.cells
            known.seconds += row.seconds

    def missing(self, planned: Planned, tests: Mapping[str, str], enough: int) -> list[str]:
        """The test files that are still to be run; `tests` are the hashes of all. None if `enough` catch the mutant."""
        row = self.rows.get(planned.mutant.id)
        if row is None or row.key != planned.key:
            return list(planned.chosen.tests)
        known = {test: failing for test, (said, failing) in row.cells.items() if said == tests.get(test)}
        if enough and sum(map(bool, known.values())) >= enough:
            return []
        return [test for test in planned.chosen.tests if test not in known]


class Runner:
    """Runs test files in a tree and says what fails."""

    def __init__(self, choice: TestChoice, *, patience: float = PATIENCE, enough: int = ENOUGH) -> None:
        """`patience`: so many times as long as recorded may tests take. `enough`: see ENOUGH; 0 for no end."""
        self.known, self.patience, self.enough = choice.known, patience, enough

    def expected(self, tests: Iterable[str]) -> float:
        """How many seconds test files take, by what was recorded."""
        return START_SECONDS + sum(map(self.known.duration, tests))

    def failing(self, tree: Tree, tests: Sequence[str], *, first: bool = False) -> dict[str, list[str]]:
        """By test file that was run, which of its tests fail beside those that always do; with `first` one at most."""
        found: dict[str, list[str]] = {}
        left, hangs = list(tests), 0
        while left:
            run, own, at = self._recorded(tree, left, first=first)
            found |= own
            if not run.is_ended:
                breaks = not own and run.code not in (0, NO_TESTS)
                if breaks:
                    return found | {test: [BREAKS] for test in left}
                is_cut = first or (self.enough and sum(map(bool, found.values())) >= self.enough)
                # What is left of a whole run has no test to run here.
                return found if is_cut else found | {test: [] for test in left if test not in own}
            if at is not None and not own[at]:
                found[at] = [HANGS if run.ran_out else CRASHES]
            elif at is None:  # before any test began
                return found | {test: [HANGS if run.ran_out else CRASHES] for test in left}
            hangs += 1
            if first:
                return found
            if hangs == MOST_HANGS:  # the others are not tried
                return found | {test: [] for test in left if test not in found}
            left = [test for test in left if test not in found]
        return found

    def _recorded(
        self, tree: Tree, tests: Sequence[str], *, first: bool
    ) -> tuple[Run, dict[str, list[str]], str | None]:
        """One run of pytest; by file that began the tests that fail; and the last file that began."""
        of_test = max(60.0, self.patience * max(map(self.known.duration, tests)))
        record = tree.root.parent / "record"
        record.mkdir(exist_ok=True)
        reports = record / "reports.jsonl"
        reports.unlink(missing_ok=True)
        known = [f"--deselect={test}" for test in self.known.failing if test.partition("::")[0] in tests]
        options = [
            "-x" if first else "--continue-on-collection-errors",
            f"--override-ini=timeout={of_test:.0f}",
        ]
        limit = 60 + self.patience * self.expected(tests)
        run = tree.pytest(
            [*options, *known, *tests], limit=limit, record=record, more={RECORD_ENOUGH: str(self.enough)}
        )
        return run, *read_reports(reports)


def read_reports(path: Path) -> tuple[dict[str, list[str]], str | None]:
    """By test file that began the tests that fail; and the last file that began."""
    failing: dict[str, dict[str, None]] = defaultdict(dict)
    at: str | None = None
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        entry = json.loads(line)
        if "begins" in entry:
            at = entry["begins"].partition("::")[0]
            failing.setdefault(at, {})
        elif entry["outcome"] == "failed":
            file, _, name = entry["test"].partition("::")
            failing[file][name or "(collection)"] = None
    return {test: list(names) for test, names in failing.items()}, at


class Matrix:
    """A run over many mutants, some at a time."""

    def __init__(
        self, choice: TestChoice, runner: Runner, journal: Journal, tell: Callable[[str], None] = print
    ) -> None:
        self.choice, self.journal, self.tell, self._runner = choice, journal, tell, runner

    def run(self, plans: Sequence[Planned], *, jobs: int) -> None:
        """Run what is missing; the longest first, so that no job is left alone with one at the end."""
        with ExitStack() as stack:
            trees = [stack.enter_context(private_copy(self.choice.root)) for _ in range(jobs)]
            hashes = {
                test: _hash((trees[0].root / test).read_text(encoding="utf-8"))
                for test in {test for planned in plans for test in planned.chosen.tests}
            }
            enough = self._runner.enough
            missing = ((planned, self.journal.missing(planned, hashes, enough)) for planned in plans)
            todo = [(planned, tests) for planned, tests in missing if tests]
            todo.sort(key=lambda pair: -self._runner.expected(pair[1]))
            self.tell(
                f"{len(plans) - len(todo)} of {len(plans)} mutants are done; {len(todo)} to go, {jobs} at a time"
            )
            _work(
                todo, trees, lambda tree, entry: self._one(tree, *entry, hashes), self._progress(todo, jobs)
            )

    def _progress(
        self, todo: Sequence[tuple[Planned, list[str]]], jobs: int
    ) -> Callable[[tuple[Planned, list[str]], float], None]:
        """What says, after each mutant, how it was and how long the rest takes."""
        left = {planned.mutant.id: self._runner.expected(tests) for planned, tests in todo}
        spent = expected = 0.0

        def say(entry: tuple[Planned, list[str]], seconds: float) -> None:
            nonlocal spent, expected
            planned, _ = entry
            spent, expected = spent + seconds, expected + left.pop(planned.mutant.id)
            caught = self.journal.rows[planned.mutant.id].caught
            rest = sum(left.values()) * spent / max(expected, 1e-9) / jobs
            ran = len(self.journal.rows[planned.mutant.id].cells)
            verdict = f"caught by {len(caught)} of {ran} files" if caught else f"NOT CAUGHT by {ran} files"
            self.tell(
                f"{planned.mutant.id}: {verdict}, {seconds:.0f} s; {len(left)} left, about {rest / 60:.0f} min"
            )

        return say

    def _one(self, tree: Tree, planned: Planned, tests: list[str], hashes: Mapping[str, str]) -> None:
        mutant, started = planned.mutant, time.monotonic()
        text = (tree.root / mutant.file).read_text(encoding="utf-8")
        with tree.changed(mutant.file, mutant.applied(text)):
            failing = self._runner.failing(tree, tests)
        cells = {test: (hashes[test], failing[test]) for test in tests if test in failing}
        self.journal.add(mutant.id, Row(planned.key, cells, time.monotonic() - started))


def _work(
    todo: Sequence[Any],
    trees: Sequence[Tree],
    one: Callable[[Tree, Any], None],
    done: Callable[[Any, float], None],
) -> None:
    """Do each of many things in one of the trees; what is raised in one ends all."""
    entries: SimpleQueue[Any] = SimpleQueue()
    for entry in todo:
        entries.put(entry)
    errors: list[BaseException] = []
    lock = threading.Lock()

    def work(tree: Tree) -> None:
        while not errors:
            try:
                entry = entries.get_nowait()
            except Empty:
                return
            started = time.monotonic()
            try:
                one(tree, entry)
            except StoppedError:
                return
            except BaseException as error:
                errors.append(error)
                return
            with lock:
                done(entry, time.monotonic() - started)

    threads = [threading.Thread(target=work, args=(tree,)) for tree in trees]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(1)
    finally:
        for tree in trees:
            tree.stop()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]


def written(plans: Sequence[Planned], journal: Journal, path: Path = MATRIX) -> dict[str, Any]:
    """Write the matrix: of each mutant that was run the test files that catch it. Others in the file stay."""
    matrix = read(path)
    for planned in plans:
        row = journal.rows.get(planned.mutant.id)
        if row is not None and row.key == planned.key:
            ran = {test for test in planned.chosen.tests if test in row.cells}
            caught = {test: count for test, count in row.caught.items() if test in ran}
            entry = {"key": row.key, "ran": len(ran), "seconds": round(row.seconds), "caught": caught}
            matrix[planned.mutant.id] = entry
    save(matrix, path)
    return matrix


def read(path: Path = MATRIX) -> dict[str, Any]:
    """The matrix by id; empty where none was made."""
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def save(matrix: Mapping[str, Any], path: Path = MATRIX) -> None:
    """Write the matrix, a line a mutant, sorted."""
    rows = (f"{json.dumps(id)}: {json.dumps(matrix[id], sort_keys=True)}" for id in sorted(matrix))
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


def summary(mutants: Sequence[Mutant], matrix: Mapping[str, Any]) -> Iterator[str]:
    """Caught and not caught by folder, what nothing catches, and the test files that catch a mutant alone."""
    known = [mutant for mutant in mutants if mutant.id in matrix]
    yield f"{'folder':16}{'mutants':>9}{'caught':>9}{'not':>6}"
    by_folder: dict[str, Counter[bool]] = defaultdict(Counter)
    for mutant in known:
        by_folder[mutant.folder][bool(matrix[mutant.id]["caught"])] += 1
    whole: Counter[bool] = sum(by_folder.values(), Counter())
    for folder, counts in [*sorted(by_folder.items()), ("all", whole)]:
        yield f"{folder:16}{counts.total():9}{counts[True]:9}{counts[False]:6}"
    for by in ("hand", "random"):
        own = [bool(matrix[mutant.id]["caught"]) for mutant in known if mutant.by == by]
        yield f"by {by}: {sum(own)} of {len(own)} caught"
    if len(known) < len(mutants):
        yield f"{len(mutants) - len(known)} mutants were not run"
    yield ""
    yield "not caught:"
    yield from (
        f"  {mutant.id} ({mutant.file}): {mutant.why}" for mutant in known if not matrix[mutant.id]["caught"]
    )
    yield ""
    yield "test files that catch some mutant alone:"
    alone: dict[str, list[str]] = defaultdict(list)
    for mutant in known:
        if len(caught := matrix[mutant.id]["caught"]) == 1:
            alone[next(iter(caught))].append(mutant.id)
    yield from (f"  {test}: {', '.join(ids)}" for test, ids in sorted(alone.items()))


def lost_without(tests: Iterable[str], matrix: Mapping[str, Any]) -> dict[str, list[str]]:
    """The mutants that no other test file catches than these, with those of them that do."""
    gone = set(tests)
    return {
        id: sorted(row["caught"])
        for id, row in sorted(matrix.items())
        if row["caught"] and set(row["caught"]) <= gone
    }


class Again:
    """A later run: is each mutant still caught? First by the test that caught it, then by all of its tests."""

    def __init__(
        self,
        choice: TestChoice,
        runner: Runner,
        matrix: Mapping[str, Any],
        tell: Callable[[str], None] = print,
    ) -> None:
        self.choice, self.matrix, self.tell, self._runner = choice, matrix, tell, runner
        self.caught_by: dict[str, str | None] = {}

    def run(self, plans: Sequence[Planned], *, jobs: int) -> list[str]:
        """Run the mutants; the ids of those that were caught and are caught no more."""
        with ExitStack() as stack:
            trees = [stack.enter_context(private_copy(self.choice.root)) for _ in range(jobs)]
            _work(list(plans), trees, self._one, self._said)
        return [id for id, test in sorted(self.caught_by.items()) if test is None and self._known(id)]

    def _known(self, id: str) -> dict[str, int]:
        return dict(self.matrix.get(id, {}).get("caught", {}))

    def _one(self, tree: Tree, planned: Planned) -> None:
        mutant = planned.mutant
        known = [test for test in self._known(mutant.id) if (tree.root / test).is_file()]
        known.sort(key=self.choice.known.duration)
        rest = [test for test in planned.chosen.tests if test not in known[:1]]
        text = (tree.root / mutant.file).read_text(encoding="utf-8")
        with tree.changed(mutant.file, mutant.applied(text)):
            for tests in (known[:1], rest):
                failing = self._runner.failing(tree, tests, first=True) if tests else {}
                caught = next((test for test, names in failing.items() if names), None)
                if caught is not None:
                    break
        self.caught_by[mutant.id] = caught

    def _said(self, planned: Planned, seconds: float) -> None:
        id = planned.mutant.id
        test, before = self.caught_by[id], self._known(id)
        verdict = (
            f"caught by {test}" if test else "NO LONGER CAUGHT" if before else "not caught, nor was it before"
        )
        self.tell(f"{id}: {verdict} ({seconds:.0f} s)")


def choice_for(root: Path = ROOT) -> TestChoice:
    """The choice of tests by the map that is kept in the repository."""
    return TestChoice(LineMap.load(), ByHand.load(), root)
