"""How well a task was done: scores by example, metrics with their intervals, and differences of two results."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from headscope.errors import OptionError
from headscope.stats.documents import left_out_error
from headscope.stats.intervals import LEVEL, mean_interval, mean_share_interval
from headscope.stats.paired import PairedChange, paired_change
from headscope.tasks.metric import Mean, Metric
from headscope.text.skipped import Skipped
from headscope.types import Array


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
    does: str = ""
    """What a model does in the task, as in: the loss of classifying texts."""
    predictions: tuple[str, ...] = ()
    """What was answered, in words, where the task has words to answer with."""

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        values = ", ".join(f"{name} {value:.4g}" for name, value in self.values.items())
        return f"<{type(self).__name__} of {self.model}: {self.task} on {self.data}, {len(self)} examples; {values}>"

    @property
    def values(self) -> dict[str, float]:
        """Every metric by name."""
        return {metric.name: metric.value(self.records) for metric in self.metrics}

    @property
    def scores(self) -> Mapping[str, Array]:
        """(example,) by metric: each example's own score, for the metrics that have one."""
        by_name = {metric.name: metric.scores(self.records) for metric in self.metrics}
        return {name: scores for name, scores in by_name.items() if scores is not None}

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
        return left_out_error(self.find(name).without_each(self.records, self.documents))

    def interval(self, name: str, *, level: float = LEVEL) -> tuple[float, float]:
        """A confidence interval of the metric; see `paired_difference` for how the error is found.

        Means of shares have Wilson's interval, with as many independent examples as would give that error: it
        stays inside 0 and 100, and says something of a model that is always right.
        """
        metric = self.find(name)
        value = metric.value(self.records)
        without = metric.without_each(self.records, self.documents)
        units, error = len(without), left_out_error(without)
        if math.isnan(value) or units < 2:
            return math.nan, math.nan
        if isinstance(metric, Mean) and metric.is_share:
            low, high = mean_share_interval(value / metric.high, error / metric.high, units, level=level)
            return metric.high * low, metric.high * high
        low, high = mean_interval(value, error, units, level=level)
        return max(metric.low, low), min(metric.high, high)


@dataclass(frozen=True)
class Difference(PairedChange):
    """A metric's value in one result less that in another, on the same examples."""

    metric: str
    examples: int
    documents: int


def paired_difference(
    before: TaskResult, after: TaskResult, metric: str, *, level: float = LEVEL
) -> Difference:
    """`after` minus `before`, both on the same examples, with a confidence interval and a p value.

    The examples are paired: the error is that of the difference, found by leaving out one document at a time from
    both results (the jackknife). A document is an article of questions or a text; examples of one document share its
    subject and are not independent. See `stats.paired.paired_change`.
    """
    _check_same(before, after)
    measure = before.find(metric)
    value = measure.value(after.records) - measure.value(before.records)
    without = measure.without_each(after.records, after.documents) - measure.without_each(
        before.records, before.documents
    )
    change = paired_change(value, without, level=level)
    return Difference(
        **vars(change), metric=metric, examples=len(before), documents=len(np.unique(before.documents))
    )


def _check_same(before: TaskResult, after: TaskResult) -> None:
    same = before.task == after.task and before.data == after.data and len(before) == len(after)
    if not same or not np.array_equal(before.documents, after.documents):
        raise OptionError(
            f"{before.task} on {before.data} ({len(before)} examples) and {after.task} on {after.data} "
            f"({len(after)} examples) cannot be paired; evaluate the same task on the same data twice"
        )
