"""Shares of right guesses, with an error that knows that the guesses of one text are not independent."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from scipy.special import stdtrit
from torch import Tensor

Array = np.ndarray[Any, Any]

Z = 1.959964  # two-sided 95 %

DOCUMENT_GROUPS = 41
"""Odd, so that every other document still falls into all of them."""


@dataclass(frozen=True)
class Cases:
    """The cases of a batch: which label each has, and which cases belong to one text."""

    group: Tensor  # (case,) number of the (text, label) the case belongs to
    row: Tensor  # (group,) the label's row in the tally
    text: Tensor  # (group,) the text

    @classmethod
    def of(cls, texts: Sequence[int], rows: Sequence[int]) -> Self:
        """Cases by the number of their text and the row of their label."""
        known: dict[tuple[int, int], int] = {}
        group = [known.setdefault(key, len(known)) for key in zip(texts, rows, strict=True)]
        return cls(
            torch.tensor(group, dtype=torch.long),
            torch.tensor([row for _, row in known], dtype=torch.long),
            torch.tensor([text for text, _ in known], dtype=torch.long),
        )


class Accuracy:
    """Right guesses by label, for every cell (a direction, layer and head; an offset; a rule).

    The share of right guesses is pooled over all cases of a label. Its standard error treats the texts as the
    sample (the ratio estimator of survey statistics: texts are clusters of cases), and needs only sums, so that
    parts merge exactly.
    """

    sums: ClassVar[tuple[str, ...]] = (
        "cases",
        "texts",
        "cases_squared",
        "right",
        "right_squared",
        "right_cases",
    )

    def __init__(self, *cells: int) -> None:
        """`cells` is the shape of what is scored for each label."""
        self.cells = cells
        self.labels: dict[str, int] = {}
        self.cases = torch.zeros(0, dtype=torch.float64)  # (label,)
        self.texts = torch.zeros(0, dtype=torch.float64)  # (label,) texts with such a case
        self.cases_squared = torch.zeros(0, dtype=torch.float64)  # (label,) over texts, of the text's cases
        self.right = torch.zeros(0, *cells, dtype=torch.float64)  # (label, *cells)
        self.right_squared = torch.zeros(
            0, *cells, dtype=torch.float64
        )  # over texts, of the text's right ones
        self.right_cases = torch.zeros(0, *cells, dtype=torch.float64)  # over texts, right times cases

    def empty(self) -> Self:
        """The same cells, nothing counted."""
        return type(self)(*self.cells)

    def row(self, label: str) -> int:
        """The row of a label, a new one if need be."""
        if label not in self.labels:
            self.labels[label] = len(self.labels)
        return self.labels[label]

    def begin(self, texts: Sequence[int], labels: Sequence[str]) -> Cases:
        """Count the cases of a batch, each given by its text and label, before their guesses are scored."""
        cases = Cases.of(texts, [self.row(label) for label in labels])
        self._grow()
        size = torch.bincount(cases.group, minlength=len(cases.row)).double()
        self.cases.index_add_(0, cases.row, size)
        self.texts.index_add_(0, cases.row, torch.ones_like(size))
        self.cases_squared.index_add_(0, cases.row, size * size)
        return cases

    def add(self, cases: Cases, right: Tensor, at: tuple[int | slice, ...] = ()) -> None:
        """Count `right` (case, *cells), True for a right guess; `at` picks the cells it is about."""
        if not len(cases.group):
            return
        by_text = torch.zeros(len(cases.row), *right.shape[1:], dtype=torch.float64)
        by_text.index_add_(0, cases.group, right.to("cpu", torch.float64))
        size = torch.bincount(cases.group, minlength=len(cases.row)).double()
        size = size.view(-1, *[1] * (by_text.dim() - 1))
        place = (slice(None), *at)
        for sums, values in (
            (self.right, by_text),
            (self.right_squared, by_text * by_text),
            (self.right_cases, by_text * size),
        ):
            # index_add_ on a view writes into the tally itself.
            sums[place].index_add_(0, cases.row, values)

    def merge(self, other: Self) -> None:
        """Count all that `other` has counted."""
        rows = torch.tensor([self.row(label) for label in other.labels], dtype=torch.long)
        self._grow()
        if len(rows):
            for name in self.sums:
                getattr(self, name).index_add_(0, rows, getattr(other, name))

    def count(self, label: str) -> int:
        """How many cases a label has."""
        return int(self.cases[self.labels[label]]) if label in self.labels else 0

    def clusters(self, label: str) -> int:
        """How many texts a label's cases come from."""
        return int(self.texts[self.labels[label]]) if label in self.labels else 0

    def shares(self, label: str) -> Array:
        """(*cells) the share of right guesses; nan for a label without cases."""
        if label not in self.labels:
            return np.full(self.cells, np.nan)
        row = self.labels[label]
        result: Array = (self.right[row] / self.cases[row]).numpy()
        return result

    def stderr(self, label: str) -> Array:
        """(*cells) the standard error of the share over texts; nan for fewer than two texts."""
        if label not in self.labels or self.texts[self.labels[label]] < 2:
            return np.full(self.cells, np.nan)
        row = self.labels[label]
        share = self.right[row] / self.cases[row]
        # sum over texts of (right - share * cases) squared, from the sums.
        spread = (
            self.right_squared[row] - 2 * share * self.right_cases[row] + share**2 * self.cases_squared[row]
        )
        texts = self.texts[row]
        variance = spread.clamp_min(0) / self.cases[row] ** 2 * texts / (texts - 1)
        result: Array = variance.sqrt().numpy()
        return result

    def _grow(self) -> None:
        missing = len(self.labels) - len(self.cases)
        if missing:
            for name in self.sums:
                sums = getattr(self, name)
                setattr(self, name, torch.cat([sums, sums.new_zeros(missing, *sums.shape[1:])]))


