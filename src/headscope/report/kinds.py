"""Kinds of heads on the page."""

from collections.abc import Callable
from typing import Any

import xarray as xr
from matplotlib.axes import Axes

from headscope import figures
from headscope.errors import AtlasError
from headscope.facts.findings.kinds import how_sure
from headscope.facts.subject import Subject
from headscope.facts.wording import share
from headscope.figures.maps import examples_size
from headscope.kinds import feature_map
from headscope.report.pictures import Picture, picture
from headscope.report.section import Section, Table

BOXES_SIZE = (9.0, 3.6)
LAYERS_SIZE = (6.4, 3.2)
MAP_SIZE = (5.4, 4.4)


def kinds_section(subject: Subject) -> Section:
    """What kinds there are, how sure that is, and their pictures."""
    facts = subject.derived["types"]["stacks"][subject.stack]
    rows = subject.atlas.table("types", stack=subject.stack)
    return Section(
        "kinds",
        "Kinds: heads sorted by where they look",
        "Heads sorted without a human by their 21 distance features, and named by what the centre of each kind looks "
        "like: where most of its attention goes. Near is less than a sixteenth of the text away, middle less than a "
        f"quarter, far beyond that. {how_sure(facts)}",
        _pictures(subject, len(rows)),
        [_table(rows), _numbers(facts)],
        [f"{note[0].upper()}{note[1:]}." for note in facts.get("notes", [])],
    )


def _numbers(facts: dict[str, Any]) -> Table:
    scores = facts["silhouettes"]
    recommended = str(facts["recommended_k"])
    return Table(
        f"Silhouette by number of kinds ({facts['method']}, seed {facts['seed']}); shown are {facts['k']} kinds, "
        f"recommended {recommended if facts['well_separated'] else 'none'}",
        ("Kinds", *scores),
        (("Silhouette", *("" if value is None else f"{value:.2f}" for value in scores.values())),),
        is_figures=True,
    )


def _table(rows: list[dict[str, Any]]) -> Table:
    groups = list(rows[0]["attention"])
    return Table(
        "The kinds; attention in per cent, and the shares published for BERT-large on SQuAD (Guan et al. 2020)",
        ("Kind", "Heads", "Share", "Published", *(group.capitalize() for group in groups)),
        tuple(
            (
                str(row["type"]),
                str(row["heads"]),
                share(row["share"]),
                "" if row["published"] is None else share(row["published"]),
                *(f"{100 * value:.0f}" for value in row["attention"].values()),
            )
            for row in rows
        ),
        is_figures=True,
    )


def _pictures(subject: Subject, kinds: int) -> list[Picture]:
    atlas, stack = subject.atlas, subject.stack
    found = [
        _wide(
            subject,
            "Kinds by layer",
            "How many heads of each kind every layer has.",
            LAYERS_SIZE,
            lambda ax: figures.kinds_by_layer(atlas, stack=stack, ax=ax),
        )
    ]
    if subject.has("example_map"):
        found.append(
            _wide(
                subject,
                "Typical heads of each kind",
                "Attention maps of the heads nearest to the centre of their kind, all of the same text; queries run "
                "down, keys across, and every map has its own scale. The colour is the square root of the weight.",
                examples_size(kinds),
                lambda ax: figures.kind_examples(atlas, stack=stack, ax=ax),
            )
        )
    found.append(
        _wide(
            subject,
            "Distance features by kind",
            "A box spans the middle half of a kind's heads, its bar is their median, dots are heads far from it. The "
            "last 16 features are windows of distance, from less than a sixteenth of the text to all of it.",
            BOXES_SIZE,
            lambda ax: figures.feature_boxes(atlas, stack=stack, ax=ax),
        )
    )
    try:
        places = feature_map(atlas, stack=stack)
    except AtlasError:
        return found
    return [*found, *(_neighbours(subject, places, colour) for colour in ("type", "layer"))]


def _neighbours(subject: Subject, places: xr.Dataset, colour: str) -> Picture:
    return _wide(
        subject,
        f"Neighbours by distance features, coloured by {colour}",
        "t-SNE: heads that look equally far, at like kinds of tokens, lie together. Gaps and sizes of groups mean "
        "nothing.",
        MAP_SIZE,
        lambda ax: figures.feature_map(
            subject.atlas, color=colour, places=places, stack=subject.stack, ax=ax
        ),
    )


def _wide(
    subject: Subject, title: str, caption: str, size: tuple[float, float], draw: Callable[[Axes], object]
) -> Picture:
    return picture(draw, size=size, title=title, caption=caption, is_wide=True, least=0.6)
