"""A head at work: a sentence, the word that asks, and lines to the words its head looks at."""

import unicodedata
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from statistics import mean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path

from headscope.atlas import Example
from headscope.errors import OptionError
from headscope.facts.description import direction_name
from headscope.facts.sentences import LEAST_DRAWN, Sentence
from headscope.facts.wording import printed
from headscope.figures.style.colours import ACCENT, INK, MUTED, PAPER, SERIES
from headscope.figures.style.theme import SMALL_SIZE, axes, short, size_in_points, text_width, title, write

ASKED = ("query", "looked at")
"""Roles of the word that a probe asks about."""
ROLE_COLOURS = {**dict.fromkeys(ASKED, ACCENT), "found": SERIES[2], "right": SERIES[2], "guess": SERIES[1]}

LEAST_WRITTEN = 0.05  # attention below this has no number, unless the word matters
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
    if ax is None:
        width, height = arcs_size(example)
        ax = axes(None, size=(width, height + TITLE_ROOM / 72))
        ax.set_position((0, 0, 1, height / (height + TITLE_ROOM / 72)))
    way = direction_name(example.direction)
    title(ax, printed(f"Head {example.head} at work: {example.label}, {way}"))
    draw_arcs(ax, Sentence.of_example(example))
    return ax


def draw_arcs(ax: Axes, sentence: Sentence) -> None:
    """The words of a sentence in a line, and an arc for every look."""
    line = lay_out(sentence)
    width, height = size_in_points(ax)
    scale = min(1.0, width / line.width)
    ax.set_xlim(0, max(line.width, width / scale))
    ax.set_ylim(-BELOW, max(height / scale - BELOW, BELOW))
    ax.set_axis_off()
    weights = _weights(sentence)
    for place in line.places:
        _word(ax, sentence, place, weights, scale)
    _arcs(ax, sentence, line, scale)


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


def arcs_size(shown: Sentence | Example) -> tuple[float, float]:
    """Inches that the picture of a sentence, or of an example, takes without a title."""
    sentence = Sentence.of_example(shown) if isinstance(shown, Example) else shown
    line = lay_out(sentence)
    return line.width / 72, (BELOW + _highest(line, sentence) + ARROW) / 72


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


def lay_out(shown: Sentence | Example, *, room: float = MOST_WIDTH) -> Line:
    """The sentence in one line of at most `room` points, or as much of it as fits around what matters.

    A line that is too long even without its less important words is returned as it is; whoever draws it makes the
    letters smaller.
    """
    sentence = Sentence.of_example(shown) if isinstance(shown, Example) else shown
    words = range(len(sentence.words))
    line = _line(sentence, words)
    if line.width <= room:
        return line
    for wanted in _what_matters(sentence):
        kept = set(wanted)
        line = _line(sentence, kept)
        if line.width > room:
            continue
        for word in sorted(words, key=lambda word: min(abs(word - other) for other in wanted)):
            longer = _line(sentence, kept | {word})
            if longer.width > room:
                break
            kept, line = kept | {word}, longer
        return line
    return line


def _what_matters(sentence: Sentence) -> Iterator[set[int]]:
    """Words that an excerpt must show: first all that matter, then fewer and fewer."""
    core = {word for look in sentence.looks[:1] for word in (look.asks, look.target)} or {0}
    strong = {word for look in sentence.looks if look.weight >= MANY for word in (look.asks, look.target)}
    right = [word for word, role in sentence.roles.items() if role == "right"]
    yield core | set(right) | strong
    yield core | set(right)
    yield core | set(sorted(right, key=lambda word: min(abs(word - other) for other in core))[:1])
    yield core


def _line(sentence: Sentence, shown: Container[int]) -> Line:
    """Every shown word alone, and every run of hidden ones as one gap; a run of one is as good as shown."""
    weights = _weights(sentence)
    groups: list[tuple[int, ...]] = []
    for is_shown, words in groupby(range(len(sentence.words)), key=shown.__contains__):
        run = tuple(words)
        groups += [(word,) for word in run] if is_shown else [run]
    parts = []
    for group in groups:
        text = short(printed(sentence.words[group[0]])) if len(group) == 1 else "…"
        below = _below(sentence, weights, group[0]) if len(group) == 1 else [f"{len(group)} words"]
        widths = [text_width(text, WORD_SIZE), *(text_width(label, SMALL_SIZE) for label in below)]
        parts.append((group, text, max(widths)))
    total = sum(width for _, _, width in parts) + GAP * (len(parts) + 1)
    from_right = _is_right_to_left(sentence.words)
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


