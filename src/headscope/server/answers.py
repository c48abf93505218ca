"""The most probable answers to one question, of which the first is the one that the task would give."""

from collections.abc import Callable

import torch

from headscope.models import Model
from headscope.server.shapes import Option
from headscope.tasks import QuestionAnswering, forward
from headscope.tasks.base import TaskBatches
from headscope.tasks.network import output_of
from headscope.tasks.qa import USUAL_LENGTH
from headscope.text.formats.squad import Question, Questions
from headscope.text.skipped import Skipped


def likely_answers(
    model: Model, question: str, passage: str, *, max_length: int, most: int
) -> tuple[Callable[[], list[Option]], str]:
    """A function that asks the model and gives its best answers, and what one should know of it.

    The probability of an answer is the softmax of start plus end logit over all spans of all windows that may be an
    answer; a span that two windows see counts once, at its higher score.
    """
    asked = Question("asked", question, passage, (), 0)
    task = QuestionAnswering(
        Questions("a question", (asked,), False, Skipped("questions")),
        max_length=min(max_length, USUAL_LENGTH),
    )
    batches = task.batches(model, batch_size=1)

    def ask() -> list[Option]:
        scores: dict[tuple[int, int], float] = {}
        for batch in batches:
            output = forward(model, batch)
            assert batch.characters is not None
            spans = batch.characters[0]  # (token, 2)
            places = (spans[:, 1] > spans[:, 0]).nonzero()[:, 0].tolist()
            start, end = (
                output_of(output, f"{side}_logits")[0].double().tolist() for side in ("start", "end")
            )
            edges = spans.tolist()
            for number, first in enumerate(places):
                for last in places[number : number + task.max_answer]:
                    if last - first >= task.max_answer:
                        break
                    span = (edges[first][0], edges[last][1])
                    scores[span] = max(scores.get(span, -torch.inf), start[first] + end[last])
        return _best(scores, passage, most)

    return ask, _cut_note(model, question, batches)


def _cut_note(model: Model, question: str, batches: TaskBatches) -> str:
    """Whether the question was too long, told by how many of its tokens are there."""
    asked = len(model.tokenizer(question.strip(), add_special_tokens=False, verbose=False)["input_ids"])
    for batch in batches:
        kept = int((batch.text.source.segment[0] == 0).sum())
        return f"The question was longer than {kept} tokens and lost its end." if kept < asked else ""
    return ""


def _best(scores: dict[tuple[int, int], float], passage: str, most: int) -> list[Option]:
    if not scores:
        return []
    spans = sorted(scores, key=lambda span: (-scores[span], span))
    shares = torch.tensor([scores[span] for span in spans], dtype=torch.float64).softmax(-1).tolist()
    return [
        Option(text=passage[start:end], probability=share)
        for (start, end), share in zip(spans[:most], shares, strict=False)
    ]
