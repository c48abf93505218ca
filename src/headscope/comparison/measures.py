"""Which head changed most by each surface measure, and whether it surely did."""

from itertools import product
from typing import Any

import numpy as np

from headscope.comparison.sums import MeasureSums
from headscope.probes.features.result import SURE_FROM
from headscope.probes.result import Row
from headscope.stats.intervals import critical
from headscope.types import HeadId

Array = np.ndarray[Any, Any]


def measure_rows(sums: MeasureSums) -> list[Row]:
    """A row for each label of a measure.

    A change is sure when its 95 % interval over texts, widened for all heads and labels of the measure (Bonferroni),
    leaves 0 out.
    """
    change, error = sums.change.mean(), sums.change.stderr()  # (layer, head, *dims)
    before, after = sums.first.means.mean(), sums.second.means.mean()
    errors = sums.first.means.stderr(), sums.second.means.stderr()
    sure = _sure(change, error, sums.change.texts.cpu().numpy())
    dims = sums.first.dims
    rows = []
    for place in product(*(range(len(sums.first.coords[dim])) for dim in dims)):
        at: tuple[Any, ...] = (slice(None), slice(None), *place)
        values = change[at]  # (layer, head)
        if not np.isfinite(values).any():
            continue
        top = np.unravel_index(np.nanargmax(np.abs(values)), values.shape)
        row: Row = {
            "measure": sums.first.name,
            **{dim: sums.first.coords[dim][number] for dim, number in zip(dims, place, strict=True)},
            "head": str(HeadId(int(top[0]), int(top[1]))),
            "before": float(before[at][top]),
            "before_stderr": _plain(errors[0][at][top]),
            "after": float(after[at][top]),
            "after_stderr": _plain(errors[1][at][top]),
            "change": float(values[top]),
            "change_stderr": _plain(error[at][top]),
            "sure": bool(sure[at][top]),
            "heads_sure": int(sure[at].sum()),
            "mean_change": float(np.nanmean(values)),
        }
        rows.append(row)
    return rows


def _sure(change: Array, error: Array, texts: Array) -> Array:
    comparisons = max(1, int(np.isfinite(error).sum()))
    enough = texts >= SURE_FROM
    limits = np.full(change.shape, np.inf)
    for count in np.unique(texts[enough]):
        limits[enough & (texts == count)] = critical(int(count), comparisons=comparisons)
    with np.errstate(invalid="ignore"):
        found: Array = (np.abs(change) > limits * error) & enough
    return found


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
