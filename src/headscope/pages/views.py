"""The views of a text by name, for whoever lets one choose."""

from typing import Literal, get_args

from headscope.errors import OptionError

ViewName = Literal["head", "matrix", "model", "neuron"]


def check_view(name: str) -> None:
    """Raise OptionError unless there is a view of that name."""
    known = get_args(ViewName)
    if name not in known:
        raise OptionError(f"there is no view {name!r}; choose from {', '.join(known)}")
