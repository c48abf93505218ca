"""Tasks: what a model can be good at, and how good it is with and without some of its heads."""

from headscope.tasks.base import TASKS, Task, TaskBatch, TaskBatches, forward
from headscope.tasks.classification import Classification
from headscope.tasks.heads import has_head, with_head
from headscope.tasks.masked_lm import MaskedLanguageModelling
from headscope.tasks.metric import Metric
from headscope.tasks.next_token import NextToken
from headscope.tasks.qa import QuestionAnswering
from headscope.tasks.registry import task_for
from headscope.tasks.regression import Regression
from headscope.tasks.result import Difference, TaskResult, paired_difference

__all__ = [
    "TASKS",
    "Classification",
    "Difference",
    "MaskedLanguageModelling",
    "Metric",
    "NextToken",
    "QuestionAnswering",
    "Regression",
    "Task",
    "TaskBatch",
    "TaskBatches",
    "TaskResult",
    "forward",
    "has_head",
    "paired_difference",
    "task_for",
    "with_head",
]
