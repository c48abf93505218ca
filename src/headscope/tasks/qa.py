"""Extractive question answering: the answer is a span of the passage."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from headscope.errors import OptionError
from headscope.models import Model
from headscope.run.options import longest_text
from headscope.tasks.base import (
    IGNORED,
    TASKS,
    Encoded,
    Row,
    Task,
    TaskBatch,
    TaskBatches,
    spread_evenly,
)
from headscope.tasks.metric import Array, Mean, Metric
from headscope.tasks.network import output_of
from headscope.tasks.result import TaskResult
from headscope.tasks.squad_metric import squad_scores
from headscope.text.corpus import Corpus, as_corpus
from headscope.text.encode import EncodedInput
from headscope.text.formats.squad import Question, Questions, read_questions
from headscope.text.items import TextPair
from headscope.text.question_encode import QuestionEncoder, Window
from headscope.types import CLS

USUAL_LENGTH = 384

_ROW = np.dtype(
    [
        ("example", "i8"),
        ("score", "f8"),
        ("start", "i8"),
        ("end", "i8"),
        ("none", "f8"),
        ("loss", "f8"),
        ("has_loss", "f8"),
    ]
)
_RECORD = np.dtype([("em", "f8"), ("f1", "f8"), ("answerable", "?"), ("loss", "f8"), ("windows", "f8")])


@TASKS.register("qa")
class QuestionAnswering(Task):
    """Questions with answers in a passage, scored by exact match and F1 as SQuAD's official scripts do.

    The answer is the span of at most `max_answer` tokens with the highest sum of start and end logit, over all
    windows of the passage, cut from the passage by its characters. Where the data have questions without an answer
    (version 2.0), nothing is answered when the first token's sum, the lowest over the windows, is higher by more than
    `threshold`.
    """

    name = "qa"
    head = "question-answering"

    def __init__(
        self,
        questions: Questions,
        *,
        max_length: int | None = None,
        stride: int | None = 128,
        max_answer: int = 13,
        max_question: int = 60,
        threshold: float = 0.0,
    ) -> None:
        """`stride` is how many tokens the window moves on; None or 0 cuts long passages instead."""
        super().__init__(questions.name)
        if max_answer < 1:
            raise OptionError(f"max_answer must be at least 1, not {max_answer}")
        self.questions = questions
        self.max_length = max_length
        self.stride = stride or None
        self.max_answer = max_answer
        self.max_question = max_question
        self.threshold = threshold

    @classmethod
    def from_files(cls, paths: Sequence[Path], model: Model, **options: Any) -> Self:
        """Questions from SQuAD's JSON."""
        return cls(read_questions(*paths), **options)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Exact match and F1 in %, and the loss over all windows that have one."""
        return (
            Mean("em", "%", low=0, high=100, field="em"),
            Mean("f1", "%", low=0, high=100, field="f1"),
            Mean("loss", "nats", digits=3, higher_is_better=False, low=0, field="loss", count="windows"),
        )

    def keep(self, limit: int) -> None:
        """Drop all but some questions, spread over the articles."""
        own = self.questions
        chosen = tuple(own.questions[place] for place in spread_evenly(len(own), limit))
        self.questions = replace(own, questions=chosen)

    def corpus(self) -> Corpus:
        """Each question with its whole passage, as a pair."""
        pairs = [TextPair(question.question, question.context) for question in self.questions.questions]
        return as_corpus(pairs, name=self.data)

    def encode(self, model: Model) -> Encoded:
        """A row for each window of each question's passage."""
        encoder = QuestionEncoder(
            model.tokenizer,
            "pair",
            longest_text(model, self.max_length, USUAL_LENGTH),
            stride=self.stride,
            max_question=self.max_question,
        )
        rows = []
        for number, question in enumerate(self.questions.questions):
            for window in encoder.windows(question.question, question.context):
                labels = self._labels(question, window)
                rows.append(Row(EncodedInput(window.encoded), number, labels, window.characters))
        documents = [question.article for question in self.questions.questions]
        return Encoded(rows, documents, self.questions.skipped)

    def loss(self, output: Any, batch: TaskBatch) -> Tensor:
        """(row,) mean cross-entropy of the answer's first and last token.

        A window that lacks the answer has no loss, unless some questions have none: then it is that of the first
        token, as in training for version 2.0.
        """
        logits = torch.stack([_logits(output, "start"), _logits(output, "end")], dim=-1)  # (row, token, 2)
        # So that the loss does not depend on how much padding the batch happens to have.
        logits = logits.masked_fill(~batch.text.source.is_token[..., None], -torch.inf)
        losses = cross_entropy(logits, batch.labels, ignore_index=IGNORED, reduction="none")  # (row, 2)
        return losses.mean(-1)

    def read(self, output: Any, batch: TaskBatch) -> Array:
        """(row,) the best span of each window by characters, its score, that of no answer, and the loss."""
        assert batch.characters is not None
        start_logits, end_logits = _logits(output, "start").detach(), _logits(output, "end").detach()
        outside = batch.characters[..., 1] <= batch.characters[..., 0]  # (row, token)
        score, start, end = best_spans(
            start_logits.masked_fill(outside, -torch.inf),
            end_logits.masked_fill(outside, -torch.inf),
            most=self.max_answer,
        )
        row = torch.arange(batch.rows, device=start.device)
        first = (batch.text.source.role == CLS).int().argmax(-1)  # (row,)
        rows = np.zeros(batch.rows, _ROW)
        for name, values in (
            ("example", batch.example),
            ("score", score),
            ("start", batch.characters[row, start, 0]),
            ("end", batch.characters[row, end, 1]),
            ("none", start_logits[row, first] + end_logits[row, first]),
            ("loss", self.loss(output, batch).detach()),
            ("has_loss", batch.units > 0),
        ):
            rows[name] = values.cpu().numpy()
        return rows

    def result(self, rows: Sequence[Array], batches: TaskBatches, *, model: str) -> TaskResult:
        """The best answer over each question's windows, scored."""
        found = np.concatenate(list(rows))
        records = np.zeros(len(self.questions), _RECORD)
        answers = [""] * len(self.questions)
        impossible = self.questions.has_impossible
        # The best window last; of equals the one that stands first in the passage.
        found = found[np.lexsort((-found["start"], found["score"], found["example"]))]
        last = np.flatnonzero(np.append(np.diff(found["example"]) != 0, True))
        least = np.minimum.reduceat(found["none"], np.append(0, last[:-1] + 1))
        for row, none in zip(found[last], least, strict=True):
            number = int(row["example"])
            question = self.questions.questions[number]
            if np.isfinite(row["score"]) and not (impossible and none - row["score"] > self.threshold):
                answers[number] = question.context[row["start"] : row["end"]]
            golds = [answer.text for answer in question.answers]
            em, f1 = squad_scores(answers[number], golds, impossible=impossible)
            records[number] = (100 * em, 100 * f1, bool(golds), 0.0, 0.0)
        np.add.at(records["loss"], found["example"], found["loss"])
        np.add.at(records["windows"], found["example"], found["has_loss"])
        return replace(self._result(records, batches, model=model), predictions=tuple(answers))

    def _labels(self, question: Question, window: Window) -> tuple[int, int]:
        spans = [answer.span for answer in question.answers if answer.span is not None]
        tokens = window.tokens(spans[0]) if spans else None
        if tokens is not None:
            return tokens
        is_known = bool(spans) or not question.answers
        if self.questions.has_impossible and is_known:
            first = window.encoded.role.index(CLS)
            return first, first
        return IGNORED, IGNORED


def best_spans(start: Tensor, end: Tensor, *, most: int) -> tuple[Tensor, Tensor, Tensor]:
    """(row,) the highest start + end logit over spans of at most `most` tokens, and their first and last token.

    `start` and `end` are (row, token), -inf where no span may begin or end.
    """
    tokens = start.shape[1]
    score = torch.full_like(start[:, 0], -torch.inf)  # (row,)
    first = torch.zeros_like(score, dtype=torch.long)
    last = torch.zeros_like(first)
    for extra in range(min(most, tokens)):
        best, place = (start[:, : tokens - extra] + end[:, extra:]).max(-1)  # (row,)
        is_better = best > score
        score = torch.where(is_better, best, score)
        first = torch.where(is_better, place, first)
        last = torch.where(is_better, place + extra, last)
    return score, first, last


def _logits(output: Any, side: str) -> Tensor:
    return output_of(output, f"{side}_logits")