def _weights(sentence: Sentence) -> dict[int, float]:
    """The attention that is written below a word: what it gets, or where one word gets all looks, what it gives."""
    targets = {look.target for look in sentence.looks}
    is_inward = len(targets) == 1 and len(sentence.looks) > 1
    weights: dict[int, float] = {}
    for look in sentence.looks:
        word = look.asks if is_inward else look.target
        weights[word] = max(weights.get(word, 0.0), look.weight)
    return weights


def _below(sentence: Sentence, weights: dict[int, float], word: int) -> tuple[str, str]:
    """The attention and the role that are written below a word."""
    role, weight = sentence.roles.get(word, ""), weights.get(word, 0.0)
    is_written = weight >= LEAST_WRITTEN or role in ("found", "guess", "right")
    return f"{weight:.0%}" if is_written else "", role


def _word(ax: Axes, sentence: Sentence, place: Place, weights: dict[int, float], scale: float) -> None:
    """A word in its box, and below it the attention and the role; or the gap where words were left out."""
    put = partial(write, ax, place.x, ha="center", va="baseline")
    large, small = WORD_SIZE * scale, SMALL_SIZE * scale
    if place.is_gap:
        put(-11, place.text, size=large, color=MUTED)
        put(-21.5, f"{len(place.words)} words", size=small, color=MUTED)
        return
    number, role = _below(sentence, weights, place.words[0])
    colour = ROLE_COLOURS.get(role, INK)
    is_filled = role in (*ASKED, "found", "guess")
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
    share_colour, weight = (colour, "bold") if role not in ("", *ASKED) else (MUTED, "normal")
    put(-11, place.text, size=large, color=PAPER if is_filled else INK)
    put(-23, number, size=small, color=share_colour, fontweight=weight)
    put(-31, role, size=small, color=colour)


def _arcs(ax: Axes, sentence: Sentence, line: Line, scale: float) -> None:
    """The curves, the weakest first, so that the strongest lies on top, and that which stands for the sentence last."""
    longest = max(_spans(line, sentence), default=0.0) or 1.0
    top = min(ax.get_ylim()[1] - ARROW, _highest(line, sentence))
    first, *others = sentence.looks or (None,)
    for look in [*sorted(others, key=lambda look: look.weight), first]:
        if look is None or look.asks == look.target or not look.weight >= LEAST_DRAWN:
            continue
        start, end = line.of(look.asks), line.of(look.target)
        if start is None or end is None:
            continue
        roles = {sentence.roles.get(word, "") for word in (look.asks, look.target)} - {"", *ASKED}
        colour = ROLE_COLOURS[roles.pop()] if roles else ACCENT
        strength = min(look.weight, 1.0)
        alpha = 0.25 + 0.75 * strength**0.5
        height = top * (0.3 + 0.7 * abs(end.x - start.x) / longest)
        control = ARROW / 2 + height * 4 / 3  # of which a cubic curve reaches three quarters
        curve = Path(
            [(start.x, ARROW / 2), (start.x, control), (end.x, control), (end.x, ARROW / 2)],
            [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4],
        )
        width = (0.6 + 3.2 * strength) * scale
        line_style = {"facecolor": "none", "edgecolor": colour, "linewidth": width, "capstyle": "butt"}
        ax.add_patch(PathPatch(curve, alpha=alpha, zorder=2, **line_style))
        half = 1.4 + 1.8 * strength
        arrow = Path([(end.x - half, ARROW), (end.x + half, ARROW), (end.x, -0.5), (end.x - half, ARROW)])
        ax.add_patch(PathPatch(arrow, facecolor=colour, edgecolor="none", alpha=alpha, zorder=3))


def _highest(line: Line, sentence: Sentence) -> float:
    """How high the arcs of a line go, in points."""
    return min(95.0, 20.0 + 0.2 * max(_spans(line, sentence), default=0.0))


def _spans(line: Line, sentence: Sentence) -> list[float]:
    """How far each arc reaches, in points."""
    ends = [
        (line.of(look.asks), line.of(look.target)) for look in sentence.looks if look.weight >= LEAST_DRAWN
    ]
    return [abs(start.x - end.x) for start, end in ends if start is not None and end is not None]
