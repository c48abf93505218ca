"""Saving a picture: vector or pixels, the same bytes every time."""

import os
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headscope.atlas import replacing
from headscope.errors import OptionError

PIXELS_PER_INCH = 200

# No date and no tool name in the file, so that the same picture is the same file.
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}

# Text stays text (editable, searchable, in the font of the paper); ids come from the content alone.
VECTOR_SETTINGS: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "headscope", "pdf.fonttype": 42}


def save(picture: Axes | Figure, path: str | os.PathLike[str]) -> Path:
    """Write the figure, or the figure of the Axes, as SVG, PDF or PNG, as the name's ending says."""
    target = Path(path)
    kind = target.suffix.lower().removeprefix(".")
    if kind not in _METADATA:
        given = f"{target.suffix!r}" if target.suffix else "a name without an ending"
        raise OptionError(f"{target.name}: pictures are saved as .svg, .pdf or .png, not {given}")
    # By way of the canvas, which belongs to the whole figure even when the Axes are on a part of it.
    figure = picture if isinstance(picture, Figure) else picture.figure.canvas.figure
    with replacing(target) as temporary, rc_context(VECTOR_SETTINGS):
        figure.savefig(
            temporary, format=kind, dpi=PIXELS_PER_INCH, bbox_inches="tight", metadata=_METADATA[kind]
        )
    return target
