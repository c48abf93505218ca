"""A head at work: a sentence, the word that asks, and lines to the words its head looks at."""

import unicodedata
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import mean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path

from headscope.atlas import Example
from headscope.errors import OptionError
from headscope.facts.description import direction_name
from headscope.facts.wording import printed
from headscope.figures.colours import ACCENT, INK, MUTED, PAPER, SERIES
from headscope.figures.theme import SMALL_SIZE, axes, short, size_in_points, text_width, title, write

RIGHT, WRONG = SERIES[2], SERIES[1]

LEAST_DRAWN = 0.01  # attention below this has no line
LEAST_WRITTEN = 0.05  # and below this no number, unless the word matters
BELOW = 33.0  # points below the arcs: word, number and role
TITLE_ROOM = 24.0  # points
ARROW = 4.0  # points

WORD_SIZE = 9.5  # points
GAP = 5.5  # points between two words
MOST_WIDTH = 700.0  # points that a line may take
MANY = 0.1  # attention that makes a word worth showing in an excerpt


def head_at_work(example: Example, *, ax: Axes | None = None) -> Axes:
    """The sentence of an example, with curves between the word that asks and the words its head attends to.

    The thicker and the stronger a curve, the more attention; arrows run from the word that looks to the one it
    looks at. Numbers below the words say how much that is, and words below the numbers what is what: *asks*, *found*
    (the head's choice, and right), *guess* (its choice, and wrong), *right* (what it should have chosen). Attention to
    special tokens is not shown, so the numbers need not add up to 1. Of a long sentence only the telling parts
    are shown.
    """
    _check(example)
    line = lay_out(example)
    if ax is None:
        width, height = arcs_size(example)
        ax = axes(None, size=(width, height + TITLE_ROOM / 72))
        ax.set_position((0, 0, 1, height / (height + TITLE_ROOM / 72)))
    width, height = size_in_points(ax)
    scale = min(1.0, width / line.width)
    ax.set_xlim(0, max(line.width, width / scale))
    ax.set_ylim(-BELOW, max(height / scale - BELOW, BELOW))
    ax.set_axis_off()
    way = direction_name(example.direction)
    title(ax, printed(f"Head {example.head} at work: {example.label}, {way}"))
    for place in line.places:
        _word(ax, example, place, scale)
    _arcs(ax, example, line, scale)
    return ax


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
        title(ax, f"{ax.get_title(loc='left')} ({'right' if example.is_right else 'wrong'})")
    return figure


def arcs_size(example: Example) -> tuple[float, float]:
    """Inches that the picture of an example takes without a title."""
    line = lay_out(example)
    return line.width / 72, (BELOW + _highest(line, example) + ARROW) / 72


def _check(example: Example) -> None:
    count = len(example.words)
    if len(example.weights) != count:
        raise OptionError(
            f"the example {example.name!r} has {count} words and {len(example.weights)} weights; it needs one a word"
        )
    outside = [word for word in (example.asking, example.guess, *example.right) if not 0 <= word < count]
    if outside:
        raise OptionError(
            f"the example {example.name!r} has {count} words, counted from 0, and names {outside[0]}"
        )


@dataclass(frozen=True)
class Place:
    """A word in the line, or a gap where words were left out."""

    words: tuple[int, ...]
    """The index of the word; of all that were left out where this is a gap."""
    text: str
    x: float
    """Its middle, in points from the left."""
    width: float

    @property
    def is_gap(self) -> bool:
        """True where words were left out, which are never few enough to be one."""
        return len(self.words) > 1


@dataclass(frozen=True)
class Line:
    """The words of a sentence, side by side."""

    places: tuple[Place, ...]
    width: float  # points

    def of(self, word: int) -> Place | None:
        """Where a word stands; None when it was left out."""
        return next((place for place in self.places if not place.is_gap and place.words[0] == word), None)


def lay_out(example: Example, *, room: float = MOST_WIDTH) -> Line:
    """The sentence in one line of at most `room` points, or as much of it as fits around what matters.

    A line that is too long even without its less important words is returned as it is; whoever draws it makes the
    letters smaller.
    """
    words = range(len(example.words))
    line = _line(example, words)
    if line.width <= room:
        return line
    for wanted in _what_matters(example):
        shown = set(wanted)
        line = _line(example, shown)
        if line.width > room:
            continue
        for word in sorted(words, key=lambda word: min(abs(word - other) for other in wanted)):
            longer = _line(example, shown | {word})
            if longer.width > room:
                break
            shown, line = shown | {word}, longer
        return line
    return line


def _what_matters(example: Example) -> Iterator[set[int]]:
    """Words that an excerpt must show: first all that matter, then fewer and fewer."""
    core, right = {example.asking, example.guess}, set(example.right)
    yield core | right | {word for word, weight in enumerate(example.weights) if weight >= MANY}
    yield core | right
    yield core | set(sorted(right, key=lambda word: abs(word - example.asking))[:1])
    yield core


