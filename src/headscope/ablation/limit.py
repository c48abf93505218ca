"""Fewer examples of a task."""

import numpy as np

from headscope.errors import OptionError
from headscope.tasks import (
    Classification,
    MaskedLanguageModelling,
    QuestionAnswering,
    Regression,
    Task,
)
from headscope.tasks.language import LanguageModelling
from headscope.text.labelled import LabelledTexts
from headscope.text.questions import Questions


def limited(task: Task, limit: int | None) -> Task:
    """The task on at most `limit` of its examples; of questions and labelled texts, spread evenly over the data.

    Evenly, because neighbours share an article, and it is articles that are independent. Of running text it is the
    first segments.
    """
    if limit is None:
        return task
    if limit < 1:
        raise OptionError(f"limit must be at least 1, not {limit}")
    match task:
        case QuestionAnswering():
            own = task.questions
            chosen = tuple(own.questions[place] for place in _places(len(own), limit))
            return QuestionAnswering(
                Questions(own.name, chosen, own.has_impossible, own.skipped),
                max_length=task.max_length,
                stride=task.stride,
                max_answer=task.max_answer,
                max_question=task.max_question,
                threshold=task.threshold,
            )
        case Classification() | Regression():
            places = _places(len(task.texts), limit)
            texts = LabelledTexts(task.data, tuple(task.texts[place] for place in places), task.skipped)
            if isinstance(task, Classification):
                return Classification(texts, labels=task.labels, max_length=task.max_length)
            return Regression(texts, max_length=task.max_length)
        case MaskedLanguageModelling():
            return MaskedLanguageModelling(
                task.texts,
                max_length=task.max_length,
                limit=_least(task.limit, limit),
                share=task.share,
                hide=task.how,
                seed=task.seed,
            )
        case LanguageModelling():
            return type(task)(task.texts, max_length=task.max_length, limit=_least(task.limit, limit))
        case _:
            raise OptionError(
                f"headscope does not know how to take fewer examples of the task {task.name}; leave limit out"
            )


def _places(count: int, limit: int) -> list[int]:
    if limit >= count:
        return list(range(count))
    return [int(place) for place in np.linspace(0, count - 1, limit).round()]


def _least(own: int | None, limit: int) -> int:
    return limit if own is None else min(own, limit)
