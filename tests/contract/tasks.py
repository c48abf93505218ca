"""The registry of tasks: every kind, made of a few examples of unequal length, and the models that it is tried on.

Who adds a task adds its entry here; test_registry.py fails until it is there, and every clause of test_tasks.py holds
for it from then on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.helpers.tasks import headed, questions_file

import headscope as hs
from headscope.models import Model
from headscope.tasks import Task

LABELLED = [
    ("the cat sat on the mat .", "a dog saw it !", "1"),
    ("it was red", "the house was blue , and the dog in it was red .", "0"),
    ("a", "the mat", "1"),
    ("the dog and the cat", "the cat and the dog", "1"),
    ("red house", "blue house", "0"),
    ("the cat was red , and the dog in the house saw it .", "a cat", "0"),
    ("a mat on the house", "it", "1"),
]
DOCUMENTS = [
    "The cat sat on the mat. A dog saw it. It was red, and the house was blue.",
    "A red house.",
    "The dog and the cat saw the mat in the house of the dog. It was blue. " * 3,
    "It was a red mat.",
    "The dog saw a cat and a cat, and it was in the blue house.",
]


@dataclass(frozen=True)
class TaskEntry:
    """A kind of task, its data, and what models do it."""

    write: Callable[[Path], Path]
    """Its data as a file."""
    models: tuple[Callable[[], Model], ...]
    """What its numbers are checked on; every clause on the first."""
    limited: Literal["spread", "first"]
    """Which examples a limit takes: so many spread evenly over the data, or the first ones."""
    options: tuple[tuple[str, object], ...] = ()
    several_stacks: Callable[[], Model] | None = None
    one_stack: str = ""
    """Why no model of several stacks does it."""
    alone: tuple[str, ...] = ()
    """Models whose texts go one at a time, as padding would change their output or cannot be told from text."""

    def make(self, name: str, folder: Path, model: Model) -> Task:
        """The task on its data, for a model."""
        return hs.task_for(name, self.write(folder), model, **dict(self.options))


def labelled(folder: Path) -> Path:
    """Pairs with a class."""
    path = folder / "labelled.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in LABELLED))
    return path


def scored(folder: Path) -> Path:
    """Pairs with a number."""
    path = folder / "scored.tsv"
    rows = [(first, second, str(number * 0.7)) for number, (first, second, _) in enumerate(LABELLED)]
    path.write_text("".join("\t".join(row) + "\n" for row in rows))
    return path


def questions(folder: Path) -> Path:
    """Questions on passages of different lengths."""
    return questions_file(folder / "questions.json")


def running_text(folder: Path) -> Path:
    """A document of its own a line."""
    path = folder / "text.txt"
    path.write_text("\n\n".join(DOCUMENTS) + "\n")
    return path


def to_write(folder: Path) -> Path:
    """Pairs of a text to read and one to write."""
    path = folder / "pairs.tsv"
    path.write_text("".join(f"{first}\t{second}\n" for first, second, _ in LABELLED))
    return path


def with_heads(head: str, *architectures: str, labels: int = 2) -> tuple[Callable[[], Model], ...]:
    """Tiny models with the head, made when they are needed."""
    return tuple(lambda name=name: headed(name, head, labels) for name in architectures)  # type: ignore[misc]


ENTRIES = {
    "qa": TaskEntry(
        questions,
        with_heads("qa", "bert", "roberta", "distilbert", "gpt2", "convbert"),
        limited="spread",
        options=(("max_length", 60), ("stride", 6)),
        one_stack="transformers answers questions with BART and T5 by heads that no test model has",
        alone=("tiny-convbert-qa",),
    ),
    "classification": TaskEntry(
        labelled,
        with_heads("classification", "bert", "roberta", "distilbert", "gpt2", "bart"),
        limited="spread",
        several_stacks=lambda: headed("bart", "classification"),
        alone=("tiny-gpt2-classification",),
    ),
    "regression": TaskEntry(
        scored,
        with_heads("classification", "bert", "distilbert", labels=1),
        limited="spread",
        several_stacks=lambda: headed("bart", "classification", 1),
    ),
    "mlm": TaskEntry(
        running_text,
        (
            *with_heads("mlm", "bert", "roberta", "distilbert"),
            lambda: headed("bert", "pretraining"),
        ),
        limited="first",
        options=(("max_length", 30),),
        one_stack="an encoder-decoder is not asked for masked words",
    ),
    "lm": TaskEntry(
        running_text,
        with_heads("lm", "gpt2", "llama"),
        limited="first",
        options=(("max_length", 30),),
        one_stack="an encoder-decoder writes one text from another: seq2seq",
    ),
    "seq2seq": TaskEntry(
        to_write,
        with_heads("lm", "t5"),
        limited="spread",
        several_stacks=lambda: headed("t5", "lm"),
    ),
}
