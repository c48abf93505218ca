"""Tables on the terminal."""

from headscope.cli.tables.text import blocks, print_table

__all__ = ["blocks", "print_table"]
