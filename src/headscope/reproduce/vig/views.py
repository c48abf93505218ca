"""The three views of Vig's ACL paper, drawn from an atlas: a head's lines, all heads at once, a head's neurons."""

from collections.abc import Mapping

import numpy as np

from headscope import figures
from headscope.atlas import Atlas
from headscope.atlas.sentences import Typical
from headscope.facts.explanations import explained_heads
from headscope.figures.head_view import head_view_size
from headscope.figures.model_view import model_view_size
from headscope.reproduce.clark.surface import measured_by
from headscope.reproduce.table import Drawing, Origin, Section
from headscope.types import HeadId

MAPS = "example_map"
COVERS = ("head view", "model view", "neuron view")
TITLE = "A Multiscale Visualization: three views"


def views(atlas: Atlas, stack: str, best: Mapping[str, HeadId | None], model: str) -> Section:
    """The views of the atlas's own examples; `best` are the heads to show by the names of their patterns."""
    published = Origin(
        model, "single sentences, and GPT-2", "A Multiscale Visualization, sections 3.1 to 3.3"
    )
    drawings = [*_head_views(atlas, stack, best), *_model_view(atlas, stack)]
    if not drawings:
        needs = "the views need --text FILE, or an atlas made with headscope analyze and its sentences"
        return Section("views", TITLE, published, needs=needs, covers=COVERS)
    explained = [row.head for row in explained_heads(atlas, stack)]
    named = f" (heads {', '.join(explained)})" if explained else ""
    notes = [
        "These are pictures and no findings, so nothing is tested. headscope view MODEL TEXT_A TEXT_B shows all three "
        "views of any text, to click through.",
        "The neuron view is that of headscope view; what it shows for one text, the sections on neurons sum up over "
        f"all texts{named}.",
    ]
    return Section(
        "views",
        TITLE,
        published,
        measured_by(atlas, stack),
        notes=tuple(notes),
        drawings=tuple(drawings),
        covers=COVERS,
    )


def _head_views(atlas: Atlas, stack: str, best: Mapping[str, HeadId | None]) -> list[Drawing]:
    """A sentence for each pattern on which its best head is most like itself; a head once."""
    drawings, shown = [], set()
    for name, head in best.items():
        if head is None or head in shown:
            continue
        shown.add(head)
        found = next(
            (one for one in atlas.typical(head, stack=stack) if one.is_whole and one.keys is None), None
        )
        if found is not None:
            drawings.append(_head_view(found, name))
    return drawings


def _head_view(found: Typical, name: str) -> Drawing:
    words = list(found.words)
    weights = np.zeros((1, len(words), len(words)))
    weights[0, np.arange(len(words)), list(found.looks_at)] = found.weights
    return Drawing(
        f"Head view: {found.head}, {name}",
        "Where each word looks most, on a sentence where the head is most like itself; the stronger a line, the more "
        "attention.",
        head_view_size(words),
        lambda ax: figures.head_view(weights, words, ax=ax),
    )


def _model_view(atlas: Atlas, stack: str) -> list[Drawing]:
    shape = atlas.shape(stack)
    if MAPS not in atlas.stack(stack) or shape is None:
        return []
    return [
        Drawing(
            "Model view: every head on one text",
            "A row a layer, a column a head; in each map queries run down and keys across. The colour is the square "
            "root of the largest weight in a cell, so that faint lines show too; weights below 0.02 do not, "
            "and every map has its own scale.",
            model_view_size(*shape),
            lambda ax: figures.model_view(atlas, stack=stack, ax=ax),
            is_wide=True,
        )
    ]