class DocumentAccuracy(Accuracy):
    """The same with documents as the sample, for cases whose texts are parts of few documents.

    Documents are dealt out to a fixed number of groups, and the error is that over groups (random groups, also of
    survey statistics): exactly over documents while there are no more of them than groups, and memory does not grow
    with their number. `begin` is given the number of the document in place of that of the text.
    """

    sums: ClassVar[tuple[str, ...]] = (*Accuracy.sums, "group_cases", "group_right")

    def __init__(self, *cells: int) -> None:
        """`cells` is the shape of what is scored for each label."""
        super().__init__(*cells)
        self.group_cases = torch.zeros(0, DOCUMENT_GROUPS, dtype=torch.float64)  # (label, group)
        self.group_right = torch.zeros(
            0, DOCUMENT_GROUPS, *cells, dtype=torch.float64
        )  # (label, group, *cells)

    def begin(self, texts: Sequence[int], labels: Sequence[str]) -> Cases:
        """Count the cases of a batch, each given by its document and label, before their guesses are scored."""
        cases = super().begin([document % DOCUMENT_GROUPS for document in texts], labels)
        ones = torch.ones(len(cases.group), dtype=torch.float64)
        self.group_cases.index_put_((cases.row[cases.group], cases.text[cases.group]), ones, accumulate=True)
        return cases

    def add(self, cases: Cases, right: Tensor, at: tuple[int | slice, ...] = ()) -> None:
        """Count `right` (case, *cells), True for a right guess; `at` picks the cells it is about."""
        super().add(cases, right, at)
        if len(cases.group):
            sums = self.group_right[(slice(None), slice(None), *at)]
            place = (cases.row[cases.group], cases.text[cases.group])
            sums.index_put_(place, right.to("cpu", torch.float64), accumulate=True)

    def clusters(self, label: str) -> int:
        """How many groups of documents a label's cases come from."""
        return int((self.group_cases[self.labels[label]] > 0).sum()) if label in self.labels else 0

    def stderr(self, label: str) -> Array:
        """(*cells) the standard error of the share over documents; nan for fewer than two of them."""
        groups = self.clusters(label)
        if groups < 2:
            return np.full(self.cells, np.nan)
        row = self.labels[label]
        share = self.right[row] / self.cases[row]
        size = self.group_cases[row].view(-1, *[1] * len(self.cells))
        spread = ((self.group_right[row] - share * size) ** 2).sum(0)
        result: Array = (spread / self.cases[row] ** 2 * groups / (groups - 1)).sqrt().numpy()
        return result


def interval(share: float, stderr: float, cases: int, clusters: int | None = None) -> tuple[float, float]:
    """A 95 % confidence interval of a share that stays inside 0 and 1.

    Wilson's interval, with as many independent cases as would give the standard error that was seen. Where that
    says nothing (one text, or all guesses alike) every case counts as independent. `clusters` is how many texts or
    documents the error comes from: of few it is itself unsure, and the interval wider (Korn and Graubard 1998).
    """
    if not cases or math.isnan(share):
        return math.nan, math.nan
    effective = float(cases)
    if stderr > 0 and 0 < share < 1:  # nan compares as False
        effective = min(effective, share * (1 - share) / stderr**2)
        if clusters is not None and clusters > 1:
            effective *= (Z / float(stdtrit(clusters - 1, 0.975))) ** 2
    return wilson(share, effective, Z)


def wilson(share: float, cases: float, quantile: float) -> tuple[float, float]:
    """Wilson's interval of a share of so many independent cases, at this quantile of the sampling distribution."""
    squared = quantile * quantile / cases
    centre = (share + squared / 2) / (1 + squared)
    half = quantile / (1 + squared) * math.sqrt(share * (1 - share) / cases + squared / (4 * cases))
    return max(0.0, centre - half), min(1.0, centre + half)
