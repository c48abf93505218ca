"""Best heads beside their baselines: a dot a label, with its interval."""

from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.facts.analyses.probes import best_heads, check_probed
from headscope.facts.description import ALL, Description, description_of
from headscope.facts.scores import HeadScore, Score
from headscope.facts.wording import printed
from headscope.figures.style.colours import ACCENT, INK, MUTED, RULE, SERIES
from headscope.figures.style.theme import axes, dress, legend, write

ROW = 0.22  # inches a row
MOST_ROWS = 24
_LOOKS = (("D", MUTED), ("s", SERIES[4]), ("^", SERIES[1]))
"""Marker and colour of the baselines, in turn."""


def relation_accuracy(
    atlas: Atlas,
    probe: str = "dependency",
    *,
    stack: str | None = None,
    most: int = MOST_ROWS,
    ax: Axes | None = None,
) -> Axes:
    """The best head of every relation beside the baselines, the most accurate first.

    In one glance what Table 1 of Clark et al. (2019) tells. Bars are 95 % intervals. `probe` is dependency (a row a
    relation), coreference (a row a mention class), relations (a row a role) or parser (a row a parser). Of many rows
    the `most` frequent are shown, and those with few cases only for want of others.
    """
    check_probed(atlas, probe)
    rows = shown_rows(drawn_rows(atlas, probe, stack=stack), most=most)
    if not rows:
        raise AtlasError(f"the {probe!r} probe of this atlas has no row with a score to draw")
    ax = axes(ax, size=dots_size(len(rows)))
    return _draw(ax, description_of(atlas, probe), rows)


def drawn_rows(atlas: Atlas, probe: str, *, stack: str | None = None) -> list[HeadScore]:
    """The rows of a probe that go onto one scale: those in units of their own stay in the tables."""
    return [row for row in best_heads(atlas, probe, stack=stack) if not row.score.unit]


def shown_rows(rows: Sequence[HeadScore], *, most: int = MOST_ROWS) -> list[HeadScore]:
    """What a chart has room for: the row over all first, then the best of the most frequent."""
    labelled = [row for row in rows if row.label != ALL]
    enough = [row for row in labelled if not row.has_few_cases] or labelled
    frequent = sorted(enough, key=lambda row: -(row.cases or 0))[:most]
    ranked = sorted(frequent, key=lambda row: -row.score.value)
    return [row for row in rows if row.label == ALL] + ranked


def dots_size(rows: int) -> tuple[float, float]:
    """Inches for so many rows, axis and legend."""
    return 6.6, ROW * rows + 1.0


def _draw(ax: Axes, described: Description, rows: Sequence[HeadScore]) -> Axes:
    places = np.arange(len(rows))
    ax.hlines(places, 0, 1, color=RULE, linewidth=0.6, zorder=0, transform=ax.get_yaxis_transform())
    baselines: dict[str, list[tuple[int, Score]]] = {}
    for place, row in enumerate(rows):
        for baseline in row.baselines:
            baselines.setdefault(baseline.name, []).append((place, baseline))
    for (name, scores), (marker, colour) in zip(baselines.items(), cycle(_LOOKS), strict=False):
        _dots(ax, scores, label=name, marker=marker, colour=colour, hollow=True)
    controls = [(place, row.score) for place, row in enumerate(rows) if row.is_baseline]
    scores = [(place, row.score) for place, row in enumerate(rows) if not row.is_baseline]
    if controls:
        _dots(ax, controls, label="for comparison", marker="D", colour=MUTED, hollow=True)
    if scores:
        label = "with the model's attention" if controls else "best head"
        _dots(ax, scores, label=label, marker="o", colour=ACCENT, hollow=False)
    dress(ax, title=described.chart or described.heading, x=described.value_name, y="")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_yticks(places, [printed(described.row_name(row.label)) for row in rows], parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    _scale(ax, [score for row in rows for score in (row.score, *row.baselines)])
    _beside(ax, rows)
    if baselines or controls:
        legend(ax, columns=4)
    return ax


def _scale(ax: Axes, scores: Sequence[Score]) -> None:
    """From 0 to 1, or less where nothing comes near 1; with a line at 0 where something is below it."""
    lowest, highest = min(score.lowest for score in scores), max(score.highest for score in scores)
    if lowest < 0:
        ax.axvline(0, color=MUTED, linewidth=0.8, linestyle="--", zorder=1)
        ax.margins(x=0.04)
    else:
        ax.set_xlim(0, 1.0 if highest > 0.5 else highest * 1.08 or 1.0)


def _dots(
    ax: Axes, scores: Sequence[tuple[int, Score]], *, label: str, marker: str, colour: str, hollow: bool
) -> None:
    known = [(place, *ends) for place, score in scores if (ends := score.interval) is not None]
    if known:
        ax.hlines(
            *zip(*known, strict=True),
            color=colour,
            linewidth=1.0 if hollow else 2.0,
            alpha=0.7 if hollow else 0.45,
            zorder=2 if hollow else 4,
        )
    ax.plot(
        [score.value for _, score in scores],
        [place for place, _ in scores],
        marker,
        markersize=4.2 if hollow else 5.0,
        markerfacecolor="none" if hollow else colour,
        markeredgecolor=colour,
        markeredgewidth=1.1,
        label=label,
        clip_on=False,
        zorder=3 if hollow else 5,
    )


def _beside(ax: Axes, rows: Sequence[HeadScore]) -> None:
    """The heads and the numbers of cases, to the right of the plot."""
    columns = {
        "head": [str(row.head or "") for row in rows],
        "cases": ["" if row.cases is None else f"{row.cases:,}" for row in rows],
    }
    shown = {heading: texts for heading, texts in columns.items() if any(texts)}
    at: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "ha": "right", "va": "center_baseline"}
    for number, (heading, texts) in enumerate(shown.items()):
        x = 1.08 + 0.1 * number
        for place, text in enumerate([heading, *texts]):
            write(ax, x, place - 1, text, color=INK if place else MUTED, in_layout=True, **at)
