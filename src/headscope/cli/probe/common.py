"""Options that all probe commands take, written once.

Typer reads a command's options from its signature. A command here has one parameter `common: Common`; `with_common`
shows Typer the fields of that class in its place.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import Any, get_type_hints

import headscope as hs
from headscope.cli.console import status
from headscope.cli.options import (
    AllowPickle,
    BatchSize,
    Debug,
    Device,
    Dtype,
    Json,
    Quiet,
    Revision,
    batch_size_of,
)
from headscope.cli.probe.options import MaxLength


@dataclass(frozen=True)
class Common:
    """How a probe runs and what it prints."""

    max_length: MaxLength = None
    batch_size: BatchSize = "auto"
    device: Device = "auto"
    dtype: Dtype = "auto"
    revision: Revision = None
    allow_pickle: AllowPickle = False
    quiet: Quiet = False
    json: Json = False
    debug: Debug = False

    @property
    def shown(self) -> bool:
        """Whether progress and tables are printed."""
        return not (self.quiet or self.json)

    @property
    def probe_options(self) -> dict[str, Any]:
        """What every probe takes."""
        return {
            "max_length": self.max_length,
            "batch_size": batch_size_of(self.batch_size),
            "progress": self.shown,
        }

    def load(self, name: str) -> "hs.Model":
        """The model, with a line on the terminal while it takes its time."""
        with status(f"loading {name}", shown=self.shown):
            return hs.load(
                name,
                revision=self.revision,
                device=self.device,
                dtype=self.dtype,
                allow_pickle=self.allow_pickle,
            )


def with_common(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of Common as options of its own, after its others."""
    hints = get_type_hints(Common, include_extras=True)
    signature = inspect.signature(command, eval_str=True)
    own = [parameter for name, parameter in signature.parameters.items() if name != "common"]
    shared = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in fields(Common)
    ]

    @wraps(command)
    def run(*args: Any, **options: Any) -> None:
        common = Common(**{field.name: options.pop(field.name) for field in fields(Common)})
        command(*args, **options, common=common)

    parameters = [*own, *shared]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # read by inspect
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {
        "return": None
    }
    return run
