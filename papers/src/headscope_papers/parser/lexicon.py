"""The words the parser probe meets, and one fixed vector for each, whatever its context."""

import os
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from headscope.errors import ModelError
from headscope.models import Model
from headscope.text.files import check_file
from headscope.text.skipped import Skipped
from headscope_papers.vectors import read_vectors, spellings

Pieces = tuple[int, ...]
"""The tokens a word is made of."""

NO_WORD = 0
"""The number of what is no word: padding, and words without a token."""

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Table:
    """The vectors of a lexicon's words."""

    values: Tensor  # (number, dimension) 0 for words without a vector
    known: Tensor  # (number,) False for words without a vector


class Lexicon(ABC, Generic[Key]):
    """Distinct words, numbered from 1 as they come, and their vectors once the training words are known."""

    name: str
    """Where the vectors come from, in words."""
    skipped: Skipped | None = None
    """Lines of a file that could not be used, the last time it was read."""

    def __init__(self) -> None:
        self._numbers: dict[Key, int] = {}
        self._rows: list[Tensor | None] = [None]  # (dimension,) each; None has no vector
        self._mean = torch.zeros(0)  # (dimension,) of the training words
        self._scale = 1.0

    def numbers(self, forms: Sequence[str], pieces: Sequence[Pieces]) -> list[int]:
        """The number of each word, given by its form and its tokens; NO_WORD for one without tokens."""
        return [
            self._numbers.setdefault(self._key(form, own), len(self._numbers) + 1) if own else NO_WORD
            for form, own in zip(forms, pieces, strict=True)
        ]

    def table(self) -> Table:
        """The vectors of all words met so far."""
        new = [key for key, number in self._numbers.items() if number >= len(self._rows)]
        if new:
            self._rows += self._find(new)
        width = next(len(row) for row in self._rows if row is not None)
        values = torch.zeros(len(self._rows), width)
        known = torch.tensor([row is not None for row in self._rows])
        values[known] = torch.stack([row for row in self._rows if row is not None])
        return Table(values, known)

    def learn(self, words: Tensor) -> None:
        """Fit the space of vectors to the words of the training set, (word,) their numbers."""
        table = self.table()
        weight = torch.bincount(words, minlength=len(table.known)).double() * table.known
        weight = weight / weight.sum().clamp_min(1)
        values = table.values.double()
        mean = weight @ values
        self._mean = mean.float()
        self._scale = float((weight @ (values - mean).square().sum(-1)).sqrt()) or 1.0

    def vectors(self) -> Tensor:
        """(number, dimension) all words met, moved and scaled as the training words say, then a 1 at the end.

        The 1 makes room for a part that does not depend on the word, and moving and scaling only make the learning
        even: together they leave the probe's choices as they are. A word without a vector gets the training words'
        mean, which is 0 here.
        """
        table = self.table()
        moved = (table.values - self._mean) / self._scale * table.known[:, None]
        return torch.cat([moved, torch.ones(len(moved), 1)], 1)

    def coverage(self, words: Tensor) -> float:
        """The share of running words, (word,) their numbers, that have a vector."""
        return float(self.table().known[words].double().mean())

    @abstractmethod
    def _key(self, form: str, pieces: Pieces) -> Key:
        """What makes two words the same word."""

    @abstractmethod
    def _find(self, keys: Sequence[Key]) -> Sequence[Tensor | None]:
        """The vector of each word, None for one without."""


class FileLexicon(Lexicon[str]):
    """Vectors from a file (GloVe or word2vec text): of the word as it is spelled, or else in lower case."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__()
        check_file(path)
        self.path = Path(path)
        self.name = self.path.name

    def _key(self, form: str, pieces: Pieces) -> str:
        return form

    def _find(self, keys: Sequence[str]) -> list[Tensor | None]:
        # Words met before are asked for again, so that a second reading always finds some and is told in full.
        vectors = read_vectors(self.path, wanted=spellings(self._numbers))
        self.skipped = vectors.skipped
        rows = (vectors.find(key) for key in keys)
        return [None if row is None else torch.from_numpy(row) for row in rows]


class ModelLexicon(Lexicon[Pieces]):
    """The network's own input embeddings: the mean over a word's pieces."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.name = f"the input embeddings of {model.name}"
        core: Any = model.core  # transformers leaves the kind of its embeddings open
        try:
            self._embeddings: Tensor = core.get_input_embeddings().weight.detach()  # (token, dimension)
        except (AttributeError, NotImplementedError) as error:
            raise ModelError(
                f"{model.name} has no table of input embeddings to take word vectors from; give a file of them "
                "(vectors=, --vectors)"
            ) from error

    def _key(self, form: str, pieces: Pieces) -> Pieces:
        return pieces

    def _find(self, keys: Sequence[Pieces]) -> list[Tensor | None]:
        return [self._embeddings[list(key)].float().mean(0).cpu() for key in keys]
