"""Pictures for the page: matplotlib figures as inline SVG whose colours follow the page's theme."""

import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup, escape
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from headscope.facts.subject import Subject
from headscope.facts.wording import printed
from headscope.figures.style.colours import (
    INK,
    KINDS,
    LIGHT_RAMPS,
    MUTED,
    NO_DATA,
    ON_HIGH,
    ON_LOW,
    PAPER,
    RULE,
    SERIES,
)
from headscope.figures.style.theme import VECTOR_SETTINGS

POINTS_TO_PIXELS = 96 / 72
MOST_ENLARGED = 1.3  # pictures grow with their place on the page, up to this
OWN_ID = "\ue000"  # no text has it: what cannot be shown is replaced
LEAST_OF_TEXT, MOST_OF_TEXT = 0.85, 1.1  # those that are read like text stay near their size, and scroll

_NAMED = {
    INK: "ink",
    MUTED: "muted",
    RULE: "rule",
    PAPER: "paper",
    NO_DATA: "no-data",
    ON_LOW: "on-low",
    ON_HIGH: "on-high",
    **{colour: f"series-{number}" for number, colour in enumerate(SERIES)},
    **{colour: f"kind-{number}" for number, colour in enumerate(KINDS)},
}
_VARIABLES = {
    colour: f"{name}-{level}" for name, ramp in LIGHT_RAMPS.items() for level, colour in enumerate(ramp)
} | _NAMED
_THEMED = {colour: f"var(--{name})" for colour, name in _VARIABLES.items()}
"""What stands for every colour that figures use; the page's styles say what it is."""


@dataclass(frozen=True)
class Picture:
    """One figure of the page."""

    title: str
    caption: str
    svg: Markup
    """Its ids begin with `OWN_ID`, which the page replaces so that no two pictures share one."""
    is_wide: bool = False


def picture(
    draw: Callable[[Axes], object],
    *,
    size: tuple[float, float],
    title: str,
    caption: str,
    is_wide: bool = False,
    least: float = 0.0,
    is_text: bool = False,
) -> Picture:
    """Draw on Axes of our own (inches) and keep the SVG.

    On a small screen the picture shrinks down to `least` of its size, then it scrolls. One that `is_text` has no
    margins, and stays near its size on any screen.
    """
    figure = Figure(figsize=size, layout=None if is_text else "constrained")
    figure.patch.set_visible(False)
    ax = figure.add_axes((0, 0, 1, 1)) if is_text else figure.subplots()
    draw(ax)
    ax.set_title("", loc="left")  # the page has it as a heading
    buffer = io.StringIO()
    with rc_context(VECTOR_SETTINGS), warnings.catch_warnings():
        # Text stays text, so that the reader's fonts matter, not ours.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from", category=UserWarning)
        canvas: Any = FigureCanvasSVG(figure)  # matplotlib gives its methods no types
        _lay_out(figure)
        canvas.print_svg(buffer, metadata={"Date": None, "Creator": None})
    svg = _inline(buffer.getvalue(), f"{title}. {caption}", least=least, is_text=is_text)
    return Picture(title, caption, svg, is_wide)


def _lay_out(figure: Figure) -> None:
    """Find the figure's margins once: `savefig` would draw all of it for them, throw it away, and draw it again."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine("none")


def stack_picture(
    subject: Subject,
    draw: Callable[..., object],
    *arguments: object,
    size: tuple[float, float],
    title: str,
    caption: str,
    is_wide: bool = True,
    least: float = 0.0,
    **options: object,
) -> Picture:
    """A picture that a function of `headscope.figures` draws of a stack: its further arguments and options."""

    def on(ax: Axes) -> object:
        return draw(subject.atlas, *arguments, stack=subject.stack, ax=ax, **options)

    return picture(on, size=size, title=title, caption=caption, is_wide=is_wide, least=least)


def _inline(svg: str, label: str, *, least: float, is_text: bool) -> Markup:
    """An SVG document as an element of a page: smaller, themed, with its own ids and a text alternative."""
    body = svg[svg.index("<svg") :]
    opening, body = body.split(">", 1)
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", body, flags=re.DOTALL)
    body = _TAG.sub(lambda tag: _tidied(tag[0]), body)
    body = _own_ids(body)
    body = re.sub(r"\s*\n\s*", " ", body).replace("> <", "><")
    body = _BAR_CELL.sub(r'<path d="M\1 \2V\3H\4V\2z"\5/>', body)
    body = _CELLS.sub(lambda run: _merged(run[0]), body)
    body = re.sub(r"<g>\s*</g>|<g\s*/>|<defs>\s*</defs>", "", body)
    for _ in range(3):  # groups of one text, around each other
        body = re.sub(r"<g>(<text[^>]*>[^<]*</text>)</g>", r"\1", body)
    width, height = _box(opening)
    pixels = width * POINTS_TO_PIXELS
    least, most = (LEAST_OF_TEXT, MOST_OF_TEXT) if is_text else (least, MOST_ENLARGED)
    limits = f"max-width:{pixels * most:.0f}px" + (f";min-width:{pixels * least:.0f}px" if least else "")
    return Markup(
        f'<svg viewBox="0 0 {width:g} {height:g}" style="{limits}" '
        f'role="img" aria-label="{escape(printed(label))}">{body.strip()}'
    )


_TAG = re.compile(r"<[^>]*>")
_LONG_NUMBER = re.compile(r"\d+\.\d{3,}")


def _tidied(tag: str) -> str:
    """A tag with short numbers, the page's fonts and the page's colours; what is between tags is the reader's."""
    if tag.startswith("</"):
        return tag
    if "font" in tag or "rotate" in tag:
        tag = re.sub(r"\s*font-family:[^;\"]*;?", "", tag)
        tag = re.sub(r' transform="rotate\(-0 [^"]*\)"', "", tag)
    tag = _LONG_NUMBER.sub(lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), tag)
    if "#" in tag:
        tag = re.sub(r"#[0-9a-f]{6}\b", lambda colour: _THEMED.get(colour[0], colour[0]), tag)
        tag = tag.replace("xlink:href", "href")
    if " style=" in tag:
        tag = re.sub(r' style="[^"]*"', lambda style: style[0].replace(": ", ":").replace("; ", ";"), tag)
    return tag


