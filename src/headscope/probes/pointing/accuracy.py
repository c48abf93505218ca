"""Shares of right guesses, with an error that knows that guesses of one text or document are not independent."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from headscope.stats.documents import (
    FEWEST_DOCUMENTS,
    Documents,
    Sampling,
    effective,
    group_of,
    jackknife,
    ratio_error,
)

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Cases:
    """The cases of a batch: which label each has, and which cases belong to one text."""

    group: Tensor  # (case,) number of the (text, label) the case belongs to
    row: Tensor  # (group,) the label's row in the tally
    text: Tensor  # (group,) the text
    of_documents: Tensor  # (group,) the row of its (label, group of documents)

    @property
    def size(self) -> Tensor:
        """(group,) how many cases each has."""
        return torch.bincount(self.group, minlength=len(self.row)).double()


class Accuracy:
    """Right guesses by label, for every cell (a direction, layer and head; an offset; a rule).

    The share of right guesses is pooled over all cases of a label. Its standard error treats documents as the
    sample where at least `fewest_documents` have cases of the label, else texts; either needs only sums, so that
    parts merge exactly, also where a document lies in several of them. A text is in one part.
    """

    sums: ClassVar[tuple[str, ...]] = (
        "cases",
        "texts",
        "cases_squared",
        "right",
        "right_squared",
        "right_cases",
    )
    document_sums: ClassVar[tuple[str, ...]] = ("document_cases", "document_right")

    def __init__(self, *cells: int, fewest_documents: int = FEWEST_DOCUMENTS) -> None:
        """`cells` is the shape of what is scored for each label."""
        self.cells = cells
        self.fewest_documents = fewest_documents
        self.labels: dict[str, int] = {}
        self.cases = torch.zeros(0, dtype=torch.float64)  # (label,)
        self.texts = torch.zeros(0, dtype=torch.float64)  # (label,) texts with such a case
        self.cases_squared = torch.zeros(0, dtype=torch.float64)  # (label,) over texts, of the text's cases
        self.right = torch.zeros(0, *cells, dtype=torch.float64)  # (label, *cells)
        self.right_squared = torch.zeros(
            0, *cells, dtype=torch.float64
        )  # over texts, of the text's right ones
        self.right_cases = torch.zeros(0, *cells, dtype=torch.float64)  # over texts, right times cases
        self.documents: list[Documents] = []  # (label,) those with such a case
        self.pairs: dict[tuple[int, int], int] = {}  # rows of (label's row, group of documents)
        self.document_cases = torch.zeros(0, dtype=torch.float64)  # (pair,)
        self.document_right = torch.zeros(0, *cells, dtype=torch.float64)  # (pair, *cells)

    def empty(self) -> Self:
        """The same cells, nothing counted."""
        return type(self)(*self.cells, fewest_documents=self.fewest_documents)

    def row(self, label: str) -> int:
        """The row of a label, a new one if need be."""
        if label not in self.labels:
            self.labels[label] = len(self.labels)
            self.documents.append(Documents())
        return self.labels[label]

    def _pair(self, row: int, group: int) -> int:
        return self.pairs.setdefault((row, group), len(self.pairs))

    def begin(self, texts: Sequence[int], labels: Sequence[str], documents: Sequence[int]) -> Cases:
        """Count the cases of a batch, each given by its text, label and document, before guesses are scored."""
        cases = self._cases(texts, [self.row(label) for label in labels], documents)
        self._grow()
        size = cases.size
        self.cases.index_add_(0, cases.row, size)
        self.texts.index_add_(0, cases.row, torch.ones_like(size))
        self.cases_squared.index_add_(0, cases.row, size * size)
        self.document_cases.index_add_(0, cases.of_documents, size)
        return cases

    def _cases(self, texts: Sequence[int], rows: Sequence[int], documents: Sequence[int]) -> Cases:
        groups: dict[tuple[int, int], int] = {}
        pairs: list[int] = []
        group = []
        for text, row, document in zip(texts, rows, documents, strict=True):
            if (text, row) not in groups:
                groups[text, row] = len(groups)
                pairs.append(self._pair(row, group_of(document)))
                self.documents[row].add(document)
            group.append(groups[text, row])
        return Cases(
            torch.tensor(group, dtype=torch.long),
            torch.tensor([row for _, row in groups], dtype=torch.long),
            torch.tensor([text for text, _ in groups], dtype=torch.long),
            torch.tensor(pairs, dtype=torch.long),
        )

    def add(self, cases: Cases, right: Tensor, at: tuple[int | slice, ...] = ()) -> None:
        """Count `right` (case, *cells), True for a right guess; `at` picks the cells it is about."""
        if not len(cases.group):
            return
        by_text = torch.zeros(len(cases.row), *right.shape[1:], dtype=torch.float64)
        by_text.index_add_(0, cases.group, right.to("cpu", torch.float64))
        size = cases.size.view(-1, *[1] * (by_text.dim() - 1))
        place = (slice(None), *at)
        for sums, rows, values in (
            (self.right, cases.row, by_text),
            (self.right_squared, cases.row, by_text * by_text),
            (self.right_cases, cases.row, by_text * size),
            (self.document_right, cases.of_documents, by_text),
        ):
            # index_add_ on a view writes into the tally itself.
            sums[place].index_add_(0, rows, values)

    def merge(self, other: Self) -> None:
        """Count all that `other` has counted."""
        rows = [self.row(label) for label in other.labels]
        pairs = [self._pair(rows[row], group) for row, group in other.pairs]
        self._grow()
        for row, documents in zip(rows, other.documents, strict=True):
            self.documents[row].merge(documents)
        for names, places in ((self.sums, rows), (self.document_sums, pairs)):
            index = torch.tensor(places, dtype=torch.long)
            for name in names:
                getattr(self, name).index_add_(0, index, getattr(other, name))

    def count(self, label: str) -> int:
        """How many cases a label has."""
        return int(self.cases[self.labels[label]]) if label in self.labels else 0

    def documents_of(self, label: str) -> int:
        """How many documents a label's cases come from."""
        return len(self.documents[self.labels[label]]) if label in self.labels else 0

    def sampling(self, label: str) -> Sampling:
        """What the error of a label is over: documents where there are enough of them, else texts."""
        if label not in self.labels:
            return Sampling("texts", 0, 0.0)
        row = self.labels[label]
        if len(self.documents[row]) >= self.fewest_documents:
            sizes = self.document_cases[self._pairs_of(row)]
            return Sampling("documents", len(self.documents[row]), float(effective(sizes.numpy())))
        texts = int(self.texts[row])
        return Sampling("texts", texts, float(texts))

    def shares(self, label: str) -> Array:
        """(*cells) the share of right guesses; nan for a label without cases."""
        if label not in self.labels:
            return np.full(self.cells, np.nan)
        row = self.labels[label]
        result: Array = (self.right[row] / self.cases[row]).numpy()
        return result

    def stderr(self, label: str) -> Array:
        """(*cells) the standard error of the share over `sampling`; nan for fewer than two units."""
        if label not in self.labels or self.texts[self.labels[label]] < 2:
            return np.full(self.cells, np.nan)
        row = self.labels[label]
        if self.sampling(label).unit == "documents":
            pairs = self._pairs_of(row)
            sizes = self.document_cases[pairs].view(-1, *[1] * len(self.cells))
            return jackknife(self.document_right[pairs].numpy(), sizes.numpy())
        return ratio_error(
            self.right[row].numpy(),
            self.cases[row].numpy(),
            uppers=self.right_squared[row].numpy(),
            lowers=self.cases_squared[row].numpy(),
            both=self.right_cases[row].numpy(),
            units=self.texts[row].numpy(),
        )

    def _pairs_of(self, row: int) -> list[int]:
        """The rows of a label's groups of documents, in an order that does not depend on which came first."""
        return [place for (_, place) in sorted((g, p) for (r, g), p in self.pairs.items() if r == row)]

    def _grow(self) -> None:
        for names, rows in ((self.sums, len(self.labels)), (self.document_sums, len(self.pairs))):
            missing = rows - len(getattr(self, names[0]))
            if missing:
                for name in names:
                    sums = getattr(self, name)
                    setattr(self, name, torch.cat([sums, sums.new_zeros(missing, *sums.shape[1:])]))
