"""`--text a.txt b.txt`: an option that takes every value up to the next option."""

from collections.abc import Collection, Sequence
from typing import Any

from typer.core import TyperCommand


class ManyValuesCommand(TyperCommand):
    """A command whose repeatable options also take several values after one flag.

    Typer's parser knows `--text a.txt --text b.txt` only; the shorter form is spelled out before it looks.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Spell out the short form, then parse as usual."""
        flags = {name for option in self.params if getattr(option, "multiple", False) for name in option.opts}
        return super().parse_args(ctx, repeat_flags(args, flags))


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
