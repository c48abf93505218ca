"""Layers x heads grids for the page."""

import re

import numpy as np
from matplotlib.axes import Axes

from headscope import figures
from headscope.facts.slices import HeadValues, Select, head_values
from headscope.facts.subject import Subject
from headscope.facts.vocabulary import slice_title
from headscope.facts.wording import amount, share
from headscope.figures.grid import grid_size
from headscope.report.pictures import Picture, picture
from headscope.types import HeadId


def grid(subject: Subject, measure: str, select: Select, where: str) -> Picture:
    """One number per head as a map; `where` says what the share of attention is given to."""
    picked = head_values(subject.atlas, measure, select=select, stack=subject.stack)

    def draw(ax: Axes) -> object:
        return figures.head_grid(subject.atlas, measure, select=select, stack=subject.stack, ax=ax)

    chosen = "-".join(str(label) for labels in picked.select.values() for label in labels)
    return picture(
        draw,
        size=grid_size(*picked.values.shape),
        title=slice_title(subject.atlas, picked),
        caption=f"The stronger the colour, {_much(picked, where)}.{extreme(picked)}",
        key=key_of(subject, f"{measure}-{chosen}"),
    )


def _much(picked: HeadValues, where: str) -> str:
    if picked.measure == "entropy":
        return "the more evenly the head looks; pale cells look at few tokens"
    if picked.is_signed:
        return "the farther from 0; blue is above it and orange below"
    if picked.is_accuracy:
        return "the more often the head is right"
    if picked.measure == "pattern_share":
        return "the more often the head's map shows the pattern"
    if picked.is_share and where:
        return f"the larger the share of a head's attention {where}"
    return "the larger the value"


def extreme(picked: HeadValues) -> str:
    """A sentence on the highest head, on the lowest where that is below 0, and on heads without a value."""
    order = picked.order()
    if not order:
        return " No head has a value."
    text = f" Highest: head {order[0]}, {_value(picked, order[0])}."
    if picked.is_signed:
        text += f" Lowest: head {order[-1]}, {_value(picked, order[-1])}."
    missing = int(np.isnan(picked.values).sum())
    return text + (f" Grey: no value ({missing} heads)." if missing else "")


def _value(picked: HeadValues, head: HeadId) -> str:
    value, error = picked.at(head)
    if picked.is_share:
        return share(value, error)
    return amount(value, error, units="" if picked.units == "1" else picked.units)


def key_of(subject: Subject, name: str) -> str:
    """An id that no other picture of the page has, safe whatever characters the names hold."""
    return re.sub(r"[^A-Za-z0-9-]", lambda other: f"_{ord(other[0]):x}_", f"{subject.stack}-{name}")
