"""What a widget leaves in a saved notebook: HTML that shows the view where there is no kernel.

nbconvert, nbviewer and documentation sites show the whole view, in a frame. GitHub removes frames and styles, and then
shows the still picture, or the name, that the style would hide.
"""

import base64
from io import BytesIO

from markupsafe import Markup
from matplotlib import pyplot
from matplotlib.axes import Axes

HEIGHT = 620
"""Pixels of the frame: the head view of a sentence or two."""
MOST = 4_000_000
"""Characters from which on a view is too large to be stored a second time; the picture then stands alone."""


def stored(page: str, instead: Markup) -> str:
    """A page as the output of a cell, and what is shown instead where frames are not."""
    if len(page) > MOST:
        return str(instead)
    frame = Markup(
        '<style>.headscope-instead {{ display: none }}</style><div class="headscope-instead">{instead}</div>'
        '<iframe srcdoc="{page}" width="100%" height="{height}" frameborder="0" title="headscope"></iframe>'
    ).format(instead=instead, page=page, height=HEIGHT)
    return str(frame)


def picture(axes: Axes, words: str) -> Markup:
    """The figure of these axes as an image inside the HTML; it is closed, lest a notebook shows it a second time."""
    figure, pixels = axes.figure.canvas.figure, BytesIO()
    figure.savefig(pixels, format="png", dpi=110, bbox_inches="tight")
    pyplot.close(figure)
    encoded = base64.b64encode(pixels.getvalue()).decode()
    return Markup('<img src="data:image/png;base64,{}" alt="{}">').format(encoded, words)
