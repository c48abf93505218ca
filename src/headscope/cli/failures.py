"""What happens when a command fails: one line for the user, the right exit code, no traceback."""

import contextlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import typer
from typer._click.exceptions import NoSuchOption

import headscope as hs
from headscope.cli.console import one_line, print_json
from headscope.cli.joined import JoinedGroup, called
from headscope.errors import HeadscopeError, choices

WENT_WRONG = 1
INTERRUPTED = 130  # 128 + SIGINT and 128 + SIGPIPE, as shells count
NOBODY_READS = 141


class HeadscopeGroup(JoinedGroup):
    """The commands, run so that whatever goes wrong ends in one line on standard error.

    With `--json` the same message is also in the one object on standard output, as "error", with its "exit_code".
    """

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Parse, run and exit; `standalone_mode=False` lets exceptions through, for callers in Python."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        given = sys.argv[1:] if args is None else list(args)
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
            sys.stdout.flush()  # here and not at exit, so that a closed pipe or a full disk can be told
        except (ClosedPipeError, BrokenPipeError):
            _silence_stdout()
            sys.exit(NOBODY_READS)
        except Exception as error:
            message, exit_code = explain(error)
            if _wants_traceback(given):
                traceback.print_exception(error)
            _tell(message, exit_code, command=command_of(self, given), as_json="--json" in given)
            sys.exit(exit_code)
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command; what Typer would handle in its own way becomes an error like any other."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            raise InterruptedByUserError from interrupt
        except BrokenPipeError as error:
            raise ClosedPipeError from error


class InterruptedByUserError(Exception):
    """The user pressed Ctrl-C. Results are written under a temporary name first, so none is half there."""


class ClosedPipeError(Exception):
    """Whoever read standard output stopped reading, as `head` does; nothing is wrong."""


def explain(error: Exception) -> tuple[str, int]:
    """One line for the user, and what to exit with."""
    match error:
        case InterruptedByUserError():
            return str(error) or "interrupted; no half-written file was left", INTERRUPTED
        case HeadscopeError():
            return str(error), error.exit_code
        case typer.TyperException():
            return _usage(error), error.exit_code
        case _ if _is_out_of_memory(error):
            return (
                "out of memory; try --batch-size 1, a smaller --max-length, or fewer measures "
                "(head_distance needs the most)",
                WENT_WRONG,
            )
        case OSError(strerror=str(reason)):
            place = f"{error.filename}: " if error.filename else ""
            return f"{place}{reason}", WENT_WRONG
        case _:
            return (
                f"unexpected {type(error).__name__}: {error}; this is a bug in headscope: please report it, "
                "with what the same command prints when --debug is added",
                WENT_WRONG,
            )


def _usage(error: typer.TyperException) -> str:
    message = error.format_message().rstrip(".").replace("Value error, ", "")
    if isinstance(error, NoSuchOption) and error.possibilities:
        message = f"{error.message}; {choices(error.option_name, error.possibilities)}"
    context = getattr(error, "ctx", None)
    return f"{message} (see: {context.command_path if context else 'headscope'} --help)"


def _is_out_of_memory(error: Exception) -> bool:
    # By name and text: torch is not loaded for this, and its CPU allocator raises a bare RuntimeError.
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or (isinstance(error, RuntimeError) and "allocate memory" in str(error))
    )


def _wants_traceback(args: Sequence[str]) -> bool:
    return "--debug" in args or os.environ.get("HEADSCOPE_DEBUG", "") not in {"", "0"}


def command_of(group: Any, args: Sequence[str]) -> str:
    """The command that was typed, such as `probe dependency`; empty where none was."""
    names = []
    for word in args:
        command = group.get_command(None, word) if hasattr(group, "commands") else None
        if command is None:
            break
        names.append(word)
        group = called(command)
    return " ".join(names)


def _tell(message: str, exit_code: int, *, command: str, as_json: bool) -> None:
    line = one_line(message)
    try:
        if as_json:
            failed = {"headscope": hs.__version__, "command": command, "error": line}
            print_json({**failed, "exit_code": exit_code})
        sys.stdout.flush()
    except OSError:  # standard output may be what failed
        _silence_stdout()
    print(f"headscope: error: {line}", file=sys.stderr, flush=True)


def _silence_stdout() -> None:
    """Point standard output nowhere, or Python would fail once more when it flushes it at exit."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
