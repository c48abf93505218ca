"""Taking a probe's table out of an atlas: what was asked, the best head, how sure, and beside what baselines."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headscope.atlas import Atlas
from headscope.errors import AtlasError, OptionError
from headscope.types import HeadId

ALL = "all"
"""The label of the row over all cases."""

FEW_CASES = 30
"""Fewer cases than this say little about a head."""


@dataclass(frozen=True)
class Score:
    """A share with its 95 % interval; the ends are None where nothing says how sure it is."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    detail: str = ""
    """Which one it is, where the name stands for several: the offset."""


@dataclass(frozen=True)
class BestHead:
    """What a probe asked, the head that answers best, and what needs no attention to answer."""

    label: str
    cases: int | None
    head: HeadId | None
    direction: str | None
    score: Score
    baselines: tuple[Score, ...] = ()
    is_baseline: bool = False
    """True for a row that is itself a baseline, as the parsers have them."""

    @property
    def has_few_cases(self) -> bool:
        """True when there are too few cases to say much."""
        return self.cases is not None and self.cases < FEW_CASES

    @property
    def best_baseline(self) -> Score | None:
        """The strongest of the baselines."""
        return max(self.baselines, key=lambda one: one.value, default=None)

    def is_above(self, baseline: Score) -> bool:
        """Whether the whole interval lies above that of the baseline."""
        most = baseline.value if baseline.high is None else baseline.high
        return self.score.low is not None and self.score.low > most


@dataclass(frozen=True)
class Columns:
    """Which columns of a probe's table mean what; a baseline's are its share, low and high."""

    label: str
    value: str
    value_name: str
    baselines: Mapping[str, tuple[str, str, str]]
    """Name and columns of every baseline."""
    detail: str = ""
    """The column that says which baseline it is, where there were several to choose from."""


COLUMNS = {
    "dependency": Columns(
        "relation",
        "accuracy",
        "share of right guesses",
        {"best fixed offset": ("offset_accuracy", "offset_low", "offset_high")},
        detail="offset",
    ),
    "coreference": Columns(
        "mention_class",
        "accuracy",
        "share of right guesses",
        {
            "nearest mention": ("nearest", "nearest_low", "nearest_high"),
            "nearest with the same head word": ("head_match", "head_match_low", "head_match_high"),
            "rules": ("rules", "rules_low", "rules_high"),
        },
    ),
    "relations": Columns(
        "role",
        "difference",
        "attention of the pair, less that of other pairs as far apart",
        {},
    ),
    "parser": Columns("parser", "uas", "share of words with the right head (UAS)", {}),
}
"""The probes whose tables can be drawn."""


_WITH_THE_MODEL = ("attention", "attention_words")
"""The parsers that see the attention of the model itself; all others are there for comparison."""


def best_heads(atlas: Atlas, probe: str, *, stack: str | None = None) -> list[BestHead]:
    """The rows of a probe's table that have a score, in the table's order."""
    if probe not in COLUMNS:
        raise OptionError(f"there is no chart of {probe!r}; choose from {', '.join(COLUMNS)}")
    columns = COLUMNS[probe]
    found = [_best_head(row, columns) for row in atlas.table(probe, stack=stack)]
    return [row for row in found if row is not None]


def check_probed(atlas: Atlas, probe: str) -> None:
    """Raise AtlasError unless the atlas holds what this probe found."""
    probes = atlas.provenance.get("probes") or {}
    if probe not in probes:
        has = f"it has {', '.join(probes)}" if probes else "it has no probe's results"
        raise AtlasError(f"this atlas has no {probe!r} probe; {has}; add it with: headscope probe {probe}")


def _best_head(row: Mapping[str, Any], columns: Columns) -> BestHead | None:
    value = number(row.get(columns.value))
    if value is None:
        return None
    which = number(row.get(columns.detail))
    detail = "" if which is None else f"{which:+g}".replace("-", "\N{MINUS SIGN}")
    baselines = [
        Score(name, share, number(row.get(low)), number(row.get(high)), detail)
        for name, (column, low, high) in columns.baselines.items()
        if (share := number(row.get(column))) is not None
    ]
    cases = number(row.get("cases"))
    direction = row.get("direction")
    return BestHead(
        label=str(row.get(columns.label, "")),
        cases=None if cases is None else int(cases),
        head=_head(row.get("head")),
        direction=None if direction is None else str(direction),
        score=Score(columns.value_name, value, number(row.get("low")), number(row.get("high"))),
        baselines=tuple(baselines),
        is_baseline=columns.value == "uas" and str(row.get(columns.label)) not in _WITH_THE_MODEL,
    )


def number(value: object) -> float | None:
    """The value if it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _head(value: object) -> HeadId | None:
    try:
        return HeadId.parse(str(value))
    except OptionError:
        return None
