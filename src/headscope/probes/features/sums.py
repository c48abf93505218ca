"""Sums over texts of what each class of words gets, with errors over documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from headscope.accumulator import Sums
from headscope.measures.base import TextMean
from headscope.probes.features.classes import FEATURES
from headscope.probes.features.tally import QUANTITIES, Values
from headscope.stats.documents import (
    DOCUMENT_GROUPS,
    FEWEST_DOCUMENTS,
    Documents,
    Sampling,
    effective,
    group_of,
    jackknife,
)
from headscope.types import HeadGrid, LabelledArray


@dataclass
class DocumentMean(TextMean):
    """A mean over texts by class, (feature, ...), whose error is over documents where `by_documents` says so."""

    group_total: Tensor  # (group of documents, feature, ...) sum of the texts' numbers
    group_texts: Tensor  # (group of documents, feature, ...)
    by_documents: Tensor  # (feature,) whether enough documents have the class

    def stderr(self) -> np.ndarray[Any, Any]:
        """The standard error of the mean; nan where fewer than two texts counted."""
        wide = self.by_documents.view(-1, *[1] * (self.total.dim() - 1))
        over_documents = jackknife(self.group_total.numpy(), self.group_texts.numpy())
        return np.where(wide.numpy(), over_documents, super().stderr())

    def labelled(
        self,
        name: str,
        *,
        dims: tuple[str, ...],
        coords: Mapping[str, Sequence[str] | Sequence[int]],
        description: str,
        units: str = "1",
    ) -> dict[str, LabelledArray]:
        """The mean as `name` and its standard error as `name_stderr`."""
        arrays = super().labelled(name, dims=dims, coords=coords, description=description, units=units)
        error = f"{name}_stderr"
        over = f"over documents where at least {FEWEST_DOCUMENTS} have the class, else over sentences"
        return arrays | {error: replace(arrays[error], description=f"standard error of {name}, {over}")}


@dataclass
class GroupedMean(Sums):
    """A mean over texts, and the sums of each group of documents."""

    whole: TextMean
    group_total: Tensor  # (group of documents, ...)
    group_texts: Tensor

    @classmethod
    def zeros(cls, *shape: int) -> Self:
        """Nothing counted yet."""
        groups = (torch.zeros(DOCUMENT_GROUPS, *shape, dtype=torch.float64) for _ in range(2))
        return cls(TextMean.zeros(*shape), *groups)

    def add(self, values: Tensor, *, applies: Tensor, group: Tensor) -> None:
        """Count `values` (text, ...) where `applies`; `group` (text,) is that of the text's document."""
        self.whole.add(values, applies=applies)
        counts = applies.expand_as(values)
        self.group_total.index_add_(0, group, torch.where(counts, values, 0.0).double())
        self.group_texts.index_add_(0, group, counts.double())


@dataclass
class FeatureSums(Sums):
    """Sums over texts of what each class gets; they merge exactly and in any order."""

    values: GroupedMean  # (quantity, feature, layer, head)
    from_first: GroupedMean  # (quantity, feature, head)
    even: GroupedMean  # (feature,)
    even_from_first: GroupedMean  # (feature,)
    documents: tuple[Documents, ...] = field(default_factory=lambda: tuple(Documents() for _ in FEATURES))
    """(feature,) those that have the class."""

    @classmethod
    def zeros(cls, grid: HeadGrid) -> Self:
        """Nothing counted yet."""
        kinds = (len(QUANTITIES), len(FEATURES))
        return cls(
            GroupedMean.zeros(*kinds, grid.layers, grid.heads),
            GroupedMean.zeros(*kinds, grid.heads),
            GroupedMean.zeros(len(FEATURES)),
            GroupedMean.zeros(len(FEATURES)),
        )

    def add(self, texts: Values) -> None:
        """Count the texts, each in the classes it has."""
        documents: list[int] = texts.document.tolist()
        group = torch.tensor([group_of(document) for document in documents], dtype=torch.long)
        for document, has in zip(documents, texts.has.tolist(), strict=True):
            for feature in (number for number, is_there in enumerate(has) if is_there):
                self.documents[feature].add(document)
        self.values.add(texts.values, applies=texts.has[:, None, :, None, None], group=group)
        self.from_first.add(texts.from_first, applies=texts.has[:, None, :, None], group=group)
        self.even.add(texts.even, applies=texts.has, group=group)
        self.even_from_first.add(texts.even_from_first, applies=texts.has, group=group)

    def mean(self, which: int, *, from_first: bool = False) -> DocumentMean:
        """(feature, [layer,] head) one quantity from all queries, or from [CLS] in the last layer."""
        sums = self.from_first if from_first else self.values
        whole = sums.whole
        return DocumentMean(
            whole.total[which],
            whole.squares[which],
            whole.texts[which],
            sums.group_total[:, which],
            sums.group_texts[:, which],
            self._by_documents,
        )

    def even_mean(self, *, from_first: bool = False) -> DocumentMean:
        """(feature,) attention, if heads looked evenly."""
        sums = self.even_from_first if from_first else self.even
        whole = sums.whole
        return DocumentMean(
            whole.total,
            whole.squares,
            whole.texts,
            sums.group_total,
            sums.group_texts,
            self._by_documents,
        )

    @property
    def texts(self) -> Tensor:
        """(feature,) how many texts have the class."""
        return self.even.whole.texts

    @property
    def _by_documents(self) -> Tensor:
        return torch.tensor([len(one) >= FEWEST_DOCUMENTS for one in self.documents])

    def sampling(self, feature: int) -> Sampling:
        """What the errors of a class are over."""
        if len(self.documents[feature]) >= FEWEST_DOCUMENTS:
            units = effective(self.even.group_texts[:, feature].numpy())
            return Sampling("documents", len(self.documents[feature]), float(units))
        texts = int(self.texts[feature])
        return Sampling("texts", texts, float(texts))
