"""Tasks by name, each made from files for a model."""

import inspect
from collections.abc import Sequence
from pathlib import Path

from headscope.errors import OptionError
from headscope.models import Model
from headscope.tasks.base import TASKS, Task


def task_for(name: str, data: str | Path | Sequence[str | Path], model: Model, **options: object) -> Task:
    """The task of that name ("qa", "classification", "regression", "mlm", "lm") on some files, for a model.

    `options` are those of the task's class. The model is asked for what its labels are called; whether it has the
    head that the task needs is seen to when it is evaluated.
    """
    kind = TASKS.get(name)
    known = [
        option
        for option, parameter in inspect.signature(kind).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and option != "labels"
    ]
    for option in options:
        if option not in known:
            raise OptionError(
                f"the task {name} has no option called {option!r}; choose from {', '.join(known)}"
            )
    paths = [data] if isinstance(data, str | Path) else list(data)
    if not paths:
        raise OptionError(f"the task {name} was given no file")
    return kind.from_files([Path(path) for path in paths], model, **options)
