"""A head's card as a picture: its sentences, and below them the sentence that shows it best, with arcs."""

from textwrap import wrap
from typing import Any

from matplotlib.figure import Figure

from headscope.facts.card import Card
from headscope.facts.wording import printed
from headscope.figures.style.colours import INK, MUTED, PAPER
from headscope.figures.style.theme import LABEL_SIZE, TITLE_SIZE
from headscope.figures.texts.arcs import arcs_size, draw_arcs

WIDTH = 6.6
"""Inches that a card has at least."""
LINE = 0.2
"""Inches of a line of text."""
LETTERS = 15.5
"""Characters that fit into an inch."""
MARGIN = 0.15


def head_card(card: Card) -> Figure:
    """What `headscope.card` says of a head, and the arcs of its best sentence where the atlas keeps one."""
    wide, high = (0.0, 0.0) if card.sentence is None else arcs_size(card.sentence)
    width = max(WIDTH, wide + 2 * MARGIN)
    lines = [
        line
        for text in card.sentences
        for line in wrap(printed(text), int((width - 2 * MARGIN) * LETTERS), subsequent_indent="   ")
    ]
    said = "" if card.sentence is None else printed(card.sentence.said)
    room = 2 * MARGIN + LINE * (1.5 + len(lines) + bool(said)) + high + (LINE if high else 0)
    figure = Figure(figsize=(width, room), facecolor=PAPER)
    top = room - MARGIN

    def write(text: str, size: float, colour: str, weight: str = "normal") -> None:
        nonlocal top
        style: dict[str, Any] = {"fontsize": size, "color": colour, "fontweight": weight, "va": "top"}
        figure.text(MARGIN / width, top / room, text, parse_math=False, **style)
        top -= LINE

    write(printed(card.title), TITLE_SIZE, INK, "bold")
    top -= LINE / 2
    for line in lines:
        write(line, LABEL_SIZE, INK)
    if card.sentence is not None:
        top -= LINE / 2 + high
        ax = figure.add_axes((MARGIN / width, top / room, wide / width, high / room))
        draw_arcs(ax, card.sentence)
        top -= LINE / 2
        write(said, LABEL_SIZE, MUTED)
    return figure
