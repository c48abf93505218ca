"""The usage line of a probe command, and its order of words."""

from typing import Any

import typer

from headscope.cli.many_values import ManyValuesCommand
from headscope.errors import OptionError


class ProbeCommand(ManyValuesCommand):
    """A command that says in which order it is typed: the model, then what is needed, then the rest."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What is needed, in order, for the usage line."""
        return ["MODEL", *self._needed(), "[OPTIONS]"]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as usual; a MODEL that comes after a list of files was taken for one of them, so say that."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            if error.param is not None and error.param.name == "model":
                raise OptionError(
                    f"MODEL is missing; it comes first: {ctx.command_path} MODEL {' '.join(self._needed())}".rstrip()
                ) from error
            raise

    def _needed(self) -> list[str]:
        return [
            f"{option.opts[0]} {option.metavar}"
            for option in self.params
            if option.param_type_name == "option" and option.required
        ]
