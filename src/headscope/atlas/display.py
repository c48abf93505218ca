"""How an atlas shows itself in a notebook."""

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def in_terminal() -> bool:
    """Whether whoever asks for a picture is IPython in a terminal, which has no use for one."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and getattr(shell, "kernel", None) is None


def view_of(atlas: Any) -> Any:
    """The widget that shows the atlas; None where it cannot be drawn."""
    if find_spec("anywidget") is None or in_terminal():
        return None
    # By name: the widget stands far above the atlas, and plain use must not load it.
    return import_module("headscope.widget.views").AtlasView(atlas)
