"""Which test files catch which mutants: the matrix, kept in `matrix.json`.

It is written after each mutant. A run that was stopped goes on where it was, in a later clone too: a test file is run
again for a mutant only if the snippet, the source file or the test file has changed.
"""

import hashlib
import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from tools.mutants import forks
from tools.mutants.catalogue import ROOT, Mutant
from tools.mutants.linemap import START_SECONDS, ByHand, Chosen, LineMap, TestChoice, base32
from tools.mutants.recorder import BEGIN as RECORD_BEGIN
from tools.mutants.recorder import ENOUGH as RECORD_ENOUGH
from tools.mutants.trees import Run, StoppedError, Tree, private_copy

MATRIX = Path(__file__).with_name("matrix.json")
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
STALE = ""
"""In place of the hash of a test file that caught a mutant when it, or the source, was another one."""
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
    cells: dict[str, tuple[str, str]]
    """By test file: the hash of it, and the first test in it that fails, or nothing."""
    seconds: float = 0.0

    @property
    def caught(self) -> dict[str, str]:
        """By test file that catches the mutant, the first of its tests that does."""
        return {test: name for test, (_, name) in sorted(self.cells.items()) if name}


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


class Results:
    """What was found so far, in `matrix.json`: written down after each mutant, so that a run goes on where it was.

    `tests` there names the test files, each with the hash of what was run. A row has, by test file that catches the
    mutant, the first test that does; the places in `tests` of those that do not, as bits in base 32; and under `again`
    the files that caught it when they, or the source, were others, and were not run since.
    """

    def __init__(self, path: Path = MATRIX) -> None:
        self.path = path
        self.rows: dict[str, Row] = {}
        self._lock = threading.Lock()
        data = read(path)
        self._tests: dict[str, str] = dict(data["tests"])
        names = list(self._tests)
        for id, entry in data["mutants"].items():
            missed = bits(entry["missed"])
            cells = {test: (self._tests[test], "") for test in (names[place] for place in missed)}
            for test, name in entry["caught"].items():
                cells[test] = (STALE if test in entry.get("again", ()) else self._tests[test], name)
            self.rows[id] = Row(entry["key"], cells, entry["seconds"])

    def add(self, id: str, row: Row) -> None:
        """Take in what was found of a mutant: of some test files, or of all."""
        with self._lock:
            known = self.rows.get(id, Row(row.key, {}))
            if known.key != row.key:  # what was found of another source file may no longer be so
                cells = {test: (STALE, name) for test, (_, name) in known.cells.items() if name}
                known = Row(row.key, cells)
            self.rows[id] = Row(row.key, known.cells | row.cells, known.seconds + row.seconds)
            self._tests |= {test: said for test, (said, _) in row.cells.items()}
            self.save()

    def keep(self, ids: Collection[str], tests: Collection[str]) -> None:
        """Drop mutants that were struck and test files that are gone."""
        self.rows = {id: row for id, row in self.rows.items() if id in ids}
        for row in self.rows.values():
            row.cells = {test: cell for test, cell in row.cells.items() if test in tests}
        self._tests = {test: said for test, said in self._tests.items() if test in tests}
        self.save()

    def save(self) -> None:
        """Write all, a line a mutant, sorted; test files stay where they are, new ones come behind."""
        places = {test: place for place, test in enumerate(self._tests)}
        rows = {}
        for id, row in sorted(self.rows.items()):
            now = {test for test, (said, _) in row.cells.items() if said == self._tests[test]}
            missed = [places[test] for test in now if not row.cells[test][1]]
            again = sorted(row.caught.keys() - now)
            rows[id] = {
                "key": row.key,
                "caught": row.caught,
                **({"again": again} if again else {}),
                "missed": base32(sum(1 << place for place in missed)),
                "seconds": round(row.seconds),
            }
        lines = ",\n".join(f"{json.dumps(id)}: {json.dumps(row)}" for id, row in rows.items())
        tests = ",\n".join(f"{json.dumps(test)}: {json.dumps(said)}" for test, said in self._tests.items())
        beside = self.path.with_suffix(".new")
        beside.write_text(f'{{"tests": {{\n{tests}\n}},\n"mutants": {{\n{lines}\n}}}}\n', encoding="utf-8")
        beside.replace(self.path)

    def missing(self, planned: Planned, tests: Mapping[str, str], enough: int) -> list[str]:
        """The test files that are still to be run; `tests` are the hashes of all. None if `enough` catch the mutant."""
        row = self.rows.get(planned.mutant.id)
        if row is None or row.key != planned.key:
            return list(planned.chosen.tests)
        known = {test: name for test, (said, name) in row.cells.items() if said == tests.get(test)}
        if enough and sum(map(bool, known.values())) >= enough:
            return []
        return [test for test in planned.chosen.tests if test not in known]


def bits(text: str) -> list[int]:
    """The places of the bits of a number in base 32."""
    number = int(text, 32)
    return [place for place in range(number.bit_length()) if number >> place & 1]


