import io
from math import nan

import numpy as np
import pytest
from rich.console import Console

from headscope.cli.tables.heads import HeadTable
from headscope.cli.tables.text import blocks, decimals_for, shown


@pytest.mark.parametrize(
    ("room", "expected"),
    [(100, [[0, 1, 2]]), (24, [[0, 1], [2]]), (23, [[0], [1], [2]]), (1, [[0], [1], [2]])],
)
def test_columns_that_do_not_fit_go_on_below(room: int, expected: list[list[int]]) -> None:
    assert blocks([10, 10, 10], room) == expected


@pytest.mark.parametrize("width", [48, 80, 200])
def test_a_wide_table_fits_the_terminal_and_loses_nothing(width: int) -> None:
    names = [f"w{number:02d}" for number in range(21)]
    table = HeadTable(
        [{"layer": 11, "head": 7}, {"layer": 0, "head": 1}],
        [{"feature": name} for name in names],
        np.array([[row + number / 100 for number in range(21)] for row in range(2)]),
        np.full((2, 21), 0.004),
    )
    console = Console(width=width, file=io.StringIO(), force_terminal=True, color_system=None)
    table.print(console)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    headers = [line.split()[1:] for line in lines if line.startswith("head")]
    assert [name for header in headers for name in header] == names
    assert sum(line.startswith("11.7") for line in lines) == len(headers)
    assert "1.200 ± 0.004" in lines[-1]


@pytest.mark.parametrize(
    ("mean", "stderr", "text"),
    [(0.12345, 0.01, "0.123 ± 0.010"), (0.5, nan, "0.500"), (nan, nan, "-"), (1200, nan, "1,200")],
)
def test_numbers_in_words(mean: float, stderr: float, text: str) -> None:
    assert shown(mean, stderr, 3) == text


@pytest.mark.parametrize(("error", "decimals"), [(0.5, 3), (0.002, 3), (0.0004, 4), (1e-9, 4), (0.0, 3)])
def test_decimals_show_the_standard_error(error: float, decimals: int) -> None:
    assert decimals_for([error, nan]) == decimals


def test_rows_without_a_number_rank_last() -> None:
    values = np.array([[nan], [1.0], [3.0]])
    table = HeadTable([{"head": n} for n in range(3)], [{"x": "a"}], values, np.full((3, 1), nan))
    assert table.ranked(by="a", top=None, ascending=False).row_names == ["2", "1", "0"]
    assert table.ranked(by="a", top=None, ascending=True).row_names == ["1", "2", "0"]
