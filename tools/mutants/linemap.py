"""Which test files execute which lines, and how long each takes: `map.json`, made by one run of the suite.

Lines are kept by function and count from where the function begins, so that the map survives edits elsewhere in a file.
Of a function that was edited since, all its test files count.
"""

import ast
import hashlib
import json
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tools.mutants.catalogue import ROOT, TESTS, inner_path
from tools.mutants.recorder import FIXTURE

MAP = Path(__file__).with_name("map.json")
BY_HAND = Path(__file__).with_name("tests.toml")
START_SECONDS = 6.0
"""How long pytest takes to start and to load torch and headscope."""
SLOW_SECONDS = 15.0
"""A test file that takes longer comes behind the others, however near it is."""
UNKNOWN_SECONDS = 5.0
"""How long a test file is taken to run that was never recorded."""

Runs = list[tuple[int, int, int]]
"""(first line, last line, number of the set of test files), lines counted from where the function begins."""


@dataclass(frozen=True)
class Function:
    """A function of a source file: its name with those around it, its lines, and a hash of what it does."""

    name: str
    first: int
    last: int
    hash: str


def functions(text: str) -> list[Function]:
    """The functions of a file, outer ones before those inside them; a decorator is a line of its function."""
    return list(_functions(ast.parse(text), ""))


def _functions(node: ast.AST, prefix: str) -> Iterator[Function]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
            said = hashlib.sha256(ast.dump(child).encode()).hexdigest()[:8]
            yield Function(prefix + child.name, first, child.end_lineno or first, said)
            yield from _functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        else:
            yield from _functions(child, prefix)


def body_lines(text: str) -> set[int]:
    """The lines that run when something is called, not when the file is loaded."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines.update(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.Lambda) and node.body.lineno > node.lineno:
            lines.update(range(node.body.lineno, (node.body.end_lineno or node.body.lineno) + 1))
    return lines


class LineMap:
    """The recorded map."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.tests: list[str] = data["tests"]
        self.seconds: dict[str, float] = dict(zip(self.tests, data["seconds"], strict=True))
        self.failing: frozenset[str] = frozenset(data["failing"])
        """Tests that failed when the map was recorded, without a fault: they say nothing."""
        self._sets = [self._named(int(text, 32)) for text in data["sets"]]
        self._sources: dict[str, dict[str, tuple[str, Runs]]] = data["sources"]

    @classmethod
    def load(cls, path: Path = MAP) -> "LineMap":
        """The map that is kept in the repository."""
        return cls(json.loads(path.read_text(encoding="utf-8")))

    def _named(self, bits: int) -> frozenset[str]:
        return frozenset(test for place, test in enumerate(self.tests) if bits >> place & 1)

    def duration(self, test: str) -> float:
        """How many seconds a test file takes on one core."""
        return self.seconds.get(test, UNKNOWN_SECONDS)

    def executing(self, file: str, text: str, lines: Iterable[int]) -> set[str]:
        """The test files that execute these lines of a file when something is called.

        Of a line outside of every function (a constant, a default) those that execute anything of the file.
        """
        known = self._sources.get(file, {})
        inside, own = functions(text), body_lines(text)
        found: set[str] = set()
        for line in lines:
            around = [
                function for function in inside if function.first <= line <= function.last and line in own
            ]
            entry = next(
                (known[function.name] for function in reversed(around) if function.name in known), None
            )
            if entry is None:
                found |= self.of_file(file)
                continue
            function = next(function for function in reversed(around) if function.name in known)
            said, runs = entry
            offset = line - function.first
            before = [number for first, _, number in runs if first <= offset]
            # A line within a statement that begins above it has no run of its own.
            numbers = before[-1:] if said == function.hash and before else [number for _, _, number in runs]
            found.update(*(self._sets[number] for number in numbers))
        return found

    def of_file(self, file: str) -> set[str]:
        """The test files that execute anything of a source file."""
        entries = self._sources.get(file, {}).values()
        return {test for _, runs in entries for _, _, number in runs for test in self._sets[number]}


@dataclass(frozen=True)
class ByHand:
    """What is said of tests by hand; see `tests.toml`."""

    never: tuple[str, ...]
    always: tuple[str, ...]
    add: tuple[tuple[str, tuple[str, ...]], ...]

    @classmethod
    def load(cls, path: Path = BY_HAND) -> "ByHand":
        """As the file has it."""
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        added = tuple((entry["source"], tuple(entry["tests"])) for entry in data["add"])
        return cls(tuple(data["never"]), tuple(data["always"]), added)

    def leaves_out(self, test: str) -> bool:
        """Whether a test file is never run for a mutant."""
        return any(fnmatch(test, pattern) for pattern in self.never)

    def is_always(self, test: str) -> bool:
        """Whether a test file is run wherever it executes a line, however many others do."""
        return any(fnmatch(test, pattern) for pattern in self.always)

    def added(self, file: str, tests: Iterable[str]) -> set[str]:
        """The test files that go with a file by hand."""
        patterns = [pattern for source, own in self.add if fnmatch(file, source) for pattern in own]
        return {test for test in tests for pattern in patterns if fnmatch(test, pattern)}


