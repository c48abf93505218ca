"""The views in a notebook."""

from headscope.widget.view import view

__all__ = ["view"]
