"""Means over cases by label, with an error that knows that cases of one text or document are not independent."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

import numpy as np
import torch
from torch import Tensor

from headscope.accumulator import nothing
from headscope.stats.documents import (
    DOCUMENT_GROUPS,
    FEWEST_DOCUMENTS,
    Documents,
    Sampling,
    effective,
    group_of,
    jackknife,
    ratio_error,
)
from headscope.types import Array, Coords, LabelledArray

Key = TypeVar("Key", bound=Hashable)
Place = tuple[int | slice, ...]
"""Which cells are meant, as an index."""


class Rows(Generic[Key]):
    """Tables with a row for each key, which grow as keys come."""

    def __init__(self, *blanks: Tensor) -> None:
        """`blanks` are a row of each of the tables that has counted nothing."""
        self.keys: dict[Key, int] = {}
        self.blanks = blanks
        self.tables = [blank.new_empty(0, *blank.shape) for blank in blanks]

    def of(self, keys: Iterable[Key]) -> Tensor:
        """(key,) the row of each key, a new one if need be."""
        rows = [self.keys.setdefault(key, len(self.keys)) for key in keys]
        missing = len(self.keys) - len(self.tables[0])
        if missing:
            pairs = zip(self.tables, self.blanks, strict=True)
            self.tables = [torch.cat([table, blank.expand(missing, *blank.shape)]) for table, blank in pairs]
        return torch.tensor(rows, dtype=torch.long)

    def merge(self, other: Self) -> None:
        """Add the rows of `other`."""
        rows = self.of(other.keys)
        for mine, theirs in zip(self.tables, other.tables, strict=True):
            mine.index_add_(0, rows, theirs)


@dataclass(frozen=True)
class Cases:
    """The cases of a batch: which of them belong to one text and label, and the rows these are counted in."""

    group: Tensor  # (case,) number of the (text, label) the case belongs to
    size: Tensor  # (group,) how many cases each has
    label: Tensor  # (group,) the label's row
    of_documents: Tensor  # (group,) the row of its (label, group of documents)


class CaseMeans:
    """Means over cases by label, for every cell (a direction, layer and head; an offset; a rule).

    A case's values may be numbers, or True and False: then the mean is the share of right guesses. The mean is pooled
    over all cases of a label. Its standard error treats documents as the sample where at least `fewest_documents`
    have cases of the label, else texts; either needs only sums, so that parts merge exactly, also where a document
    lies in several of them. A text is in one part.
    """

    def __init__(self, *cells: int, fewest_documents: int = FEWEST_DOCUMENTS) -> None:
        """`cells` is the shape of the values of a case."""
        self.cells = cells
        self.fewest_documents = fewest_documents
        self.documents: dict[str, Documents] = {}  # those with cases of a label
        # By label: how many texts, cases, and squares over texts of their cases; over texts, what their cases come to
        # in all, its squares, and its products with the number of cases. By group of documents: cases, and totals.
        self.by_label: Rows[str] = Rows(nothing(3), nothing(3, *cells))
        self.by_documents: Rows[tuple[str, int]] = Rows(nothing(), nothing(*cells))

    def empty(self) -> Self:
        """The same cells, nothing counted."""
        return type(self)(*self.cells, fewest_documents=self.fewest_documents)

    @property
    def labels(self) -> list[str]:
        """The labels that have cases."""
        return list(self.by_label.keys)

    def begin(self, texts: Sequence[int], labels: Sequence[str], documents: Sequence[int]) -> Cases:
        """Count the cases of a batch, each given by its text, label and document, before their values are added."""
        groups: dict[tuple[int, str], int] = {}
        of_documents: list[tuple[str, int]] = []
        for text, label, document in zip(texts, labels, documents, strict=True):
            if (text, label) not in groups:
                groups[text, label] = len(groups)
                of_documents.append((label, group_of(document)))
                self.documents.setdefault(label, Documents()).add(document)
        group = torch.tensor([groups[key] for key in zip(texts, labels, strict=True)], dtype=torch.long)
        size = torch.bincount(group, minlength=len(groups)).double()
        cases = Cases(
            group, size, self.by_label.of(label for _, label in groups), self.by_documents.of(of_documents)
        )
        counts = torch.stack([torch.ones_like(size), size, size * size], 1)
        self.by_label.tables[0].index_add_(0, cases.label, counts)
        self.by_documents.tables[0].index_add_(0, cases.of_documents, size)
        return cases

    def add(self, cases: Cases, values: Tensor, at: Place = ()) -> None:
        """Count `values` (case, *cells); `at` picks the cells they are about."""
        if not len(cases.group):
            return
        by_text = torch.zeros(len(cases.size), *values.shape[1:], dtype=torch.float64)
        by_text.index_add_(0, cases.group, values.to("cpu", torch.float64))
        size = cases.size.view(-1, *[1] * (by_text.dim() - 1))
        totals = torch.stack([by_text, by_text * by_text, by_text * size], 1)
        # index_add_ on a view writes into the sums themselves.
        self.by_label.tables[1][(slice(None), slice(None), *at)].index_add_(0, cases.label, totals)
        self.by_documents.tables[1][(slice(None), *at)].index_add_(0, cases.of_documents, by_text)

    def merge(self, other: Self) -> None:
        """Count all that `other` has counted."""
        self.by_label.merge(other.by_label)
        self.by_documents.merge(other.by_documents)
        for label, documents in other.documents.items():
            self.documents.setdefault(label, Documents()).merge(documents)

    def count(self, label: str) -> int:
        """How many cases a label has."""
        return int(self._counts(label)[1])

    def texts(self, label: str) -> int:
        """How many texts have cases of a label."""
        return int(self._counts(label)[0])

    def documents_of(self, label: str) -> int:
        """How many documents a label's cases come from."""
        return len(self.documents.get(label, ()))

    def sampling(self, label: str) -> Sampling:
        """What the error of a label is over: documents where there are enough of them, else texts."""
        if label in self.documents and self.documents_of(label) >= self.fewest_documents:
            sizes, _ = self._of_documents(label)
            return Sampling("documents", self.documents_of(label), float(effective(sizes)))
        return Sampling("texts", self.texts(label), float(self.texts(label)))

    def mean(self, label: str) -> Array:
        """(*cells) the mean over cases; nan for a label without cases."""
        if label not in self.by_label.keys:
            return np.full(self.cells, np.nan)
        result: Array = (self._totals(label)[0] / self._counts(label)[1]).numpy()
        return result

    def stderr(self, label: str) -> Array:
        """(*cells) the standard error of the mean over `sampling`; nan for fewer than two units."""
        if self.texts(label) < 2:
            return np.full(self.cells, np.nan)
        if self.sampling(label).unit == "documents":
            sizes, totals = self._of_documents(label)
            return jackknife(totals, sizes.reshape(-1, *[1] * len(self.cells)))
        texts, cases, cases_squared = self._counts(label).numpy()
        total, total_squared, total_cases = self._totals(label).numpy()
        return ratio_error(
            total, cases, uppers=total_squared, lowers=cases_squared, both=total_cases, units=texts
        )

    def labelled(
        self,
        name: str,
        labels: Sequence[str] | str,
        coords: Coords,
        words: str,
        *,
        texts: str,
        at: Place = (),
    ) -> dict[str, LabelledArray]:
        """The means as `name` and their standard errors as `name_stderr`, of some labels or of one.

        `words` says what is averaged, `texts` what a text is; `at` picks cells of each label.
        """
        over = f"over documents where at least {self.fewest_documents} have cases, else over {texts}"
        arrays = {}
        for key, values, description in (
            (name, self.mean, words),
            (f"{name}_stderr", self.stderr, f"standard error of {name}, {over}"),
        ):
            rows = values(labels)[at] if isinstance(labels, str) else [values(label)[at] for label in labels]
            arrays[key] = LabelledArray.of(np.array(rows), coords, description)
        return arrays

    def _counts(self, label: str) -> Tensor:
        """Texts, cases, and the squares over texts of their cases."""
        row = self.by_label.keys.get(label)
        return torch.zeros(3, dtype=torch.float64) if row is None else self.by_label.tables[0][row]

    def _totals(self, label: str) -> Tensor:
        """(3, *cells) over texts: totals, their squares, their products with the text's cases."""
        return self.by_label.tables[1][self.by_label.keys[label]]

    def _of_documents(self, label: str) -> tuple[Array, Array]:
        """(group,), (group, *cells) cases and totals by group of documents, in the order of groups."""
        keys = ((label, group) for group in range(DOCUMENT_GROUPS))
        rows = [self.by_documents.keys[key] for key in keys if key in self.by_documents.keys]
        sizes, totals = self.by_documents.tables
        return sizes[rows].numpy(), totals[rows].numpy()
