"""When `make bench-ab` calls a tree slower."""

from pathlib import Path

import pytest
from benchmarks import ab
from benchmarks.ab import Ratios


@pytest.mark.parametrize(
    ("values", "slower"),
    [
        ([1.0] * 7, False),
        ([1.04] * 7, True),
        ([1.03] * 7, False),
        ([0.9, 0.95, 1.04, 1.05, 1.06, 1.2, 1.3], False),  # the second quarter begins below the bar
        ([0.9, 1.035, 1.04, 1.05, 1.06, 1.2, 1.3], True),  # one lucky pair changes nothing
        ([1.0, 1.0, 1.0, 1.0, 1.5, 1.6, 9.0], False),
    ],
)
def test_slower_is_where_the_whole_middle_half_lies_above_the_bar(values: list[float], slower: bool) -> None:
    assert Ratios(values).is_slower == slower


def test_quartiles() -> None:
    ratios = Ratios([1.06, 1.0, 1.02, 1.04, 1.01])
    assert ratios.quartiles == pytest.approx((1.01, 1.02, 1.04))
    assert str(ratios) == "median 1.020, middle half 1.010 to 1.040 (not slower)"


def test_trees_run_in_turn_and_ratios_are_new_by_old(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new, ran = Path("old"), Path("new"), []

    def seconds(tree: Path, work: str) -> float:
        ran.append((work, tree.name))
        return 2.0 if tree == old else 3.0

    monkeypatch.setattr(ab, "seconds", seconds)
    assert ab.compared("attention", old, new, 3).values == [1.5, 1.5, 1.5]
    assert [tree for _, tree in ran] == ["old", "new", "new", "old", "old", "new"]
    assert {work for work, _ in ran} == {"attention"}
