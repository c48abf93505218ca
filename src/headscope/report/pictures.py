"""Pictures for the page: matplotlib figures as inline SVG whose colours follow the page's theme."""

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headscope.figures.colours import (
    DARK_RAMPS,
    INK,
    LIGHT_RAMPS,
    MUTED,
    NO_DATA,
    ON_HIGH,
    ON_LOW,
    PAPER,
    RULE,
    SERIES,
)
from headscope.figures.save import VECTOR_SETTINGS

POINTS_TO_PIXELS = 96 / 72
MOST_ENLARGED = 1.3  # pictures grow with their place on the page, up to this

_NAMED = {
    INK: "ink",
    MUTED: "muted",
    RULE: "rule",
    PAPER: "paper",
    NO_DATA: "no-data",
    ON_LOW: "on-low",
    ON_HIGH: "on-high",
    **{colour: f"series-{number}" for number, colour in enumerate(SERIES)},
}
_VARIABLES = {
    colour: f"{name}-{level}" for name, ramp in LIGHT_RAMPS.items() for level, colour in enumerate(ramp)
} | _NAMED
"""The page's name for every colour that figures use; `page.css` and `ramp_styles` say what it is."""


@dataclass(frozen=True)
class Picture:
    """One figure of the page."""

    title: str
    caption: str
    svg: str
    is_wide: bool = False


def picture(
    draw: Callable[[Axes], object],
    *,
    size: tuple[float, float],
    title: str,
    caption: str,
    key: str,
    is_wide: bool = False,
) -> Picture:
    """Draw on Axes of our own (inches) and keep the SVG; `key` tells its ids from those of other pictures."""
    figure = Figure(figsize=size, layout="constrained")
    figure.patch.set_visible(False)
    ax = figure.subplots()
    draw(ax)
    ax.set_title("", loc="left")  # the page has it as a heading
    buffer = io.StringIO()
    with rc_context(VECTOR_SETTINGS):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return Picture(title, caption, _inline(buffer.getvalue(), f"{title}. {caption}", key), is_wide)


def ramp_styles(*, dark: bool) -> str:
    """The colour ramps as CSS variables."""
    ramps = DARK_RAMPS if dark else LIGHT_RAMPS
    return "".join(
        f"--{name}-{level}:{colour};" for name, ramp in ramps.items() for level, colour in enumerate(ramp)
    )


def _inline(svg: str, label: str, key: str) -> str:
    """An SVG document as an element of a page: smaller, themed, with its own ids and a text alternative."""
    body = svg[svg.index("<svg") :]
    opening, body = body.split(">", 1)
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r"\s*font-family:[^;\"]*;?", "", body)
    body = re.sub(r' transform="rotate\(-0 [^"]*\)"', "", body)
    body = re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), body)
    body = re.sub(r"#[0-9a-f]{6}\b", lambda colour: _themed(colour[0]), body)
    body = _own_ids(body.replace("xlink:href", "href"), key)
    body = re.sub(r"\s*\n\s*", " ", body).replace("> <", "><")
    body = _CELLS.sub(lambda run: _merged(run[0]), body)
    body = re.sub(r"<g>\s*</g>|<g\s*/>|<defs>\s*</defs>", "", body)
    width, height = _box(opening)
    most = width * POINTS_TO_PIXELS * MOST_ENLARGED
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" style="max-width:{most:.0f}px" '
        f'role="img" aria-label="{escape(label, quote=True)}">{body.strip()}'
    )


_NUMBER = r"-?[\d.]+"
_CELL = re.compile(
    rf'<path d="M ({_NUMBER}) ({_NUMBER}) L ({_NUMBER}) \2 L \3 ({_NUMBER}) L \1 \4 L \1 \2 "([^>]*)/>'
)
_CELLS = re.compile(r'(?:<path d="M [^>]*/>){2,}')


def _merged(run: str) -> str:
    """Neighbouring cells as one path for each colour, which makes a large grid ten times smaller."""
    cells = _CELL.findall(run)
    if _CELL.sub("", run):  # something else is among them
        return run
    paths: dict[str, list[str]] = {}
    for left, top, right, bottom, style in cells:
        paths.setdefault(style, []).append(f"M{left} {top}H{right}V{bottom}H{left}z")
    return "".join(f'<path d="{"".join(shapes)}"{style}/>' for style, shapes in paths.items())


def _themed(colour: str) -> str:
    name = _VARIABLES.get(colour)
    return colour if name is None else f"var(--{name})"


def _own_ids(body: str, key: str) -> str:
    """Ids that are used get the picture's key, the others go."""
    used = set(re.findall(r"url\(#([^)]+)\)", body)) | set(re.findall(r'href="#([^"]+)"', body))
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#{key}-\1)", body)
    body = re.sub(r'href="#([^"]+)"', rf'href="#{key}-\1"', body)
    return re.sub(r' id="([^"]*)"', lambda found: f' id="{key}-{found[1]}"' if found[1] in used else "", body)


def _box(opening: str) -> tuple[float, float]:
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', opening)
    if found is None:
        raise ValueError("matplotlib wrote an SVG without a viewBox")
    return float(found[1]), float(found[2])