class Runner:
    """Runs test files in a tree and says what fails."""

    def __init__(self, choice: TestChoice, *, patience: float = PATIENCE, enough: int = ENOUGH) -> None:
        """`patience`: so many times as long as recorded may tests take. `enough`: see ENOUGH; 0 for no end."""
        self.known, self.patience, self.enough = choice.known, patience, enough

    def expected(self, tests: Iterable[str]) -> float:
        """How many seconds test files take, by what was recorded."""
        return START_SECONDS + sum(map(self.known.duration, tests))

    def failing(
        self, tree: Tree, tests: Sequence[str], *, first: bool = False, begin: Sequence[str] = ()
    ) -> dict[str, list[str]]:
        """By test file that was run, which of its tests fail beside those that always do; with `first` one at most.

        `begin` are tests that are run before the others, if there are still such.
        """
        found: dict[str, list[str]] = {}
        left, hangs = list(tests), 0
        while left:
            run, own, at = self._recorded(tree, left, first=first, begin=begin)
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
        self, tree: Tree, tests: Sequence[str], *, first: bool, begin: Sequence[str]
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
        more = {RECORD_ENOUGH: str(self.enough), RECORD_BEGIN: "\n".join(begin)}
        run = tree.pytest([*options, *known, *tests], limit=limit, record=record, more=more)
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
        self, choice: TestChoice, runner: Runner, results: Results, tell: Callable[[str], None] = print
    ) -> None:
        self.choice, self.results, self.tell, self._runner = choice, results, tell, runner

    def run(self, plans: Sequence[Planned], *, jobs: int, seconds: float = float("inf")) -> None:
        """Run what is missing, of each mutant so many seconds of tests and one file in any case."""
        with ExitStack() as stack:
            trees = [
                stack.enter_context(private_copy(self.choice.root, forks.LIBRARIES)) for _ in range(jobs)
            ]
            hashes = hashes_of(trees[0].root, {test for planned in plans for test in planned.chosen.tests})
            todo = []
            for planned in plans:
                missing = self.results.missing(planned, hashes, self._runner.enough)
                row = self.results.rows.get(planned.mutant.id)
                spent = 0.0
                if row is not None and row.key == planned.key:
                    spent = sum(map(self.choice.known.duration, row.cells.keys() - set(missing)))
                tests = self._first(missing, seconds - spent, at_least_one=not spent)
                if tests:
                    todo.append((planned, tests))
            self.tell(
                f"{len(plans) - len(todo)} of {len(plans)} mutants are done; {len(todo)} to go, {jobs} at a time"
            )
            _work(
                todo,
                trees,
                lambda tree, entry: self._one(tree, entry[0], entry[1], hashes),
                self._progress(todo, jobs),
            )

    def _first(self, tests: Sequence[str], seconds: float, *, at_least_one: bool) -> list[str]:
        """The first test files, as far as the time goes."""
        chosen: list[str] = []
        for test in tests:
            seconds -= self.choice.known.duration(test)
            if seconds < 0 and (chosen or not at_least_one):
                break
            chosen.append(test)
        return chosen

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
            row = self.results.rows[planned.mutant.id]
            rest = sum(left.values()) * spent / max(expected, 1e-9) / jobs
            ran = len(row.cells)
            verdict = (
                f"caught by {len(row.caught)} of {ran} files" if row.caught else f"NOT CAUGHT by {ran} files"
            )
            self.tell(
                f"{planned.mutant.id}: {verdict}, {seconds:.0f} s; {len(left)} left, about {rest / 60:.0f} min"
            )

        return say

    def _one(self, tree: Tree, planned: Planned, tests: list[str], hashes: Mapping[str, str]) -> None:
        mutant, started = planned.mutant, time.monotonic()
        text = (tree.root / mutant.file).read_text(encoding="utf-8")
        found: dict[str, list[str]] = {}
        with tree.changed(mutant.file, mutant.applied(text)):
            if self._runner.enough == 1:
                for part in in_turn(tests):
                    found |= self._runner.failing(tree, part, first=True)
                    if any(found.values()):
                        break
            else:
                found = self._runner.failing(tree, tests)
        self.results.add(mutant.id, Row(planned.key, cells_of(found, hashes), time.monotonic() - started))


def in_turn(tests: Sequence[str]) -> list[Sequence[str]]:
    """Test files in parts, the nearest alone: most mutants are caught by it, and to load the others takes time."""
    return [part for part in (tests[:1], tests[1:4], tests[4:]) if part]


