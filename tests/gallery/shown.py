"""What a reader sees of a surface, as text that a diff can be read of."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

MOST_NUMBERS = 6
"""Numbers of a list that are shown one by one; of longer ones how many there are, and from where to where they go."""
DIGITS = 3


class TextFile(SingleFileSnapshotExtension):
    """A snapshot is one text file."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


def number(value: float) -> str:
    """A number in three digits."""
    if not math.isfinite(value):
        return str(value)
    return str(int(value)) if float(value).is_integer() else f"{value + 0:.{DIGITS}g}".replace("-0.0 ", "0 ")


def masked(text: str) -> str:
    """Text that a model computed, without what differs between machines: numbers, and the tokens of a ranking."""
    text = re.sub(r"(?m)^(\s*(?:raises|lowers) ).*", r"\1…", text)
    text = re.sub(r"[-\N{MINUS SIGN}+]?\d[\d,]*(\.\d+)?(e-?\d+)?", "#", text)
    return "\n".join(re.sub(r" {2,}", "  ", line).rstrip() for line in text.splitlines())


def chapter(title: str, *parts: str) -> str:
    """Some text below a heading."""
    return "\n".join([f"===== {title}", *(part.rstrip("\n") for part in parts), ""])


def outline(value: Any, indent: str = "") -> Iterator[str]:
    """Data as indented lines, a list's items in one line where they are plain; what is empty or false is left out."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if is_plain(inner):
                if not is_nothing(inner):
                    yield f"{indent}{key}: {plain(inner)}"
            elif inner:
                yield f"{indent}{key}:"
                yield from outline(inner, indent + "  ")
    else:
        for inner in value:
            if is_plain(inner):
                yield f"{indent}- {plain(inner)}"
            elif isinstance(inner, Mapping) and all(map(is_plain, inner.values())):
                there = {key: one for key, one in inner.items() if not is_nothing(one)}
                yield f"{indent}- {'; '.join(f'{key} {plain(one)}' for key, one in there.items())}"
            else:
                first, *rest = list(outline(inner, indent + "  ")) or [f"{indent}  "]
                yield f"{indent}- {first.strip()}"
                yield from rest


def is_nothing(value: Any) -> bool:
    """Whether data may leave it out; 0 is something."""
    return value is None or value is False or (isinstance(value, (str, list, tuple, dict)) and not value)


def is_plain(value: Any) -> bool:
    """Whether it takes one line."""
    if isinstance(value, Mapping):
        return not value
    if not isinstance(value, Sequence) or isinstance(value, str):
        return True
    return all(not isinstance(inner, (Mapping, list, tuple)) or is_numbers(inner) for inner in value)


def is_numbers(value: Any) -> bool:
    """Whether a list is one of numbers, in any number of dimensions."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(inner is None or is_numbers(inner) for inner in value)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def plain(value: Any) -> str:
    """A value in one line."""
    if isinstance(value, (list, tuple)):
        if is_numbers(value):
            return numbers(np.array(flat(value), dtype=float))
        return ", ".join(map(plain, value))
    if isinstance(value, float):
        return number(value)
    return str(value)


def flat(value: Any) -> list[float]:
    """The numbers of nested lists; what is missing is nan."""
    if isinstance(value, (list, tuple)):
        return [one for inner in value for one in flat(inner)]
    return [math.nan if value is None else float(value)]


def numbers(values: np.ndarray[Any, Any]) -> str:
    """Some numbers one by one; of many the first, the extremes, and how many are missing."""
    values = np.asarray(values, dtype=float).reshape(-1)
    if len(values) <= MOST_NUMBERS:
        return ", ".join(map(number, values.tolist()))
    there = values[np.isfinite(values)]
    missing = f", {len(values) - len(there)} missing" if len(there) < len(values) else ""
    if not len(there):
        return f"{len(values)} numbers{missing}"
    return (
        f"{len(values)} numbers from {number(there.min())} to {number(there.max())}, "
        f"the first {number(values[0])}{missing}"
    )


def printed_json(text: str) -> str:
    """What a command prints with --json, without the version."""
    told = json.loads(text)
    told.pop("headscope")
    return "\n".join(outline(told))


