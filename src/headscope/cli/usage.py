"""The usage line of a command, as people write it by hand."""

from typing import Any

from typer.core import TyperCommand


class PlainUsageCommand(TyperCommand):
    """A command whose usage reads `ATLAS [MEASURE] [OPTIONS]`: only what may be left out is in brackets."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The arguments in order, then the options."""
        arguments = [param for param in self.params if param.param_type_name == "argument"]
        names = [str(param.metavar or param.name).upper() for param in arguments]
        pieces = [
            name if param.required else f"[{name}]" for name, param in zip(names, arguments, strict=True)
        ]
        return [*pieces, "[OPTIONS]"]
