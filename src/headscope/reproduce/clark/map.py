"""Section 6 and figure 6 of Clark et al. 2019: how alike the heads of a layer are."""

from dataclasses import replace

import numpy as np

from headscope import figures
from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.facts.slices import Array
from headscope.facts.vocabulary import offset_name, role_name
from headscope.kinds import Likeness
from headscope.reproduce.clark import published as paper
from headscope.reproduce.over_heads import measured_by, picked, with_error
from headscope.reproduce.table import Drawing, Figure, Row, Section
from headscope.reproduce.verdicts import holds

DISTANCE = "head_distance"
SURE = 0.05
MAP_SIZE = (6.4, 4.6)


def distances(atlas: Atlas, *, seed: int) -> Section:
    """Figure 6: heads of a layer are often fairly close to each other."""
    key, title, covers = "distances", "Figure 6: distances between heads", ("figure 6",)
    published = replace(paper.SURFACE, source="figure 6, section 6")
    stack = next((stack for stack in atlas.stacks if DISTANCE in atlas.stack(stack)), None)
    if stack is None:
        needs = f"figure 6 needs --text FILE, or an atlas with {DISTANCE}"
        return Section(key, title, published, needs=needs, covers=covers)
    try:
        likeness = Likeness(atlas, stack=stack)
        test = likeness.layer_test(seed=seed)
    except AtlasError as error:
        return Section(key, title, published, needs=f"figure 6 is left out: {error}", covers=covers)
    layers = np.array([head.layer for head in likeness.heads])
    same = layers[:, None] == layers[None, :]
    error_of = atlas.stack(stack).get(f"{DISTANCE}_stderr")
    errors, units = None if error_of is None else error_of.values, atlas.sample_size(DISTANCE)
    others = ~np.eye(len(layers), dtype=bool)
    is_closer = True if test.p_value < SURE else False if test.p_farther < SURE else None
    rows = (
        Row(
            "within a layer",
            "nats",
            Figure(None, words="closer"),
            _mean(test.within, errors, same & others, units),
            verdict=holds(is_closer, "heads of a layer are closer to each other than to others"),
        ),
        Row("between layers", "nats", None, _mean(test.between, errors, ~same, units)),
        Row(
            "by chance",
            "p-value",
            None,
            Figure(test.p_value, detail=f"{test.permutations:,} permutations"),
            note="how often heads dealt out to layers at random are as close within a layer",
        ),
    )
    notes = (
        "The paper shows this as a map and gives no numbers. The verdict is that of the permutation test.",
        "The interval of a mean over pairs is as wide as if all pairs erred the same way, so rather too wide.",
    )
    return Section(
        key,
        title,
        published,
        measured_by(atlas, stack),
        rows,
        notes=notes,
        drawings=_maps(atlas, stack, seed),
        covers=covers,
    )


def _maps(atlas: Atlas, stack: str, seed: int) -> tuple[Drawing, ...]:
    """The map coloured by layer, and by behaviour: attention to a neighbour and to [SEP]."""
    caption = (
        "Heads lie near each other when they look at the same tokens: Jensen-Shannon divergence, metric "
        "multidimensional scaling to two dimensions. "
    )

    def drawing(title: str, colours: str, color: str, select: dict[str, str | int] | None = None) -> Drawing:
        return Drawing(
            title,
            caption + colours,
            MAP_SIZE,
            lambda ax: figures.head_map(atlas, color=color, select=select, seed=seed, stack=stack, ax=ax),
        )

    drawings = [drawing("Heads by layer", "Colours are layers.", "layer")]
    offset = -1 if stack == "decoder" else 1  # a decoder cannot look ahead
    behaviours: list[tuple[str, str, dict[str, str | int]]] = [
        (offset_name(offset), "offset_attention", {"offset": offset}),
        (role_name(atlas, stack, "sep"), "role_attention", {"query_role": "all", "role": "sep"}),
    ]
    for name, measure, select in behaviours:
        if picked(atlas, stack, measure, select) is not None:
            text = f"Colours are the share of attention to {name}."
            drawings.append(drawing(f"Heads by attention to {name}", text, measure, select))
    return tuple(drawings)


def _mean(value: float, errors: Array | None, chosen: Array, units: int | None) -> Figure:
    return with_error(value, None if errors is None else float(errors[chosen].mean()), units)