def cells_of(found: Mapping[str, Sequence[str]], hashes: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """The cells of a row."""
    return {test: (hashes[test], names[0] if names else "") for test, names in found.items()}


def hashes_of(root: Path, tests: Iterable[str]) -> dict[str, str]:
    """The hashes of test files."""
    return {test: _hash((root / test).read_text(encoding="utf-8")) for test in tests}


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


def read(path: Path = MATRIX) -> dict[str, Any]:
    """The file: `tests` and `mutants`; empty where none was made."""
    empty: dict[str, Any] = {"tests": {}, "mutants": {}}
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else empty


def caught_by(path: Path = MATRIX) -> dict[str, dict[str, str]]:
    """By mutant that was run: by test file that catches it, the first test that does."""
    return {id: dict(row["caught"]) for id, row in read(path)["mutants"].items()}


def summary(mutants: Sequence[Mutant], caught: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Caught and not caught by folder, what nothing catches, and the test files that catch a mutant alone."""
    known = [mutant for mutant in mutants if mutant.id in caught]
    yield f"{'folder':16}{'by hand':>9}{'caught':>9}{'random':>9}{'caught':>9}{'not':>6}"
    counts: dict[str, Counter[tuple[str, bool]]] = defaultdict(Counter)
    for mutant in known:
        for folder in (mutant.folder, "~all"):
            counts[folder][mutant.by, bool(caught[mutant.id])] += 1
    for folder, count in sorted(counts.items()):
        yield (
            f"{folder.strip('~'):16}"
            + "".join(
                f"{count[by, True] + count[by, False]:9}{count[by, True]:9}" for by in ("hand", "random")
            )
            + f"{count['hand', False] + count['random', False]:6}"
        )
    if len(known) < len(mutants):
        yield f"{len(mutants) - len(known)} mutants were not run"
    yield ""
    yield "not caught:"
    yield from (f"  {mutant.id} ({mutant.file}): {mutant.why}" for mutant in known if not caught[mutant.id])
    yield ""
    yield "test files that catch some mutant alone:"
    alone: dict[str, list[str]] = defaultdict(list)
    for mutant in known:
        if len(tests := caught[mutant.id]) == 1:
            alone[next(iter(tests))].append(mutant.id)
    yield from (f"  {test}: {', '.join(ids)}" for test, ids in sorted(alone.items()))


def lost_without(tests: Iterable[str], caught: Mapping[str, Mapping[str, str]]) -> dict[str, list[str]]:
    """The mutants that no other test file catches than these, with those of them that do."""
    gone = set(tests)
    return {id: sorted(own) for id, own in sorted(caught.items()) if own and own.keys() <= gone}


class Again:
    """A later run: is each mutant still caught?

    First, of the shortest test file that caught it, the test that did; if that passes, the other files that caught it
    and all that execute its lines. What is found goes into the matrix.
    """

    def __init__(
        self,
        choice: TestChoice,
        runner: Runner,
        results: Results,
        tell: Callable[[str], None] = print,
    ) -> None:
        self.choice, self.results, self.tell, self._runner = choice, results, tell, runner
        self._before = {id: row.caught for id, row in results.rows.items()}
        self.caught_by: dict[str, str | None] = {}

    def run(self, plans: Sequence[Planned], *, jobs: int) -> list[str]:
        """Run the mutants; the ids of those that were caught and are caught no more."""
        with ExitStack() as stack:
            trees = [
                stack.enter_context(private_copy(self.choice.root, forks.LIBRARIES)) for _ in range(jobs)
            ]
            _work(list(plans), trees, self._one, self._said)
        return [id for id, test in sorted(self.caught_by.items()) if test is None and self._before.get(id)]

    def _one(self, tree: Tree, planned: Planned) -> None:
        mutant, started = planned.mutant, time.monotonic()
        before = {
            test: name
            for test, name in self._before.get(mutant.id, {}).items()
            if (tree.root / test).is_file()
        }
        known = sorted(before, key=self.choice.known.duration)
        tests = [*known, *(test for test in planned.chosen.tests if test not in before)]
        text = (tree.root / mutant.file).read_text(encoding="utf-8")
        found: dict[str, list[str]] = {}
        with tree.changed(mutant.file, mutant.applied(text)):
            for part in in_turn(tests):
                begin = [f"{test}::{before[test]}" for test in part if test in before]
                found |= self._runner.failing(tree, part, first=True, begin=begin)
                if any(found.values()):
                    break
        cells = cells_of(found, hashes_of(tree.root, found))
        self.results.add(mutant.id, Row(planned.key, cells, time.monotonic() - started))
        self.caught_by[mutant.id] = next((test for test, names in found.items() if names), None)

    def _said(self, planned: Planned, seconds: float) -> None:
        id = planned.mutant.id
        test, before = self.caught_by[id], self._before.get(id)
        verdict = (
            f"caught by {test}" if test else "NO LONGER CAUGHT" if before else "not caught, nor was it before"
        )
        self.tell(f"{id}: {verdict} ({seconds:.0f} s)")


def choice_for(root: Path = ROOT) -> TestChoice:
    """The choice of tests by the map that is kept in the repository."""
    return TestChoice(LineMap.load(), ByHand.load(), root)
