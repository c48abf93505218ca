"""Metrics: numbers computed from one record an example, in a form that knows what leaving examples out does.

Nearly every metric is a function of sums over examples (right answers, hits by class, products). So each says what
it sums; its value on all examples but some is then a subtraction, however many examples there are.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from headscope.facts.analyses.sweeps import MetricFacts
from headscope.types import Array

RANK_GROUPS = 500
"""Most groups that examples are dealt out to where each group left out costs a sort."""


@dataclass(frozen=True)
class Metric(MetricFacts, ABC):
    """A number that says how well a task was done; metrics in % go from 0 to 100."""

    digits: int = 1
    low: float = -np.inf
    high: float = np.inf

    @abstractmethod
    def sums(self, records: Array) -> Array:
        """(example, sum) what is summed over examples."""

    @abstractmethod
    def of(self, sums: Array) -> Array:
        """(...) the metric of sums (..., sum)."""

    def value(self, records: Array) -> float:
        """The metric of some records, of all examples or of any sample of them."""
        return float(self.of(self.sums(records).sum(0)))

    def without_each(self, records: Array, groups: Array) -> Array:
        """(group,) the metric without the examples of each group; `groups` (example,) are numbers from 0 up."""
        sums = self.sums(records)  # (example, sum)
        of_group = np.zeros((int(groups.max()) + 1, sums.shape[1]))
        np.add.at(of_group, groups, sums)
        return self.of(sums.sum(0) - of_group)

    def scores(self, records: Array) -> Array | None:
        """(example,) each example's own score; None when only all of them together have one."""
        return None


@dataclass(frozen=True)
class Mean(Metric):
    """The mean of a field of the records, times `scale`; with `count`, the ratio of two fields' sums."""

    field: str = ""
    count: str | None = None
    scale: float = 1.0

    def sums(self, records: Array) -> Array:
        """(example, 2) the field, and 1 or the count."""
        count = np.ones(len(records)) if self.count is None else records[self.count]
        return np.stack([self.scale * records[self.field], count], axis=1)

    def of(self, sums: Array) -> Array:
        """The ratio; nan of nothing."""
        return _divided(sums[..., 0], sums[..., 1])

    def scores(self, records: Array) -> Array:
        """Each example's own ratio; nan where its count is 0."""
        return self.of(self.sums(records))

    @property
    def is_share(self) -> bool:
        """Whether it is a mean of numbers that lie between 0 and `high`."""
        return self.unit == "%"


@dataclass(frozen=True)
class Perplexity(Mean):
    """exp of a mean loss."""

    def of(self, sums: Array) -> Array:
        """exp of the ratio."""
        with np.errstate(over="ignore"):
            return np.exp(super().of(sums))


@dataclass(frozen=True)
class _ByClass(Metric):
    """What is computed from hits, guesses and golds by class; records have `prediction` and `gold`."""

    classes: int = 2

    def sums(self, records: Array) -> Array:
        """(example, 3 * class) hits, guesses, golds."""
        known = np.arange(self.classes)
        guessed = records["prediction"][:, None] == known  # (example, class)
        gold = records["gold"][:, None] == known  # (example, class)
        return np.concatenate([guessed & gold, guessed, gold], axis=1).astype(np.float64)


@dataclass(frozen=True)
class ClassF1(_ByClass):
    """F1 of class 1 for two classes; for more, the mean of the F1 of all classes that occur (macro)."""

    def of(self, sums: Array) -> Array:
        """2 hits / (guesses + golds), 0 when the class is neither guessed nor right."""
        hits, guessed, gold = np.split(sums, 3, axis=-1)
        each = 200 * np.divide(hits, guessed + gold, out=np.zeros_like(hits), where=guessed + gold > 0.5)
        if self.classes == 2:
            return np.asarray(each[..., 1])
        return _divided(each.sum(-1), (guessed + gold > 0.5).sum(-1))


@dataclass(frozen=True)
class Matthews(_ByClass):
    """Matthews' correlation of guesses and golds, for any number of classes; 0 when either is constant."""

    def of(self, sums: Array) -> Array:
        """As Gorodkin 2004 generalises it."""
        hits, guessed, gold = np.split(sums, 3, axis=-1)
        total = gold.sum(-1)
        covariance = hits.sum(-1) * total - (guessed * gold).sum(-1)
        spread = (total**2 - (guessed**2).sum(-1)) * (total**2 - (gold**2).sum(-1))
        return np.asarray(np.where(spread > 0.5, covariance / np.sqrt(np.maximum(spread, 1)), 0))


@dataclass(frozen=True)
class Pearson(Metric):
    """Pearson's correlation of predictions and golds; nan when either is constant."""

    def sums(self, records: Array) -> Array:
        """(example, 6) the moments, about the means so that nothing is lost to rounding."""
        return _moments(records["prediction"], records["gold"])

    def of(self, sums: Array) -> Array:
        """Covariance over the product of the deviations."""
        count, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
        spread_x, spread_y = count * xx - x * x, count * yy - y * y
        # A constant differs from its mean by rounding alone.
        tiny = 1e-12 * count * count
        varies = (spread_x > tiny) & (spread_y > tiny)
        with np.errstate(invalid="ignore"):
            return np.where(
                varies, (count * xy - x * y) / np.sqrt(np.where(varies, spread_x * spread_y, 1)), np.nan
            )


@dataclass(frozen=True)
class Spearman(Pearson):
    """Pearson's correlation of the ranks; equal values share their mean rank."""

    def sums(self, records: Array) -> Array:
        """The moments of the ranks."""
        return _moments(rankdata(records["prediction"]), rankdata(records["gold"]))

    def without_each(self, records: Array, groups: Array) -> Array:
        """Ranked anew each time: the examples that stay move up."""
        groups = groups % RANK_GROUPS
        return np.array([self.value(records[groups != group]) for group in np.unique(groups)])


def _moments(x: Array, y: Array) -> Array:
    """(example, 6) 1, x, y, xx, yy, xy of the standardised values."""
    x, y = _standard(np.asarray(x, np.float64)), _standard(np.asarray(y, np.float64))
    return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)


def _standard(values: Array) -> Array:
    centred = values - values.mean()
    deviation = centred.std()
    # So that what Pearson calls constant does not depend on the unit of the values.
    return np.asarray(
        centred / deviation if deviation > 1e-12 * max(1.0, np.abs(values).max()) else 0 * centred
    )


def _divided(above: Array, below: Array) -> Array:
    above, below = np.asarray(above, np.float64), np.asarray(below, np.float64)
    return np.asarray(np.where(below > 0, above / np.where(below > 0, below, 1), np.nan))
