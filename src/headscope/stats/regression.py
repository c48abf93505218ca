"""Least squares: one coefficient with its interval."""

import numpy as np

from headscope.stats.intervals import mean_interval
from headscope.types import Array


def coefficient(design: Array, target: Array, column: int) -> tuple[float, float, float]:
    """A column's coefficient and the ends of its 95 % interval; nan where the columns (case, column) depend."""
    cases, columns = design.shape
    if np.linalg.matrix_rank(design) < columns:
        return (np.nan,) * 3
    fitted, *_ = np.linalg.lstsq(design, target)
    left = target - design @ fitted
    freedom = cases - columns
    error = np.sqrt(left @ left / freedom * np.linalg.inv(design.T @ design)[column, column])
    value = float(fitted[column])
    return value, *mean_interval(value, float(error), freedom + 1)
