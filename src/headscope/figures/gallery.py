"""Several examples of a head at work, one below the other."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from headscope.atlas import Example
from headscope.errors import OptionError
from headscope.figures.arcs import TITLE_ROOM, arcs_size, head_at_work
from headscope.figures.colours import INK
from headscope.figures.theme import TITLE_SIZE


def heads_at_work(examples: Sequence[Example]) -> Figure:
    """A figure with a picture for each example, in the given order."""
    if not examples:
        raise OptionError("there is no example to draw; give at least one")
    sizes = [arcs_size(example) for example in examples]
    room = TITLE_ROOM / 72
    width, height = max(wide for wide, _ in sizes), sum(high + room for _, high in sizes)
    figure = Figure(figsize=(width, height))
    top = height
    for example, (wide, high) in zip(examples, sizes, strict=True):
        top -= high + room
        ax = figure.add_axes((0, top / height, wide / width, high / height))
        head_at_work(example, ax=ax)
        verdict = "right" if example.is_right else "wrong"
        title = f"{ax.get_title(loc='left')} ({verdict})"
        ax.set_title(title, loc="left", fontsize=TITLE_SIZE, color=INK, parse_math=False)
    return figure
