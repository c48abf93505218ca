"""What a run costs, without a clock: no more than is recorded in recorded.toml. How to record: CONTRIBUTING.md."""

import os
import re
from pathlib import Path

import pytest
from tests.speed import record

RECORDED = record.read()
CONSTRAINTS = Path(__file__).parents[2] / "constraints.txt"

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*encountered in.*:RuntimeWarning"
)  # numpy, of minus infinity, in interpreted kernels


TABLES = [
    pytest.param(
        table, marks=pytest.mark.slow if table == "cost.triton" else ()
    )  # half a minute, interpreted
    for table in record.COUNTED
]


@pytest.mark.parametrize("table", TABLES)
def test_it_is_as_recorded_and_costs_no_more(table: str) -> None:
    if table == "cost.triton":
        pytest.importorskip("triton")
        if not os.environ.get("TRITON_INTERPRET"):
            pytest.skip("the kernels are not interpreted here")
    installed, recorded = record.installed(), RECORDED["versions"]
    if table.startswith("cost") and any(recorded[name] != number for name, number in installed.items()):
        pytest.skip(f"the counts are those of {recorded}, not of {installed}")
    found = record.Difference.between(table, RECORDED[table], record.COUNTED[table]())
    assert not str(found), f"\n{found}"


def test_the_versions_are_those_that_are_installed_for_tests() -> None:
    pinned = dict(re.findall(r"^([\w-]+)==(\S+)$", CONSTRAINTS.read_text(encoding="utf-8"), re.MULTILINE))
    assert RECORDED["versions"] == {name: pinned[name] for name in record.PACKAGES}


def test_nothing_else_is_recorded() -> None:
    assert [*RECORDED] == ["versions", *record.COUNTED]


def test_what_rose_and_what_changed_is_worse_and_what_fell_is_not() -> None:
    def difference(**counted: int | str) -> record.Difference:
        return record.Difference.between("path", {"frames": 9, "kernels": "used"}, counted)

    assert not str(difference(frames=9, kernels="used"))
    assert not difference(frames=8, kernels="used").is_worse
    assert "fell: path.frames: 8, recorded 9" in str(difference(frames=8, kernels="used"))
    assert difference(frames=10, kernels="used").is_worse
    assert difference(frames=9, kernels="not used").is_worse
    assert difference(frames=8).is_worse  # one that is no longer counted
