"""How commands are typed: the usage line, several values after one option, and adding them to the program."""

from collections.abc import Collection, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from headscope.cli.options import WORDS
from headscope.errors import OptionError
from headscope.registry import BUILT_IN, known_names

SETTINGS = {"help_option_names": ["-h", "--help"]}


UNNAMED = "local"
"""What stands for the value of an option that was given without one."""


class Command(TyperCommand):
    """A command typed as people write it: arguments, then the options it needs, then the others.

    An option whose metavar ends in `...`, such as FILE..., takes every value up to the next option; Typer itself knows
    `--text a.txt --text b.txt` only.
    """

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What is needed, in order; what may be left out is in brackets."""
        return [*self._needed(), "[OPTIONS]"]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as usual; an argument that comes after a list of files was taken for one of them, so say that."""
        several = {name for option in self._options() if _takes_several(option) for name in option.opts}
        try:
            return super().parse_args(ctx, repeat_flags(self._filled_in(args), several))
        except typer.BadParameter as error:
            if error.param is None or error.param.param_type_name != "argument":
                raise
            names = [_metavar(argument) for argument in self._arguments() if argument.required]
            said = "is missing; it comes" if len(names) == 1 else "are needed; they come"
            usage = " ".join([ctx.command_path, *self._needed()])
            raise OptionError(f"{' and '.join(names)} {said} first: {usage}") from error

    def _filled_in(self, args: list[str]) -> list[str]:
        """The words as Typer takes them: an option with a metavar in brackets, such as [ADDRESS], needs no value."""
        optional = {
            name for option in self._options() if _metavar(option).startswith("[") for name in option.opts
        }
        words: list[str] = []
        for word, following in zip(args, [*args, "-"][1:], strict=True):
            words += [word, UNNAMED] if word in optional and following.startswith("-") else [word]
        return words

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help, with the names that other installed packages add to the registries."""
        for kind, separator in (("task", "|"), ("measure", ", ")):
            own, known = separator.join(BUILT_IN[kind]), separator.join(known_names(kind))
            for option in self._options():
                option.metavar = option.metavar and option.metavar.replace(own, known)
                option.help = option.help and option.help.replace(own, known)
        super().format_help(ctx, formatter)

    def _needed(self) -> list[str]:
        pieces = [
            _metavar(argument) if argument.required else f"[{_metavar(argument)}]"
            for argument in self._arguments()
        ]
        one_of = [option for option in self._options() if option.name in getattr(self.callback, "one_of", ())]
        if one_of:
            pieces.append(f"({' | '.join(map(_written, one_of))})")
        return [*pieces, *(_written(option) for option in self._options() if option.required)]

    def _arguments(self) -> list[Any]:
        return [param for param in self.params if param.param_type_name == "argument"]

    def _options(self) -> list[Any]:
        return [param for param in self.params if param.param_type_name == "option"]


def group(name: str, description: str, *, start: str, kind: type[TyperGroup] = TyperGroup) -> typer.Typer:
    """A command that only holds others; typed alone it prints its help."""
    app = typer.Typer(
        name=name,
        cls=kind,
        rich_markup_mode=None,
        context_settings=SETTINGS,
        add_completion=False,
        help=description,
        epilog=f"Start with: {start}",
    )
    app.callback(invoke_without_command=True, help=description)(show_help)
    return app


def single(name: str, function: Any, example: str) -> typer.Typer:
    """A program of one command, to be called in a group of another program."""
    app = typer.Typer(rich_markup_mode=None, context_settings=SETTINGS, add_completion=False)
    app.command(name, cls=Command, epilog=f"Example: {example}")(function)
    return app


def show_help(context: typer.Context) -> None:
    """Print the help where no command was named."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def add(app: typer.Typer, module: Any, name: str = "", *, function: str = "") -> None:
    """Add a command of a module, by default the one that is called as the module is; below its help is an example."""
    name = name or module.__name__.rpartition(".")[2]
    typed = name if app.info.name == "headscope" else f"{app.info.name} {name}"
    epilog = f"Example: headscope {typed} {WORDS['examples'][typed]}"
    app.command(name, cls=Command, epilog=epilog)(getattr(module, function or name))


def repeat_flags(args: Sequence[str], flags: Collection[str]) -> list[str]:
    """`--flag a b` as `--flag a --flag b`; a value ends the list when it looks like an option."""
    spelled: list[str] = []
    flag, is_first = None, False
    for place, word in enumerate(args):
        if word == "--":
            return [*spelled, *args[place:]]
        if word in flags:
            flag, is_first = word, True
            spelled.append(word)
        elif word.startswith("-") and word != "-":
            flag = None
            spelled.append(word)
        elif flag is None or is_first:
            is_first = False
            spelled.append(word)
        else:
            spelled += [flag, word]
    return spelled


def _takes_several(option: Any) -> bool:
    return bool(option.multiple and (option.metavar or "").endswith("..."))


def _metavar(param: Any) -> str:
    return str(param.metavar or param.name).upper()


def _written(option: Any) -> str:
    """`-o OUT.nc`, `--text FILE...`; a list of names is NAME."""
    metavar = option.metavar or "NAME"
    return f"{min(option.opts, key=len)} {'NAME' if metavar.startswith('<') else metavar}"