class Visible(HTMLParser):
    """The words of a page in the order of reading: headings, paragraphs, lists, tables, and names of pictures."""

    SILENT = ("script", "style", "svg", "head", "template")
    BREAKS = ("p", "div", "section", "figure", "figcaption", "caption", "tr", "table", "ul", "ol", "main", "summary",
              "details", "header", "footer", "nav", "dl", "dd", "dt", "br", "pre")  # fmt: skip

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = [""]
        self._silent: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if not self._silent and attributes.get("role") == "img":
            self._break(f"[picture: {attributes['aria-label']}]")
            self._break()
        if self._silent or tag in self.SILENT:
            self._silent += [tag] * (tag in self.SILENT)
        elif re.fullmatch("h[1-6]", tag):
            self._break("")
            self._break("#" * int(tag[1]) + " ")
        elif tag == "li":
            self._break("- ")
        elif tag in self.BREAKS:
            self._break()
        elif tag in ("td", "th") and self.lines[-1]:
            self.lines[-1] += " | "

    def handle_endtag(self, tag: str) -> None:
        if self._silent:
            if tag == self._silent[-1]:
                self._silent.pop()
        elif tag in (*self.BREAKS, "li") or re.fullmatch("h[1-6]", tag):
            self._break()

    def handle_data(self, data: str) -> None:
        if not self._silent:
            words = re.sub(r"\s+", " ", data)
            self.lines[-1] += words.lstrip() if not self.lines[-1] else words

    def _break(self, start: str = "") -> None:
        if self.lines[-1].strip() or start == "":
            self.lines.append(start)
        else:
            self.lines[-1] = start

    def __str__(self) -> str:
        kept = [line.strip() for line in self.lines]
        return "\n".join(
            line
            for place, line in enumerate(kept)
            if line or (place + 1 < len(kept) and kept[place + 1][:1] == "#")
        )


def visible(html: str) -> str:
    """The words of a page."""
    return str(Visible(html))


def figure(drawn: Axes | Figure) -> str:
    """Titles, labels, legends, notes and numbers of a picture."""
    whole = drawn if isinstance(drawn, Figure) else drawn.get_figure()
    assert isinstance(whole, Figure)
    lines = [f"figure: {text.get_text()}" for text in whole.texts if text.get_text()]
    for ax in whole.axes:
        lines += [line for line in axes(ax) if line]
    return "\n".join(lines)


def axes(ax: Axes) -> Iterator[str]:
    """One part of a picture, a line a thing."""
    yield "axes"
    yield from words(ax)
    yield from marks(ax)


def words(ax: Axes) -> Iterator[str]:
    """Titles, labels, legend and notes."""
    for name in ("title", "xlabel", "ylabel"):
        if text := getattr(ax, f"get_{name}")():
            yield f"  {name}: {one_line(text)}"
    for name, labels in (("x", ax.get_xticklabels()), ("y", ax.get_yticklabels())):
        ticks = [one_line(label.get_text()) for label in labels]
        if any(re.search("[A-Za-z]", tick) for tick in ticks):
            yield f"  {name} ticks: {' | '.join(ticks)}"
    if legend := ax.get_legend():
        yield f"  legend: {' | '.join(one_line(text.get_text()) for text in legend.get_texts())}"
    if notes := [one_line(text.get_text()) for text in ax.texts if text.get_text()]:
        yield f"  texts: {' | '.join(notes)}"


def marks(ax: Axes) -> Iterator[str]:
    """Lines, bars, images and points, as numbers."""
    for line in ax.lines:
        if not str(line.get_label()).startswith("_"):
            yield f"  line {one_line(str(line.get_label()))}: {along([line])}"
    if unnamed := [line for line in ax.lines if str(line.get_label()).startswith("_")]:
        yield f"  {len(unnamed)} lines without a name: {along(unnamed)}"
    for bars in ax.containers:
        if isinstance(bars, BarContainer):
            heights, widths = (
                np.array([getattr(bar, f"get_{way}")() for bar in bars]) for way in ("height", "width")
            )
            yield f"  bars {bars.get_label()}: heights {numbers(heights)}; widths {numbers(widths)}"
    for image in ax.images:
        yield f"  image: {cells(image)}"
    for collection in ax.collections:
        yield f"  {points(collection)}"


def along(lines: Sequence[Line2D]) -> str:
    """The numbers of some lines."""
    x, y = (
        np.concatenate([np.asarray(line.get_data()[way], dtype=float) for line in lines]) for way in (0, 1)
    )
    return f"x {numbers(x)}; y {numbers(y)}"


def cells(image: AxesImage) -> str:
    """The numbers behind an image."""
    array = image.get_array()
    assert array is not None
    return f"{' x '.join(map(str, array.shape))}: {numbers(np.ma.filled(array.astype(float), np.nan))}"


def points(collection: Collection) -> str:
    """How many marks there are, and the numbers behind their colours."""
    array = collection.get_array()
    coloured = "" if array is None else f"; {numbers(np.ma.filled(np.asarray(array, dtype=float), np.nan))}"
    places = np.asarray(collection.get_offsets())
    return f"{type(collection).__name__}: {len(places)} at {numbers(places[:, 1])}{coloured}"


def one_line(text: str) -> str:
    return " / ".join(text.split("\n"))
