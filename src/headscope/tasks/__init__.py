"""Tasks: what a model can be good at, and how good it is with and without some of its heads."""

from headscope.tasks.base import TASKS, Task, task_for
from headscope.tasks.batches import IGNORED, TaskBatch, TaskBatches, forward
from headscope.tasks.heads import has_head, with_head
from headscope.tasks.labelled import Classification, Regression
from headscope.tasks.language import LanguageModelling, MaskedLanguageModelling, NextToken, TokenTask
from headscope.tasks.metric import Metric
from headscope.tasks.qa import QuestionAnswering
from headscope.tasks.result import Difference, TaskResult, paired_difference
from headscope.tasks.writing import SequenceToSequence

__all__ = [
    "IGNORED",
    "TASKS",
    "Classification",
    "Difference",
    "LanguageModelling",
    "MaskedLanguageModelling",
    "Metric",
    "NextToken",
    "QuestionAnswering",
    "Regression",
    "SequenceToSequence",
    "Task",
    "TaskBatch",
    "TaskBatches",
    "TaskResult",
    "TokenTask",
    "forward",
    "has_head",
    "paired_difference",
    "task_for",
    "with_head",
]
