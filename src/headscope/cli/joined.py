"""Commands of other installed packages: named in their metadata, and loaded only when they are called.

A package adds one by an entry point in `headscope.commands` whose value is a Typer program, of one command or of
several. The name of the entry point is what is typed after `headscope`, with a dot between words:

    [project.entry-points."headscope.commands"]
    reproduce = "headscope_papers.cli.commands:reproduce"
    "probe.parser" = "headscope_papers.cli.parser:app"
"""

from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from headscope.errors import HeadscopeError, OptionError
from headscope.registry import entry_points

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "headscope.commands"

PAPERS = {
    "reproduce": "Print a paper's numbers beside those of your model.",
    "probe.parser": "Train parsers on all heads together.",
}
"""The commands of headscope-papers, which a user may look for where it is not installed, with their lines of help."""


class JoinedCommand(TyperCommand):
    """Stands for the command of another package: it has a line of help, and loads the package when it is called."""

    def __init__(self, name: str, point: "EntryPoint | None") -> None:
        """`name` is that of the entry point; without one, calling the command says where it is to be had."""
        package = point.dist.name if point is not None and point.dist is not None else "another package"
        summary = PAPERS.get(name, f"A command of {package}.")
        super().__init__(name.rpartition(".")[2], help=summary)
        self.point, self.typed = point, name.replace(".", " ")

    def make_context(self, info_name: Any, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of the loaded command, which runs in this one's place."""
        return self.load().make_context(info_name, args, parent, **extra)

    def load(self) -> Any:
        """The command itself; OptionError where its package is missing or broken."""
        if self.point is None:
            raise OptionError(
                f"headscope {self.typed} comes with the package headscope-papers, which is not installed; install it "
                "with: pip install headscope-papers"
            )
        try:
            return _loaded(self.point)
        except Exception as error:
            source = self.point.dist.name if self.point.dist else self.point.value
            raise OptionError(
                f"headscope {self.typed}, of the installed package {source}, cannot be loaded "
                f"({type(error).__name__}: {error}); repair or uninstall that package"
            ) from error


@cache
def _loaded(point: "EntryPoint") -> Any:
    return typer.main.get_command(point.load())


class JoinedGroup(TyperGroup):
    """A group of commands with those that other installed packages add to it; its own cannot be replaced."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Its own commands, then those of other packages."""
        return [*self.commands, *(name.rpartition(".")[2] for name in self._points())]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name, or None."""
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        name = f"{self._start()}{cmd_name}"
        point = self._points().get(name)
        return JoinedCommand(name, point) if point is not None or name in PAPERS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that was typed; a slip of the pen is answered with the names that are most like it."""
        near = [] if self.get_command(ctx, args[0]) else get_close_matches(args[0], self.list_commands(ctx))
        if near and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {', '.join(map(repr, near))}?")
        return super().resolve_command(ctx, args)

    def _points(self) -> "dict[str, EntryPoint]":
        """The entry points of commands in this group that are not its own."""
        start, points = self._start(), {point.name: point for point in entry_points(group=GROUP)}
        return {
            name: point
            for name, point in points.items()
            if name.startswith(start)
            and "." not in name[len(start) :]
            and name[len(start) :] not in self.commands
        }

    def _start(self) -> str:
        """How the names of entry points of this group begin: not at all for the program itself."""
        return "" if self.name == "headscope" else f"{self.name}."


def called(command: Any) -> Any:
    """The command as it is called: loaded if it is of another package, and its stand-in where that cannot be."""
    try:
        return command.load() if isinstance(command, JoinedCommand) else command
    except HeadscopeError:
        return command
