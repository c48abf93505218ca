"""Why one head does what it does, where `headscope explain` was asked about it."""

from typing import Any

from headscope.atlas import Atlas
from headscope.figures.scores import number
from headscope.types import HeadId
from headscope.views.numbers import plain

Told = dict[str, float | str | list[float] | list[str] | None]

PROBE = "explanation"


def explanation(atlas: Atlas, stack: str, head: HeadId) -> Told | None:
    """The row of the explanation's table that is about this head, flat; None where there is none.

    `neurons` are counted from 0; the shares of `score_share`, `score_share_random` and `pattern_share` are those of
    the best 1, 2, 4 ... (`counts`) of them; `left` is what is left of the pattern with each of `replaced` made
    its mean.
    """
    rows = [row for row in atlas.table(PROBE, stack=stack) if row.get("head") == str(head)]
    if not rows:
        return None
    row = rows[-1]
    carries, left = _dicts(row.get("carries")), _dicts(row.get("left"))
    told: Told = {
        "neurons": number(row.get("neurons")),
        "best": [float(one) for one in row.get("best") or [] if number(one) is not None],
        "counts": _numbers(carries, "neurons"),
        "score_share": _numbers(carries, "score"),
        "score_share_random": _numbers(carries, "score_random"),
        "pattern_share": _numbers(carries, "pattern"),
        "replaced": [str(one.get("replaced")) for one in left if _value(one.get("left")) is not None],
        "left": [value for one in left if (value := _value(one.get("left"))) is not None],
    }
    bias = _value(row.get("bias"))
    return told if bias is None else {**told, "bias": bias}


def _dicts(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _numbers(rows: list[dict[str, Any]], key: str) -> list[float]:
    found = [_value(row.get(key)) for row in rows]
    return [value for value in found if value is not None]


def _value(cell: object) -> float | None:
    """A number, or the value of a cell that has its standard error beside it."""
    return plain(number(cell.get("value") if isinstance(cell, dict) else cell))
