"""Extractive question answering: the answer is a span of the passage."""

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from headscope.errors import OptionError
from headscope.models import Model
from headscope.passes.options import longest_text
from headscope.tasks.base import TASKS, Task
from headscope.tasks.batches import IGNORED, Encoded, Row, TaskBatch, output_of
from headscope.tasks.metric import Mean
from headscope.text.encode import EncodedInput
from headscope.text.encode_questions import QuestionEncoder, Window
from headscope.text.formats.squad import Question, Questions, read_questions
from headscope.text.items import TextPair
from headscope.types import CLS, Array

_RECORD = np.dtype([("em", "f8"), ("f1", "f8"), ("answerable", "?"), ("loss", "f8"), ("windows", "f8")])
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


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
    does = "answering questions"
    usual_length = 384
    reader = staticmethod(read_questions)
    metrics = (
        Mean("em", "%", low=0, high=100, field="em"),
        Mean("f1", "%", low=0, high=100, field="f1"),
        Mean("loss", "nats", digits=3, higher_is_better=False, low=0, field="loss", count="windows"),
    )

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
        super().__init__(
            questions.name, questions.questions, max_length=max_length, skipped=questions.skipped
        )
        if max_answer < 1:
            raise OptionError(f"max_answer must be at least 1, not {max_answer}")
        self._all = questions
        self.stride = stride or None
        self.max_answer = max_answer
        self.max_question = max_question
        self.threshold = threshold

    @property
    def questions(self) -> Questions:
        """The questions that are asked."""
        return replace(self._all, questions=tuple(self.examples))

    @property
    def settings(self) -> dict[str, object]:
        """How passages are cut."""
        return {**super().settings, "stride": self.stride}

    def pair(self, example: Question) -> TextPair:
        """The question with its whole passage."""
        return TextPair(example.question, example.context)

    def encode(self, model: Model) -> Encoded:
        """A row for each window of each question's passage."""
        encoder = QuestionEncoder(
            model.tokenizer,
            "pair",
            longest_text(model, self.max_length, self.usual_length),
            stride=self.stride,
            max_question=self.max_question,
        )
        rows = [
            Row(EncodedInput(window.encoded), number, self._labels(question, window), window.characters)
            for number, question in enumerate(self.examples)
            for window in encoder.windows(question.question, question.context)
        ]
        return Encoded(rows, [question.article for question in self.examples], self.skipped)

    def loss(self, output: Any, batch: TaskBatch) -> Tensor:
        """(row,) mean cross-entropy of the answer's first and last token.

        A window that lacks the answer has no loss, unless some questions have none: then it is that of the first
        token, as in training for version 2.0.
        """
        logits = torch.stack(_logits(output), dim=-1)  # (row, token, 2)
        # So that the loss does not depend on how much padding the batch happens to have.
        logits = logits.masked_fill(~batch.text.source.is_token[..., None], -torch.inf)
        losses = cross_entropy(logits, batch.labels, ignore_index=IGNORED, reduction="none")  # (row, 2)
        return losses.mean(-1)

    def scores(self, output: Any, batch: TaskBatch) -> dict[str, Tensor]:
        """The best span of each window by characters, its score, that of no answer, and the loss."""
        assert batch.characters is not None
        starts, ends = _logits(output)
        outside = batch.characters[..., 1] <= batch.characters[..., 0]  # (row, token)
        score, start, end = best_spans(
            starts.masked_fill(outside, -torch.inf),
            ends.masked_fill(outside, -torch.inf),
            most=self.max_answer,
        )
        row = torch.arange(batch.rows, device=start.device)
        first = (batch.text.source.role == CLS).int().argmax(-1)  # (row,)
        return {
            "score": score,
            "start": batch.characters[row, start, 0],
            "end": batch.characters[row, end, 1],
            "none": starts[row, first] + ends[row, first],
            "loss": self.loss(output, batch),
            "has_loss": batch.units > 0,
        }

    def by_example(self, rows: Array) -> tuple[Array, tuple[str, ...]]:
        """The best answer over each question's windows, scored."""
        records = np.zeros(len(self.examples), _RECORD)
        answers = [""] * len(self.examples)
        impossible = self._all.has_impossible
        # The best window last; of equals the one that stands first in the passage.
        rows = rows[np.lexsort((-rows["start"], rows["score"], rows["example"]))]
        last = np.flatnonzero(np.append(np.diff(rows["example"]) != 0, True))
        least = np.minimum.reduceat(rows["none"], np.append(0, last[:-1] + 1))
        for row, none in zip(rows[last], least, strict=True):
            number = int(row["example"])
            question = self.examples[number]
            if np.isfinite(row["score"]) and not (impossible and none - row["score"] > self.threshold):
                answers[number] = question.context[int(row["start"]) : int(row["end"])]
            golds = [answer.text for answer in question.answers]
            em, f1 = squad_scores(answers[number], golds, impossible=impossible)
            records[number] = (100 * em, 100 * f1, bool(golds), 0.0, 0.0)
        np.add.at(records["loss"], rows["example"], rows["loss"])
        np.add.at(records["windows"], rows["example"], rows["has_loss"])
        return records, tuple(answers)

    def _labels(self, question: Question, window: Window) -> tuple[int, int]:
        spans = [answer.span for answer in question.answers if answer.span is not None]
        tokens = window.tokens(spans[0]) if spans else None
        if tokens is not None:
            return tokens
        is_known = bool(spans) or not question.answers
        if self._all.has_impossible and is_known:
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


def _logits(output: Any) -> tuple[Tensor, Tensor]:
    """(row, token) of starts and of ends."""
    return output_of(output, "start_logits"), output_of(output, "end_logits")


def normalise(text: str) -> str:
    """Lower case, without ASCII punctuation, English articles and spare white space."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def word_f1(prediction: str, gold: str, *, impossible: bool = False) -> float:
    """F1 of the words the two share, once normalised.

    The scripts differ where nothing is left of one of them: 1.1 gives 0, 2.0 (`impossible`) gives 1 when
    nothing is left of both, which is how a question without answer is scored.
    """
    predicted, right = normalise(prediction).split(), normalise(gold).split()
    if impossible and not (predicted and right):
        return float(predicted == right)
    shared = sum((Counter(predicted) & Counter(right)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(predicted), shared / len(right)
    return 2 * precision * recall / (precision + recall)


def squad_scores(prediction: str, golds: Sequence[str], *, impossible: bool = False) -> tuple[float, float]:
    """Exact match and F1, each the best over the right answers (Rajpurkar et al. 2016, 2018).

    `impossible` is the script of version 2.0: right answers of which nothing is left are ignored, and where
    none remains, the right answer is to say nothing.
    """
    if impossible:
        golds = [gold for gold in golds if normalise(gold)] or [""]
    return (
        max(float(normalise(prediction) == normalise(gold)) for gold in golds),
        max(word_f1(prediction, gold, impossible=impossible) for gold in golds),
    )
