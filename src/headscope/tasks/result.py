"""How well a task was done: scores by example, metrics with their intervals, and differences of two results."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.special import stdtr, stdtrit

from headscope.errors import OptionError
from headscope.stats.intervals import wilson
from headscope.tasks.metric import Array, Mean, Metric
from headscope.text.skipped import Skipped

LEVEL = 0.95


@dataclass(frozen=True)
class TaskResult:
    """One model's work on one task's data."""

    task: str
    model: str
    data: str
    metrics: tuple[Metric, ...]
    records: Array
    """(example,) with named fields: what the metrics are computed from, in the order of the data."""
    documents: Array
    """(example,) the article or text each example belongs to, numbered from 0 up: the independent units."""
    skipped: Skipped = field(default_factory=lambda: Skipped("examples"))
    cut: int = 0
    """How many inputs lost their end."""
    predictions: tuple[str, ...] = ()
    """What was answered, in words, where the task has words to answer with."""

    def __len__(self) -> int:
        return len(self.records)

    @property
    def values(self) -> dict[str, float]:
        """Every metric by name."""
        return {metric.name: metric.value(self.records) for metric in self.metrics}

    @property
    def scores(self) -> Mapping[str, Array]:
        """(example,) by metric: each example's own score, for the metrics that have one."""
        found = {metric.name: metric.scores(self.records) for metric in self.metrics}
        return {name: scores for name, scores in found.items() if scores is not None}

    def metric(self, name: str) -> float:
        """One metric's value."""
        return self.find(name).value(self.records)

    def find(self, name: str) -> Metric:
        """The metric of that name, or an error that lists the known ones."""
        for metric in self.metrics:
            if metric.name == name:
                return metric
        known = ", ".join(metric.name for metric in self.metrics)
        raise OptionError(f"the task {self.task} has no metric called {name!r}; choose from {known}")

    def stderr(self, name: str) -> float:
        """The metric's standard error over documents; nan for fewer than two of them."""
        return _spread(self.find(name).without_each(self.records, self.documents))

    def interval(self, name: str, *, level: float = LEVEL) -> tuple[float, float]:
        """A confidence interval of the metric; see `paired_difference` for how the error is found.

        Means of shares have Wilson's interval, with as many independent examples as would give that error: it
        stays inside 0 and 100, and says something of a model that is always right.
        """
        metric = self.find(name)
        value = metric.value(self.records)
        units = _units(self.documents)
        error = self.stderr(name)
        if math.isnan(value) or units < 2:
            return math.nan, math.nan
        quantile = _quantile(units, level)
        if isinstance(metric, Mean) and metric.is_share:
            return _share_interval(value, error, units, quantile, metric.high)
        return max(metric.low, value - quantile * error), min(metric.high, value + quantile * error)


@dataclass(frozen=True)
class Difference:
    """A metric's value in one result less that in another, on the same examples."""

    metric: str
    value: float
    stderr: float
    low: float
    high: float
    p: float
    """Two-sided, of no difference; not corrected for other comparisons."""
    examples: int
    documents: int


def paired_difference(
    before: TaskResult, after: TaskResult, metric: str, *, level: float = LEVEL
) -> Difference:
    """`after` minus `before`, both on the same examples, with a confidence interval and a p value.

    The examples are paired: the error is that of the difference, found by leaving out one document at a time from
    both results (the jackknife) and taking Student's t with as many degrees of freedom as documents less one. A
    document is an article of questions or a text; examples of one document share its subject and are not
    independent. This serves means, ratios, F1 and correlations alike, needs no random numbers, and its p values go
    as low as a correction for hundreds of comparisons asks, which those of a few thousand resamples do not.
    """
    _check_same(before, after)
    measure = before.find(metric)
    value = measure.value(after.records) - measure.value(before.records)
    without = measure.without_each(after.records, after.documents) - measure.without_each(
        before.records, before.documents
    )
    units = _units(before.documents)
    error = _spread(without)
    if math.isnan(value) or math.isnan(error):
        low = high = p = math.nan
    elif _nothing_varies(value, error) and abs(value) > 1e-12:
        low = high = math.nan  # how much it would vary, these few documents do not tell
        p = least_p(units)
    else:
        reach = _quantile(units, level) * error
        low, high = value - reach, value + reach
        p = _p_value(value, error, units)
    return Difference(metric, value, error, low, high, p, len(before), units)


def _check_same(before: TaskResult, after: TaskResult) -> None:
    same = before.task == after.task and before.data == after.data and len(before) == len(after)
    if not same or not np.array_equal(before.documents, after.documents):
        raise OptionError(
            f"{before.task} on {before.data} ({len(before)} examples) and {after.task} on {after.data} "
            f"({len(after)} examples) cannot be paired; evaluate the same task on the same data twice"
        )


def _p_value(value: float, error: float, units: int) -> float:
    if _nothing_varies(value, error):
        return 1.0
    return max(float(2 * stdtr(units - 1, -abs(value) / error)), least_p(units))


def _nothing_varies(value: float, error: float) -> bool:
    """Whether there is no change at all, or the same one everywhere."""
    return error <= 1e-12 * max(1.0, abs(value))


def least_p(units: int) -> float:
    """The smallest p that so many documents can give when each is as likely to go up as down.

    Student's t knows no such end: two documents that happen to change alike would be sure.
    """
    return float(2.0 ** (1 - units))


def _units(documents: Array) -> int:
    return len(np.unique(documents))


def _spread(without: Array) -> float:
    """The jackknife's standard error from the values without each document."""
    count = len(without)
    if count < 2:
        return math.nan
    return math.sqrt((count - 1) / count * float(((without - without.mean()) ** 2).sum()))


def _quantile(units: int, level: float) -> float:
    if not 0 < level < 1:
        raise OptionError(f"level must lie between 0 and 1, not {level}")
    return float(stdtrit(units - 1, 0.5 + level / 2))


def _share_interval(
    value: float, error: float, units: int, quantile: float, high: float
) -> tuple[float, float]:
    share, error = value / high, error / high
    varies = error > 1e-12 and 0 < share < 1
    low, up = wilson(share, share * (1 - share) / error**2 if varies else float(units), quantile)
    return high * low, high * up
