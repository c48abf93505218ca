"""What the parser probes of one run found, next to what they are measured against."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from headscope.atlas import Results
from headscope.facts.description import described_in
from headscope.probes.means import CaseMeans
from headscope.probes.result import ProbeResult, Row, sampling_columns
from headscope.stats.documents import Sampling
from headscope.stats.intervals import share_interval
from headscope.text.annotated.treebank import ROOT
from headscope.text.skipped import Skipped
from headscope.types import HeadGrid, LabelledArray
from headscope_papers.parser.data import Batch
from headscope_papers.parser.scorers import AttentionScorer
from headscope_papers.parser.training import Learner

PARSERS = (
    "attention",
    "attention_words",
    "right_branching",
    "best_offset",
    "distances_words",
    "random_attention",
    "random_attention_words",
)
RIGHT_BRANCHING = 1
"""The offset of the next word; the last word, which has none, is never right."""
DIRECTIONS = ("dependent_to_head", "head_to_dependent")

DESCRIPTION = described_in(__file__)


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
    def of(cls, means: CaseMeans, parser: int, left_out: Skipped) -> Self:
        """The score of one of the parsers counted."""
        share, stderr = float(means.mean(ALL)[parser]), float(means.stderr(ALL)[parser])
        cases, headed = means.count(ALL), means.count(HEADED)
        sampling = means.sampling(ALL)
        return cls(
            uas=share,
            stderr=stderr,
            interval=share_interval(share, stderr, cases, sampling.effective),
            sampling=sampling,
            cases=cases,
            uas_headed=float(means.mean(HEADED)[parser]) if headed else math.nan,
            cases_headed=headed,
            left_out=left_out,
        )


def count(means: CaseMeans, batch: Batch, right: Sequence[Tensor]) -> None:
    """Count a batch; `right` has (case,) of every parser, True where it found the head."""
    text, word = batch.cases()
    is_headed = batch.head[text, word] != ROOT
    numbers: list[int] = text.tolist()
    headed: list[int] = text[is_headed].tolist()
    texts = [*numbers, *headed]
    labels = [ALL] * len(numbers) + [HEADED] * len(headed)
    cases = means.begin(texts, labels, [batch.documents[text] for text in texts])
    by_parser = torch.stack(list(right), -1)  # (case, parser)
    means.add(cases, torch.cat([by_parser, by_parser[is_headed]]))


@dataclass(frozen=True)
class ParserResult(ProbeResult):
    """How well each parser finds syntactic heads, and what the attention-only probe weighs each head with."""

    description = DESCRIPTION

    grid: HeadGrid
    scores: Mapping[str, ParserScore]
    learners: Mapping[str, Learner]
    offset: int
    """The best fixed offset."""

    def arrays(self) -> Results:
        """`parser_uas`, `parser_uas_stderr` and `parser_weight` of the stack that was probed."""
        scorer = self.learners["attention"].scorer
        assert isinstance(scorer, AttentionScorer)
        weight = scorer.weight.detach().cpu().numpy().reshape(2, *self.grid.shape)
        uas, stderr = (
            np.array([getattr(self.scores[name], key) for name in PARSERS]) for key in ("uas", "stderr")
        )
        over = sampling_columns(self.scores["attention"].sampling, "sentences")["interval_over"]
        parsers, cells = {"parser": PARSERS}, {"direction": DIRECTIONS, **self.grid.coords}
        found = "share of words whose syntactic head was found, without punctuation"
        weighed = "weight of each head's attention in the attention-only parser"
        return {
            self.grid.stack: {
                "parser_uas": LabelledArray.of(uas, parsers, found),
                "parser_uas_stderr": LabelledArray.of(
                    stderr, parsers, f"standard error over {over} of parser_uas"
                ),
                "parser_weight": LabelledArray.of(weight, cells, weighed),
            }
        }

    def table(self, *, stack: str | None = None) -> list[Row]:
        """A row for each parser: its UAS with a 95 % interval, and where its training stopped."""
        self.stack_of([self.grid.stack], stack)
        return [self._row(name) for name in PARSERS]

    def _row(self, name: str) -> Row:
        score, learner = self.scores[name], self.learners.get(name)
        return {
            "parser": name,
            "uas": score.uas,
            "low": score.interval[0],
            "high": score.interval[1],
            **sampling_columns(score.sampling, "sentences"),
            "cases": score.cases,
            "uas_headed": score.uas_headed,
            "cases_headed": score.cases_headed,
            "offset": {"right_branching": RIGHT_BRANCHING, "best_offset": self.offset}.get(name),
            "dev_uas": learner.best_uas if learner else None,
            "epochs": learner.best_epoch if learner else None,
        }