def all_tests(root: Path) -> list[str]:
    """All test files of the repository."""
    return sorted(
        path.relative_to(root).as_posix()
        for folder in TESTS.values()
        for path in (root / folder).rglob("test_*.py")
    )


def mirrored(file: str, tests: Iterable[str]) -> list[str]:
    """The test file of a source file's own name, or where there is none those that begin with its name."""
    start, path = inner_path(file)
    inner = Path(path)
    folder, stem = inner.parent.as_posix(), inner.stem
    stem = inner.parent.name if stem == "__init__" else stem
    start += "" if folder == "." else f"{folder}/"
    known = set(tests)
    if f"{start}test_{stem}.py" in known:
        return [f"{start}test_{stem}.py"]
    return sorted(test for test in known if test.startswith(f"{start}test_{stem}_"))


def nearness(file: str, test: str) -> int:
    """How many folders a test file shares with a source file; more are nearer."""
    tests, inner = inner_path(file)
    if not test.startswith(tests):
        return 0
    mine, theirs = inner.split("/"), test.removeprefix(tests).split("/")
    shared = 0
    for a, b in zip(mine[:-1], theirs[:-1], strict=False):
        if a != b:
            break
        shared += 1
    return shared


@dataclass(frozen=True)
class Chosen:
    """The tests of a mutant."""

    tests: tuple[str, ...]
    """In the order in which they are run."""
    left_out: int
    """How many other files execute its lines."""
    seconds: float
    """How long they take together, by what was recorded."""


class TestChoice:
    """Chooses the tests of lines of the source."""

    __test__ = False  # no tests, for pytest

    def __init__(self, known: LineMap, by_hand: ByHand, root: Path = ROOT) -> None:
        self.known, self.by_hand, self.root = known, by_hand, root

    @cached_property
    def _tests(self) -> list[str]:
        return [test for test in all_tests(self.root) if not self.by_hand.leaves_out(test)]

    def tests_of(self, file: str, lines: Iterable[int], *, most: int, budget: float) -> Chosen:
        """At most so many files and seconds, the nearest and shortest first, and whatever must be among them.

        That is the mirrored test file, what `tests.toml` adds, of the files that execute the lines those in the folder
        of the source's own name and the integration tests, and of that folder what was written since the recording.
        """
        text = (self.root / file).read_text(encoding="utf-8")
        there = set(self._tests)
        executing = self.known.executing(file, text, lines) & there if file.endswith(".py") else set()
        start, inner = inner_path(file)
        own = f"{start}{inner.split('/')[0]}/"
        needed = {*mirrored(file, there), *self.by_hand.added(file, there)}
        needed |= {test for test in executing if test.startswith(own) or self.by_hand.is_always(test)}
        needed |= {test for test in there if test.startswith(own) and test not in self.known.seconds}
        chosen = self._ordered(file, needed)
        spent = sum(map(self.known.duration, chosen))
        others = self._ordered(file, executing - needed)
        for test in others:
            if len(chosen) < most and spent + self.known.duration(test) <= budget:
                chosen.append(test)
                spent += self.known.duration(test)
        return Chosen(tuple(self._ordered(file, chosen)), len(others) + len(needed) - len(chosen), spent)

    def _ordered(self, file: str, tests: Iterable[str]) -> list[str]:
        own = mirrored(file, self._tests)

        def place(test: str) -> tuple[bool, bool, int, float, str]:
            takes = self.known.duration(test)
            return takes > SLOW_SECONDS, test not in own, -nearness(file, test), takes, test

        return sorted(tests, key=place)


def make(folder: Path, root: Path) -> dict[str, Any]:
    """The map as plain data, from what the recorder left in a folder of a run in `root`."""
    seconds, failing = _reports(folder / "reports.jsonl")
    for path in folder.glob("seconds.*.json"):
        seconds |= json.loads(path.read_text(encoding="utf-8"))
    executed = _executed(folder, root)
    tests = sorted(
        {*seconds, *(test for lines in executed.values() for own in lines.values() for test in own)}
    )
    places = {test: place for place, test in enumerate(tests)}
    sets: dict[frozenset[str], int] = {}
    sources = {
        file: _by_function((root / file).read_text(encoding="utf-8"), lines, sets)
        for file, lines in sorted(executed.items())
    }
    return {
        "tests": tests,
        "seconds": [round(seconds.get(test, UNKNOWN_SECONDS), 1) for test in tests],
        "failing": sorted(failing),
        "sets": [base32(sum(1 << places[test] for test in own)) for own in sets],
        "sources": {file: own for file, own in sources.items() if own},
    }


