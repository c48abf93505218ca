"""Scoring parsers: the share of words whose syntactic head was found, and how sure one can be of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from headscope.probes.means import CaseMeans
from headscope.probes.parser.data import Batch
from headscope.stats.documents import Sampling
from headscope.stats.intervals import share_interval
from headscope.text.annotated.treebank import ROOT
from headscope.text.skipped import Skipped

ALL, HEADED = "all", "headed"
"""All cases, and those whose head is a word and not ROOT."""


@dataclass(frozen=True)
class ParserScore:
    """How well a parser finds syntactic heads, punctuation left out."""

    uas: float  # unlabelled attachment score: the share of cases whose head was found
    stderr: float  # of the UAS
    interval: tuple[float, float]  # 95 %
    sampling: Sampling  # what both are over
    cases: int
    uas_headed: float  # the same over the words that have a head, for parsers that cannot choose ROOT
    cases_headed: int
    left_out: Skipped  # words that could not be asked, since they or their heads have no token

    @classmethod
    def of(cls, accuracy: CaseMeans, parser: int, left_out: Skipped) -> Self:
        """The score of one of the parsers counted."""
        share, stderr = float(accuracy.mean(ALL)[parser]), float(accuracy.stderr(ALL)[parser])
        cases, headed = accuracy.count(ALL), accuracy.count(HEADED)
        sampling = accuracy.sampling(ALL)
        return cls(
            uas=share,
            stderr=stderr,
            interval=share_interval(share, stderr, cases, sampling.effective),
            sampling=sampling,
            cases=cases,
            uas_headed=float(accuracy.mean(HEADED)[parser]) if headed else math.nan,
            cases_headed=headed,
            left_out=left_out,
        )


def count(accuracy: CaseMeans, batch: Batch, right: Sequence[Tensor]) -> None:
    """Count a batch; `right` has (case,) of every parser, True where it found the head."""
    text, word = batch.cases()
    is_headed = batch.head[text, word] != ROOT
    numbers: list[int] = text.tolist()
    headed: list[int] = text[is_headed].tolist()
    texts = [*numbers, *headed]
    labels = [ALL] * len(numbers) + [HEADED] * len(headed)
    cases = accuracy.begin(texts, labels, [batch.documents[text] for text in texts])
    found = torch.stack(list(right), -1)  # (case, parser)
    accuracy.add(cases, torch.cat([found, found[is_headed]]))


def is_right(batch: Batch, guess: Tensor) -> Tensor:
    """(case,) whether the guess (text, word) is the head."""
    return guess[batch.cases()] == batch.answers()
