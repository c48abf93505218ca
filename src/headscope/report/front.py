"""The first screen of the report: three findings, all heads at one glance, and one of them at work."""

import numpy as np
from markupsafe import Markup

from headscope import figures
from headscope.atlas import Atlas, Example
from headscope.facts.analyses.probes import best_heads
from headscope.facts.findings import Finding
from headscope.facts.headlines import headlines, most_telling
from headscope.facts.subject import Subject
from headscope.facts.vocabulary import slice_title
from headscope.figures.grid import grid_size
from headscope.figures.style.theme import short
from headscope.figures.texts.arcs import arcs_size
from headscope.figures.texts.maps import example_maps_size
from headscope.report.document import rendered
from headscope.report.pictures import Picture, stack_picture
from headscope.report.section import HeadLinks
from headscope.report.sections.at_work import example_picture
from headscope.types import HeadId

WIDEST = 8.6
"""Inches of a sentence that fit beside the grid."""
SENTENCES = 2


def first_screen(
    atlas: Atlas, findings: list[Finding], links: dict[str, HeadLinks], *, nothing: str
) -> Markup:
    """What a reader sees at once; `nothing` is said where no finding is clear enough to lead."""
    leading = headlines(findings)
    title, at_work = _at_work(atlas, leading)
    return rendered(
        "front.html",
        headlines=[(finding.topic, links[finding.stack].prose(finding.parts)) for finding in leading],
        nothing=nothing,
        grid=_grid(atlas),
        at_work_title=title,
        at_work=at_work,
        links=links[atlas.stacks[0]],
    )


def _grid(atlas: Atlas) -> Picture | None:
    """All heads, coloured by the share that tells them apart best."""
    telling = most_telling(atlas)
    if telling is None:
        return None
    best = telling.order()[0]
    spread = float(np.nanstd(telling.values))
    points = f"{100 * spread:.0f}" if spread >= 0.01 else f"{100 * spread:.1g}"
    told = f"{points} points of attention" if telling.is_share else f"{spread:.2g}"
    return stack_picture(
        Subject(atlas, telling.stack),
        figures.head_grid,
        telling.measure,
        select=telling.select,
        size=grid_size(*telling.values.shape),
        title=slice_title(atlas, telling),
        caption=f"In this the heads differ most (standard deviation {told}). Highest: head {best}.",
        is_wide=False,
    )


def _at_work(atlas: Atlas, leading: list[Finding]) -> tuple[str, list[Picture]]:
    """Sentences that show the heads at work that are farthest above what needs no attention, under a title.

    Maps of the heads of the headlines where no probe kept sentences.
    """
    for stack in atlas.stacks:
        subject = Subject(atlas, stack)
        found = [
            (row, example, described)
            for described in subject.described
            if described.value
            for row in best_heads(atlas, described.name, stack=stack)
            for example in atlas.examples(described.name, stack=stack)
            if row.stands_out and example.is_whole and example.is_right
            if (example.label, example.head) == (row.label, row.head)
        ]
        if found:
            found.sort(key=lambda triple: (_is_plain(triple[1]), -triple[0].margin))
            shown = [
                example_picture(described, example, is_clear=True)
                for _, example, described in found[:SENTENCES]
            ]
            return "Heads at work", shown
        named: dict[str, HeadId] = {}
        for finding in leading:
            if finding.stack == stack and finding.heads:
                topic = finding.topic.split(" and ")[0]
                name = topic if topic not in named else short(finding.text.split(":")[0])
                named[name] = finding.heads[0]
        if subject.has("example_map") and named:
            maps = stack_picture(
                subject,
                figures.example_maps,
                named,
                size=example_maps_size(len(named)),
                title="",
                caption="Queries run down, keys across; the stronger the colour, the more attention.",
            )
            return "Heads on one text", [maps]
    return "", []


def _is_plain(example: Example) -> bool:
    """Whether an example shows little: a word and its neighbour, or a sentence that does not fit."""
    return abs(example.asking - example.guess) < 2 or arcs_size(example)[0] > WIDEST