_NUMBER = r"-?[\d.]+"
_CELL = re.compile(
    rf'<path d="M ({_NUMBER}) ({_NUMBER}) L ({_NUMBER}) \2 L \3 ({_NUMBER}) L \1 \4 L \1 \2 "([^>]*)/>'
)
_BAR_CELL = re.compile(
    rf'<path d="M ({_NUMBER}) ({_NUMBER}) L \1 ({_NUMBER}) L ({_NUMBER}) \3 L \4 \2 L \1 \2 "([^>]*)/>'
)
"""The same, drawn the other way around: the steps of a colour bar."""
_CELLS = re.compile(r'(?:<path d="M [^>]*/>){2,}')


def _merged(run: str) -> str:
    """Neighbouring cells as one path for each colour, which makes a large grid ten times smaller."""
    cells = _CELL.findall(run)
    if _CELL.sub("", run):  # something else is among them
        return run
    if "stroke" not in run and (counted := _counted(cells)):
        return counted
    paths: dict[str, list[str]] = {}
    for left, top, right, bottom, style in cells:
        paths.setdefault(style, []).append(f"M{left} {top}H{right}V{bottom}H{left}z")
    return "".join(f'<path d="{"".join(shapes)}"{style}/>' for style, shapes in paths.items())


def _counted(cells: list[tuple[str, ...]]) -> str:
    """Cells of the same size, in whole numbers of cells, which is shorter still; nothing where sizes differ."""
    corners = np.array([cell[:4] for cell in cells], dtype=float)  # (cell, left top right bottom)
    start, end = corners[:, :2].min(0), corners[:, 2:].max(0)
    size = (end - start) / np.round((end - start) / np.median(corners[:, 2:] - corners[:, :2], axis=0))
    places = np.round((corners[:, :2] - start) / size).astype(int)
    if np.abs(start + places * size - corners[:, :2]).max() > 0.02:
        return ""
    runs: dict[str, list[list[int]]] = {}  # column, row and length by style
    for (column, row), (*_, style) in zip(places.tolist(), cells, strict=True):
        same = runs.setdefault(re.sub(r' clip-path="[^"]*"', "", style), [])
        if same and same[-1][1] == row and same[-1][0] + same[-1][2] == column:
            same[-1][2] += 1
        else:
            same.append([column, row, 1])
    paths = "".join(
        f'<path d="{"".join(f"M{column} {row}h{length}v1h-{length}z" for column, row, length in same)}"{style}/>'
        for style, same in runs.items()
    )
    return f'<g transform="matrix({size[0]:.4g} 0 0 {size[1]:.4g} {start[0]:g} {start[1]:g})">{paths}</g>'


def _own_ids(body: str) -> str:
    """Ids that are used get short names that the page can make its own, the others go."""
    used = dict.fromkeys(re.findall(r"url\(#([^)]+)\)", body) + re.findall(r'href="#([^"]+)"', body))
    names = {name: f"{OWN_ID}{number}" for number, name in enumerate(used)}

    def own(tag: str) -> str:
        if "#" in tag:
            tag = re.sub(r"url\(#([^)]+)\)", lambda at: f"url(#{names[at[1]]})", tag)
            tag = re.sub(r'href="#([^"]+)"', lambda at: f'href="#{names[at[1]]}"', tag)
        if " id=" not in tag:
            return tag
        return re.sub(r' id="([^"]*)"', lambda at: f' id="{names[at[1]]}"' if at[1] in names else "", tag)

    return _TAG.sub(lambda tag: own(tag[0]), body)


def _box(opening: str) -> tuple[float, float]:
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', opening)
    if found is None:
        raise ValueError("matplotlib wrote an SVG without a viewBox")
    return float(found[1]), float(found[2])
