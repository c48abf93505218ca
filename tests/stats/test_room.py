"""Statistics stand in one room: no other module has a quantile or a test of its own."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import headscope

PACKAGE = Path(headscope.__file__).parent
ELSEWHERE = sorted(path for path in PACKAGE.rglob("*.py") if "stats" not in path.relative_to(PACKAGE).parts)
ROOMS = {"scipy.stats", "scipy.special", "statistics"}
PLAIN = {"rankdata", "mean", "median", "pstdev", "softmax"}
"""Names that describe numbers and say nothing of how sure they are."""


def statistics(source: str) -> Iterator[str]:
    """What a module has of statistics: imports, and the normal quantile as a number."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module in ROOMS:
            yield from {name.name for name in node.names} - PLAIN
        elif isinstance(node, ast.ImportFrom) and node.module == "scipy":
            yield from {name.name for name in node.names} & {"stats", "special"}
        elif isinstance(node, ast.Import):
            yield from {name.name for name in node.names} & ROOMS
        elif isinstance(node, ast.Constant) and isinstance(node.value, float) and 1.955 < node.value < 1.965:
            yield str(node.value)


@pytest.mark.parametrize(
    "source",
    [
        "from scipy.stats import t",
        "from scipy import stats",
        "import scipy.special",
        "from statistics import NormalDist",
        "reach = 1.96 * error",
    ],
)
def test_what_is_looked_for(source: str) -> None:
    assert list(statistics(source))


def test_no_other_module_makes_intervals_or_tests() -> None:
    found = {
        str(path.relative_to(PACKAGE)): names
        for path in ELSEWHERE
        if (names := list(statistics(path.read_text(encoding="utf-8"))))
    }
    assert len(ELSEWHERE) > 100
    assert found == {}
