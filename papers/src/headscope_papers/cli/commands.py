"""The command of each paper: what it is called, what it says of itself, and which of the common options it takes.

The words are in the TOML file beside this one.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.cli import usage
from headscope.cli.options import ENGINE, Common, Kinds, argument, described_options, parse_task, with_common
from headscope.data import beside
from headscope.registry import BUILT_IN
from headscope_papers.cli.run import run

ModelOrAtlas = Annotated[
    str,
    argument(
        "MODEL", "A model, as for headscope analyze, or an .nc file it wrote; an .nc file takes no data."
    ),
]
TASK_HELP = (
    f"Tasks to ablate heads for ({', '.join(BUILT_IN['task'])}), as for headscope ablate; with --data. Each task goes "
    "to the first model that can do it and has no task yet, fine-tuned models first."
)
WORDS = beside(__file__)
TYPES = {
    "against": list[str] | None,
    **dict.fromkeys(("pairs", "output", "page"), Path | None),
    **dict.fromkeys(("limit", "examples"), int | None),
    "vectors": str,
    "seed": int,
    "faithful": bool,
}
"""Of the options that do not name one or more files."""
OPTIONS: dict[str, Any] = {
    "task": Annotated[list[str] | None, typer.Option(metavar="NAME...", parser=parse_task, help=TASK_HELP)],
    "k": Kinds,
    **{
        name: Annotated[TYPES.get(name, list[Path] | None), option]
        for name, option in described_options(WORDS["options"]).items()
    },
}
DEFAULTS = {"vectors": "model", "k": 4, "seed": 0, "faithful": False}


def _function(name: str, command: dict[str, str]) -> Callable[..., None]:
    """The command as a function with its options, for Typer."""
    page = Path(command["page"]) if "page" in command else None
    defaults = {**DEFAULTS, "page": page}
    own = [
        inspect.Parameter(
            key, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(key), annotation=OPTIONS[key]
        )
        for key in (*command["options"].split(), "output", "page")
    ]
    model = inspect.Parameter("model", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=ModelOrAtlas)
    common = inspect.Parameter("common", inspect.Parameter.KEYWORD_ONLY, annotation=Common)

    def function(**options: Any) -> None:
        run(name, **options)

    function.__signature__ = inspect.Signature([model, *own, common])  # type: ignore[attr-defined]  # for inspect
    function.__doc__ = command["help"]
    return with_common(function, without=ENGINE)


reproduce = usage.group(
    "reproduce",
    "Print a paper's numbers beside those of your model.",
    start="headscope reproduce guan2020 demo --text FILE",
)
for _name, _command in WORDS["papers"].items():
    _example = f"Example: headscope reproduce {_name} {_command['example']}"
    reproduce.command(_name, cls=usage.Command, epilog=_example)(_function(_name, _command))
