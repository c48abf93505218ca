"""The terminal: what could steer it is shown, not obeyed."""

from typing import Any

from rich.console import Console
from rich.text import Text

from headscope.cli.console import printable


class SafeConsole(Console):
    """A console that shows control characters instead of obeying them: an atlas or a file name can hold any."""

    def render_str(self, text: str, **options: Any) -> Text:
        """As Rich does, with what could steer the terminal escaped."""
        return super().render_str(printable(text), **options)