def _line(example: Example, shown: Container[int]) -> Line:
    """Every shown word alone, and every run of hidden ones as one gap; a run of one is as good as shown."""
    groups: list[tuple[int, ...]] = []
    for is_shown, words in groupby(range(len(example.words)), key=shown.__contains__):
        run = tuple(words)
        groups += [(word,) for word in run] if is_shown else [run]
    parts = []
    for group in groups:
        text = short(printed(example.words[group[0]])) if len(group) == 1 else "…"
        below = _below(example, group[0]) if len(group) == 1 else [f"{len(group)} words"]
        widths = [text_width(text, WORD_SIZE), *(text_width(label, SMALL_SIZE) for label in below)]
        parts.append((group, text, max(widths)))
    total = sum(width for _, _, width in parts) + GAP * (len(parts) + 1)
    from_right = _is_right_to_left(example.words)
    places, left = [], GAP
    for group, text, width in parts:
        x = left + width / 2
        places.append(Place(group, text, total - x if from_right else x, width))
        left += width + GAP
    return Line(tuple(places), total)


def _is_right_to_left(words: Sequence[str]) -> bool:
    """Whether most letters belong to scripts that run from right to left."""
    kinds = [unicodedata.bidirectional(letter) for word in words for letter in word]
    strong = [kind in ("R", "AL") for kind in kinds if kind in ("L", "R", "AL")]
    return bool(strong) and mean(strong) > 0.5


def _role(example: Example, word: int) -> tuple[str, str]:
    """What a word is in the example, and its colour."""
    if word == example.asking:
        return "asks", ACCENT
    if word == example.guess:
        return ("found", RIGHT) if example.is_right else ("guess", WRONG)
    return ("right", RIGHT) if word in example.right else ("", INK)


def _below(example: Example, word: int) -> tuple[str, str]:
    """The attention and the role that are written below a word."""
    role, _ = _role(example, word)
    weight = example.weights[word]
    is_written = weight >= LEAST_WRITTEN or role in ("found", "guess", "right")
    return f"{weight:.0%}" if is_written else "", role


def _word(ax: Axes, example: Example, place: Place, scale: float) -> None:
    def put(y: float, text: str, size: float, color: str, weight: str = "normal") -> None:
        write(
            ax,
            place.x,
            y,
            text,
            size=size * scale,
            color=color,
            ha="center",
            va="baseline",
            fontweight=weight,
        )

    if place.is_gap:
        put(-11, place.text, WORD_SIZE, MUTED)
        put(-21.5, f"{len(place.words)} words", SMALL_SIZE, MUTED)
        return
    role, colour = _role(example, place.words[0])
    number, _ = _below(example, place.words[0])
    is_filled = role in ("asks", "found", "guess")
    if role:
        width = text_width(place.text, WORD_SIZE) + 1
        box = FancyBboxPatch(
            (place.x - width / 2, -13),
            width,
            10,
            boxstyle="round,pad=1.5,rounding_size=2",
            facecolor=colour if is_filled else "none",
            edgecolor=colour,
            linewidth=1.0 * scale,
            zorder=1,
        )
        ax.add_patch(box)
    is_target = role not in ("", "asks")
    put(-11, place.text, WORD_SIZE, PAPER if is_filled else INK)
    put(-23, number, SMALL_SIZE, colour if is_target else MUTED, "bold" if is_target else "normal")
    put(-31, role, SMALL_SIZE, colour)


def _arcs(ax: Axes, example: Example, line: Line, scale: float) -> None:
    """The curves, the weakest first, so that the strongest lies on top."""
    asking = line.of(example.asking)
    if asking is None:  # never left out
        return
    longest = max(_spans(line, example), default=0.0) or 1.0
    top = min(ax.get_ylim()[1] - ARROW, _highest(line, example))
    for word in sorted(
        range(len(example.words)), key=lambda word: (word == example.guess, example.weights[word])
    ):
        place, weight = line.of(word), example.weights[word]
        if place is None or word == example.asking or not weight >= LEAST_DRAWN:
            continue
        role, colour = _role(example, word)
        colour = colour if role else ACCENT
        strength = min(weight, 1.0)
        alpha = 0.25 + 0.75 * strength**0.5
        height = top * (0.3 + 0.7 * abs(place.x - asking.x) / longest)
        control = (
            ARROW / 2 + height * 4 / 3
        )  # a cubic curve reaches three quarters of the way to its controls
        curve = Path(
            [(asking.x, ARROW / 2), (asking.x, control), (place.x, control), (place.x, ARROW / 2)],
            [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4],
        )
        width = (0.6 + 3.2 * strength) * scale
        looks = {"facecolor": "none", "edgecolor": colour, "linewidth": width, "capstyle": "butt"}
        ax.add_patch(PathPatch(curve, alpha=alpha, zorder=2, **looks))
        end, half = asking.x if example.is_inward else place.x, 1.4 + 1.8 * strength
        arrow = Path([(end - half, ARROW), (end + half, ARROW), (end, -0.5), (end - half, ARROW)])
        ax.add_patch(PathPatch(arrow, facecolor=colour, edgecolor="none", alpha=alpha, zorder=3))


def _highest(line: Line, example: Example) -> float:
    """How high the arcs of a line go, in points."""
    return min(95.0, 20.0 + 0.2 * max(_spans(line, example), default=0.0))


def _spans(line: Line, example: Example) -> list[float]:
    """How far each arc reaches, in points."""
    asking = line.of(example.asking)
    return [
        abs(place.x - asking.x)
        for place in line.places
        if asking is not None and not place.is_gap and example.weights[place.words[0]] >= LEAST_DRAWN
    ]
