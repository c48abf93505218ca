"""Write docs/cli.md from the live commands, or check that it is up to date.

python tools/cli_reference.py            # write it
python tools/cli_reference.py --check    # exit 1 when the file is stale

The commands of headscope-papers are among them, so it must be installed.
"""

import argparse
import html
import sys
from pathlib import Path
from typing import Any

from typer.main import get_command

from headscope.cli.main import app

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
EXAMPLE = "Example: "

INTRODUCTION = """\
# Command line

<!-- Written by tools/cli_reference.py from the commands themselves; change those, not this page. -->

{description}

Every command ends with exit code 0 when it did its job, 2 when an argument or an input file was wrong, 1 when
something else went wrong, and 130 after Ctrl-C. A failure is one line on standard error,
`headscope: error: …`; with `--json` it is also the one object on standard output, with `error` and
`exit_code`. [JSON of the command line](cli-json.md) lists what every command prints with `--json`.
Results go to standard output, progress and notes to standard error. A result file appears under
its name only when it is whole, and its folder must be there already. `--debug`, or `HEADSCOPE_DEBUG=1` in the
environment, adds the traceback to an error.
"""


def page() -> str:
    """The whole page."""
    group: Any = get_command(app)  # Any: Typer keeps the classes of its parameters to itself
    context = group.make_context("headscope", [], resilient_parsing=True)
    parts = [INTRODUCTION.format(description=group.help), _options(group, context)]
    parts += _sections(group, context)
    return "\n".join(parts)


def _sections(group: Any, context: Any) -> list[str]:
    """A section for every command, in the order of the help; commands of a group follow it."""
    parts = []
    for name in group.list_commands(context):
        inner = group.get_command(context, name).make_context(
            name, [], parent=context, resilient_parsing=True
        )
        command = inner.command  # for a command of another package not what stands for it, but itself
        if hasattr(command, "commands"):
            parts += [f"## {inner.command_path}\n\n{command.help}\n", *_sections(command, inner)]
        else:
            parts.append(_section(command, inner))
    return parts


def _section(command: Any, context: Any) -> str:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    level = "#" * (context.command_path.count(" ") + 1)
    if not command.epilog or not command.epilog.startswith(EXAMPLE):
        raise SystemExit(
            f"{context.command_path} has no example; give it an epilog that starts with {EXAMPLE!r}"
        )
    example = command.epilog.removeprefix(EXAMPLE)
    return "\n".join(
        [
            f"{level} {context.command_path}",
            "",
            command.help,
            "",
            f"```text\n{usage}\n```",
            "",
            _arguments(command, context),
            _options(command, context),
            "For example:",
            "",
            f"```bash\n{example}\n```",
            "",
        ]
    )


def _arguments(command: Any, context: Any) -> str:
    rows = [
        (_code(param.metavar), param.help)
        for param in command.get_params(context)
        if param.param_type_name == "argument"
    ]
    return _table(("argument", "what it is"), rows)


def _options(command: Any, context: Any) -> str:
    rows = []
    for param in command.get_params(context):
        if param.param_type_name == "option":
            name, help_text = param.get_help_record(context)
            rows.append((_code(name), _escaped(help_text)))
    return _table(("option", "what it does"), rows)


def _table(header: tuple[str, str], rows: list[tuple[str, str]]) -> str:
    lines = [header, ("---", "---"), *rows]
    return "".join(f"| {left} | {right} |\n" for left, right in lines)


def _code(text: str) -> str:
    """As code that is safe in a table: a bar between backticks ends the cell in some renderers."""
    return f"<code>{_escaped(text)}</code>" if "|" in text else f"`{text}`"


def _escaped(text: str) -> str:
    """On one line, with nothing that begins a tag or ends a table cell."""
    return html.escape(" ".join(text.split()), quote=False).replace("|", "&#124;")


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description="Write docs/cli.md from the live commands.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the page is stale")
    arguments = parser.parse_args()
    wanted = page()
    if arguments.check:
        if not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != wanted:
            print("docs/cli.md is stale; write it again with: python tools/cli_reference.py", file=sys.stderr)
            return 1
        return 0
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
