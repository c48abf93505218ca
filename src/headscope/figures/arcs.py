"""A head at work: a sentence, the word that asks, and lines to the words its head looks at."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path

from headscope.atlas import Example
from headscope.errors import OptionError
from headscope.facts.description import direction_name
from headscope.facts.wording import printed
from headscope.figures.colours import ACCENT, INK, MUTED, PAPER, SERIES
from headscope.figures.sentence import WORD_SIZE, Line, Place, lay_out, text_width
from headscope.figures.theme import SMALL_SIZE, TITLE_SIZE, axes, size_in_points

RIGHT, WRONG = SERIES[2], SERIES[1]

LEAST_DRAWN = 0.01  # attention below this has no line
LEAST_WRITTEN = 0.05  # and below this no number, unless the word matters
BELOW = 33.0  # points below the arcs: word, number and role
TITLE_ROOM = 24.0  # points
ARROW = 4.0  # points


def head_at_work(example: Example, *, ax: Axes | None = None) -> Axes:
    """The sentence of an example, with curves between the word that asks and the words its head attends to.

    The thicker and the stronger a curve, the more attention; arrows run from the word that looks to the one it
    looks at. Numbers below the words say how much that is, and words below the numbers what is what: *asks*, *found*
    (the head's choice, and right), *guess* (its choice, and wrong), *right* (what it should have chosen). Attention to
    special tokens is not shown, so the numbers need not add up to 1. Of a long sentence only the telling parts
    are shown.
    """
    _check(example)
    line = lay_out(example, below=lambda word: _width_below(example, word))
    if ax is None:
        width, height = arcs_size(example)
        ax = axes(None, size=(width, height + TITLE_ROOM / 72))
        ax.set_position((0, 0, 1, height / (height + TITLE_ROOM / 72)))
    width, height = size_in_points(ax)
    scale = min(1.0, width / line.width)
    ax.set_xlim(0, max(line.width, width / scale))
    ax.set_ylim(-BELOW, max(height / scale - BELOW, BELOW))
    ax.set_axis_off()
    title = f"Head {example.head} at work: {example.label}, {direction_name(example.direction)}"
    ax.set_title(printed(title), loc="left", fontsize=TITLE_SIZE, color=INK, parse_math=False)
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
        verdict = "right" if example.is_right else "wrong"
        title = f"{ax.get_title(loc='left')} ({verdict})"
        ax.set_title(title, loc="left", fontsize=TITLE_SIZE, color=INK, parse_math=False)
    return figure


def arcs_size(example: Example) -> tuple[float, float]:
    """Inches that the picture of an example takes without a title."""
    line = lay_out(example, below=lambda word: _width_below(example, word))
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


def _role(example: Example, word: int) -> tuple[str, str]:
    """What a word is in the example, and its colour."""
    if word == example.asking:
        return "asks", ACCENT
    if word == example.guess:
        return ("found", RIGHT) if example.is_right else ("guess", WRONG)
    return ("right", RIGHT) if word in example.right else ("", INK)


def _number(example: Example, word: int) -> str:
    """The attention that is written below a word."""
    role, _ = _role(example, word)
    weight = example.weights[word]
    return f"{weight:.0%}" if weight >= LEAST_WRITTEN or role in ("found", "guess", "right") else ""


def _width_below(example: Example, word: int) -> float:
    role, _ = _role(example, word)
    return max(text_width(text, SMALL_SIZE) for text in (role, _number(example, word)))


def _word(ax: Axes, example: Example, place: Place, scale: float) -> None:
    def write(y: float, text: str, size: float, colour: str, *, bold: bool = False) -> None:
        ax.text(
            place.x,
            y,
            text,
            fontsize=size * scale,
            color=colour,
            ha="center",
            va="baseline",
            fontweight="bold" if bold else "normal",
            parse_math=False,
            in_layout=False,  # asking for its size would need a font that has its letters
        )

    if place.is_gap:
        write(-11, place.text, WORD_SIZE, MUTED)
        write(-21.5, f"{len(place.words)} words", SMALL_SIZE, MUTED)
        return
    role, colour = _role(example, place.words[0])
    if role:
        _box(ax, place, colour, filled=role in ("asks", "found", "guess"), scale=scale)
    write(-11, place.text, WORD_SIZE, PAPER if role in ("asks", "found", "guess") else INK)
    write(
        -23,
        _number(example, place.words[0]),
        SMALL_SIZE,
        MUTED if role in ("", "asks") else colour,
        bold=role not in ("", "asks"),
    )
    write(-31, role, SMALL_SIZE, colour)


def _box(ax: Axes, place: Place, colour: str, *, filled: bool, scale: float) -> None:
    width = text_width(place.text, WORD_SIZE) + 1
    ax.add_patch(
        FancyBboxPatch(
            (place.x - width / 2, -13),
            width,
            10,
            boxstyle="round,pad=1.5,rounding_size=2",
            facecolor=colour if filled else "none",
            edgecolor=colour,
            linewidth=1.0 * scale,
            zorder=1,
        )
    )


def _arcs(ax: Axes, example: Example, line: Line, scale: float) -> None:
    """The curves, the weakest first, so that the strongest lies on top."""
    asking = line.of(example.asking)
    if asking is None:  # never left out
        return
    longest = max(_spans(line, example), default=0.0) or 1.0
    top = min(ax.get_ylim()[1] - ARROW, _highest(line, example))
    inward = example.is_inward
    for word in sorted(
        range(len(example.words)), key=lambda word: (word == example.guess, example.weights[word])
    ):
        place, weight = line.of(word), example.weights[word]
        if place is None or word == example.asking or not weight >= LEAST_DRAWN:
            continue
        role, colour = _role(example, word)
        strength = min(weight, 1.0)
        height = top * (0.3 + 0.7 * abs(place.x - asking.x) / longest)
        ax.add_patch(
            PathPatch(
                _curve(asking.x, place.x, height),
                facecolor="none",
                edgecolor=colour if role else ACCENT,
                linewidth=(0.6 + 3.2 * strength) * scale,
                alpha=0.25 + 0.75 * strength**0.5,
                capstyle="butt",
                zorder=2,
            )
        )
        end = asking.x if inward else place.x
        _arrow(ax, end, colour if role else ACCENT, strength)


def _curve(start: float, end: float, height: float) -> Path:
    control = ARROW / 2 + height * 4 / 3  # a cubic curve reaches three quarters of the way to its controls
    return Path(
        [(start, ARROW / 2), (start, control), (end, control), (end, ARROW / 2)],
        [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4],
    )


def _arrow(ax: Axes, x: float, colour: str, strength: float) -> None:
    half = 1.4 + 1.8 * strength
    shape = [(x - half, ARROW), (x + half, ARROW), (x, -0.5), (x - half, ARROW)]
    ax.add_patch(
        PathPatch(
            Path(shape), facecolor=colour, edgecolor="none", alpha=0.25 + 0.75 * strength**0.5, zorder=3
        )
    )


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
