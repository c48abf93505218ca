"""The lanes: what is left out is there under its name, and a run says what it left out."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.lanes import GROUPS, JOURNEYS, Lanes, group_of, matches

ROOT = Path(__file__).parents[1]


def functions() -> list[str]:
    """Every test function by file and name, in brackets anything."""
    return [
        f"{path.relative_to(ROOT)}::{name}"
        for folder in ("tests", "papers/tests")
        for path in sorted((ROOT / folder).rglob("test_*.py"))
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]


def test_every_name_is_of_a_test() -> None:
    """Who renames a test renames it there too; what stands in brackets is not looked up."""
    known = functions()
    patterns = [pattern.partition("[")[0] for group in GROUPS for pattern in (*group.names, *group.kept)]
    assert [pattern for pattern in patterns if not any(matches(name, pattern) for name in known)] == []


def test_twelve_journeys_stay() -> None:
    assert len(set(JOURNEYS)) == 12
    assert [name for name in JOURNEYS if group_of(name)] == []


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("tests/browser/test_edits.py::test_an_edit_is_removed", "browser journeys"),
        ("tests/cli/test_killed.py::test_anything[x]", "kill, resume and Ray"),
        (
            "tests/models/test_types.py::test_nothing_is_wrong_and_nothing_crashes[xlnet]",
            "more architectures",
        ),
        ("tests/models/test_types.py::test_nothing_is_wrong_and_nothing_crashes[mpnet]", None),
        ("tests/measures/test_entropy.py::test_anything", None),
    ],
)
def test_the_group_of_a_test(name: str, title: str | None) -> None:
    group = group_of(name)
    assert (group.title if group else None) == title


def test_a_run_says_what_it_left_out_once_for_all_workers() -> None:
    names = [
        "tests/browser/test_edits.py::test_a",
        "tests/browser/test_edits.py::test_b",
        "tests/test_types.py::test_c",
    ]
    config = SimpleNamespace(option=SimpleNamespace(markexpr="not nightly"))
    items: list[Any] = [SimpleNamespace(nodeid=name, config=config) for name in names]
    worker, printer = Lanes(), Lanes()
    assert worker.line() == ""
    worker.pytest_deselected(items)
    output: dict[str, Any] = {}
    worker.pytest_sessionfinish(SimpleNamespace(config=SimpleNamespace(workeroutput=output)))  # type: ignore[arg-type]
    for _ in range(2):
        printer.pytest_testnodedown(SimpleNamespace(workeroutput=output))
    printer.pytest_testnodedown(SimpleNamespace())  # a worker that died
    assert re.findall(r"\d+", printer.line()) == ["2", "2"]
    assert "make test-all" in printer.line()
