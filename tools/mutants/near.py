"""`make near`: between two edits, the tests that are likeliest to notice what changed, in about three minutes.

Changed test files come first, then the files that caught mutants in the changed source files, those with most catches
before the others, then the tests of the source's own name, then the nearest files that execute the changed functions.
"""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.mutants.catalogue import SOURCE, Mutant
from tools.mutants.linemap import START_SECONDS, TestChoice, all_tests, mirrored
from tools.mutants.trees import environment, listed

SECONDS = 180
JOBS = 2
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")


@dataclass
class Change:
    """What changed since a commit."""

    files: list[str]
    lines: dict[str, list[int]] = field(default_factory=dict)
    """By source file that is there, the numbers of its changed lines; where some were taken out, the line before."""


def changes(root: Path, base: str) -> Change:
    """What changed since a commit, files that git does not know yet included."""
    known = listed(root, "diff", "--name-only", base)
    new = listed(root, "ls-files", "--others", "--exclude-standard")
    change = Change([*known, *new])
    for file in change.files:
        if not (file.startswith(SOURCE) and file.endswith(".py") and (root / file).is_file()):
            continue
        if file in new:
            change.lines[file] = list(
                range(1, len((root / file).read_text(encoding="utf-8").splitlines()) + 1)
            )
        else:
            diff = subprocess.run(
                ["git", "diff", "-U0", base, "--", file], cwd=root, capture_output=True, text=True, check=True
            )
            change.lines[file] = changed_lines(diff.stdout)
    return change


def changed_lines(diff: str) -> list[int]:
    """The changed lines of a file's new text, by a diff without context."""
    lines: list[int] = []
    for hunk in _HUNK.finditer(diff):
        first, count = int(hunk[1]), int(hunk[2] or 1)
        lines += range(first, first + count) if count else [max(1, first)]
    return lines


@dataclass(frozen=True)
class Selection:
    """Which test files are run, in their order, and which are left out for want of time."""

    tests: tuple[str, ...]
    left_out: tuple[str, ...]
    seconds: float
    """How long they take on all jobs together, by what was recorded."""


def select(
    change: Change,
    choice: TestChoice,
    mutants: Sequence[Mutant],
    caught: Mapping[str, Mapping[str, str]],
    *,
    seconds: float,
) -> Selection:
    """The test files for what changed that take at most so many seconds of one core; those that changed in any case.

    `caught` are, by the id of a mutant, the test files that catch it.
    """
    there = {test for test in all_tests(choice.root) if not test.startswith("tests/browser/")}
    changed = [file for file in change.files if file in there]
    ranked = dict.fromkeys(
        test
        for tests in (
            changed,
            _using(choice.root, there, change.files),
            _catching(change.files, mutants, caught),
            [test for file in change.files if file.startswith(SOURCE) for test in mirrored(file, there)],
            _by_hand(change.files, choice, there),
            _executing(change, choice),
        )
        for test in tests
        if test in there
    )
    chosen: list[str] = []
    spent = 0.0
    for test in ranked:
        takes = choice.known.duration(test)
        if test in changed or spent + takes <= seconds:
            chosen.append(test)
            spent += takes
    return Selection(tuple(chosen), tuple(test for test in ranked if test not in chosen), spent)


def unsettled(
    change: Change, root: Path, mutants: Sequence[Mutant], caught: Mapping[str, Mapping[str, str]]
) -> tuple[int, list[Mutant]]:
    """Of how many mutants neither the source nor some test that catches them changed; and the others of what changed.

    A test file that imports a helper that changed has changed too.
    """
    changed = {*change.files, *_using(root, all_tests(root), change.files)}
    held, others = 0, []
    for mutant in mutants:
        tests = caught.get(mutant.id, {}).keys()
        if mutant.file in changed or (tests and tests <= changed):
            others.append(mutant)
        else:
            held += bool(tests)
    return held, others


def _using(root: Path, tests: Iterable[str], files: Iterable[str]) -> list[str]:
    """The test files that import a helper that changed."""
    helpers = [
        file.removesuffix(".py").replace("/", ".")
        for file in files
        if file.startswith("tests/") and file.endswith(".py") and not Path(file).name.startswith("test_")
    ]
    if not helpers:
        return []
    return sorted(
        test
        for test in tests
        if any(
            re.search(rf"\b{re.escape(name)}\b", (root / test).read_text(encoding="utf-8"))
            for name in helpers
        )
    )


def _catching(
    files: Sequence[str], mutants: Sequence[Mutant], caught: Mapping[str, Mapping[str, str]]
) -> list[str]:
    """The test files that caught mutants in these files, most mutants first."""
    kills = Counter(test for mutant in mutants if mutant.file in files for test in caught.get(mutant.id, ()))
    return [test for test, _ in sorted(kills.items(), key=lambda pair: (-pair[1], pair[0]))]


def _by_hand(files: Sequence[str], choice: TestChoice, there: set[str]) -> list[str]:
    return sorted({test for file in files for test in choice.by_hand.added(file, there)})


def _executing(change: Change, choice: TestChoice) -> list[str]:
    """The test files that execute changed lines; of several changed files, each one's nearest first in turn."""
    ranked = [
        choice.tests_of(file, lines, most=sys.maxsize, budget=float("inf")).tests
        for file, lines in change.lines.items()
    ]
    most = max(map(len, ranked), default=0)
    return [tests[place] for place in range(most) for tests in ranked if place < len(tests)]


def run(root: Path, selection: Selection, *, jobs: int = JOBS) -> int:
    """Run the tests of a selection in the working tree itself; pytest's exit status."""
    options = ["-n", str(jobs)] if len(selection.tests) > 1 else []
    command = [sys.executable, "-m", "pytest", "-q", *options, *selection.tests]
    return subprocess.run(command, cwd=root, env=environment(root), check=False).returncode


def told(change: Change, selection: Selection, choice: TestChoice, *, jobs: int = JOBS) -> str:
    """What is run, and what is left out."""
    source = [file for file in change.files if file.startswith(SOURCE)]
    lines = [
        f"{len(source)} source files changed, {len(change.files) - len(source)} others; "
        f"{len(selection.tests)} test files, about {selection.seconds / jobs + START_SECONDS * jobs:.0f} s"
    ]
    if selection.left_out:
        rest = sum(map(choice.known.duration, selection.left_out))
        named = ", ".join(selection.left_out[:8]) + (", …" if len(selection.left_out) > 8 else "")
        lines.append(
            f"left out for want of time: {len(selection.left_out)} test files, {rest / 60:.0f} min ({named})"
        )
    return "\n".join(lines)