def timed(data: Mapping[str, Any], junit: Path) -> dict[str, Any]:
    """The map with the durations of a report, as far as it has them."""
    known = durations(junit)
    seconds = [
        round(known.get(test, before), 1) for test, before in zip(data["tests"], data["seconds"], strict=True)
    ]
    return {**data, "seconds": seconds}


def save(data: Mapping[str, Any], path: Path = MAP) -> None:
    """Write the map, a line a source file."""
    lines = [
        *(
            f"{json.dumps(key)}: {json.dumps(data[key], separators=(',', ':'))},"
            for key in ("tests", "seconds", "failing")
        ),
        f'"sets": {json.dumps(data["sets"], separators=(",", ":"))},',
        '"sources": {',
        ",\n".join(
            f"{json.dumps(file)}: {json.dumps(own, separators=(',', ':'))}"
            for file, own in data["sources"].items()
        ),
        "}",
    ]
    path.write_text("{\n" + "\n".join(lines) + "\n}\n", encoding="utf-8")


def base32(bits: int) -> str:
    """A number in base 32, as `int(text, 32)` reads it."""
    digits = "0123456789abcdefghijklmnopqrstuv"
    text = ""
    while bits:
        text, bits = digits[bits & 31] + text, bits >> 5
    return text or "0"


def _reports(path: Path) -> tuple[dict[str, float], set[str]]:
    """How long each test file took, and which tests failed."""
    seconds: dict[str, float] = defaultdict(float)
    failing: set[str] = set()
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if "test" in entry:
            seconds[entry["test"].partition("::")[0]] += entry["seconds"]
            if entry["outcome"] == "failed":
                failing.add(entry["test"])
    return dict(seconds), failing


def durations(junit: Path) -> dict[str, float]:
    """How long each test file took, from a report that pytest writes with --junit-xml."""
    seconds: dict[str, float] = defaultdict(float)
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        parts = case.get("classname", "").split(".")
        while parts and not parts[-1].startswith("test_"):
            parts.pop()  # the class that a test is in
        if parts:
            seconds["/".join(parts) + ".py"] += float(case.get("time", 0))
    return dict(seconds)


def _executed(folder: Path, root: Path) -> dict[str, dict[int, set[str]]]:
    """By source file and line, the test files that execute it when something is called."""
    from coverage import CoverageData  # noqa: PLC0415  (only to make the map)

    users: dict[str, set[str]] = defaultdict(set)
    for path in folder.glob("fixtures.*.json"):
        for test, fixture in json.loads(path.read_text(encoding="utf-8")):
            users[FIXTURE + fixture].add(test)
    executed: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in folder.glob("lines.*"):
        data = CoverageData(basename=str(path))
        data.read()
        for measured in data.measured_files():
            if not measured.endswith(".py"):  # a page's template, which is compiled too
                continue
            file = Path(measured).relative_to(root).as_posix()
            own = body_lines(Path(measured).read_text(encoding="utf-8"))
            for line, contexts in data.contexts_by_lineno(measured).items():
                for context in contexts if line in own else ():
                    executed[file][line] |= (
                        users[context] if context.startswith(FIXTURE) else {context} - {""}
                    )
    return executed


def _by_function(
    text: str, lines: Mapping[int, set[str]], sets: dict[frozenset[str], int]
) -> dict[str, tuple[str, Runs]]:
    """By function: its hash, and which set of test files executes each stretch of its lines."""
    found: dict[str, tuple[str, Runs]] = {}
    inside = functions(text)
    for function in inside:
        deeper = [other for other in inside if function.first < other.first and other.last <= function.last]
        own = [
            line
            for line in range(function.first, function.last + 1)
            if lines.get(line) and not any(other.first <= line <= other.last for other in deeper)
        ]
        runs: Runs = []
        for line in own:
            number = sets.setdefault(frozenset(lines[line]), len(sets))
            offset = line - function.first
            if runs and runs[-1][2] == number:
                runs[-1] = (runs[-1][0], offset, number)  # lines between them hold no statement of their own
            else:
                runs.append((offset, offset, number))
        if runs:
            found[function.name] = (function.hash, runs)
    return found
