"""Sections 3 and 6 of Clark et al. 2019: surface patterns, and how alike the heads of a layer are."""

from collections.abc import Mapping, Sequence

import numpy as np

from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.figures.slices import Array, HeadValues, choices, head_values
from headscope.figures.words import role_name
from headscope.heads import Likeness
from headscope.reproduce import clark_published as paper
from headscope.reproduce.table import Figure, Origin, Row, Section, size

MEASURES = ("offset_attention", "role_attention", "entropy")
DISTANCE = "head_distance"
MOST = 0.5
NORMAL = 1.96
"""Standard errors on either side of a 95 % interval."""

SAFE = (
    "Intervals of means over heads are on the safe side: as if all heads erred together. That of a number of heads "
    "goes from those that are surely so to those that may be."
)


def surface(atlas: Atlas) -> Section:
    """Section 3: neighbours, special tokens and entropy."""
    key, title = "surface", "Section 3: surface patterns"
    stack = next((one for one in atlas.stacks if set(MEASURES) <= set(atlas.stack(one))), None)
    if stack is None:
        return Section(
            key,
            title,
            paper.SURFACE,
            needs=f"section 3 needs --text FILE, or an atlas with {', '.join(MEASURES)}",
        )
    notes = ["Mostly is with more than half of a head's attention.", SAFE]
    if stack != "encoder":
        notes.append(f"The paper's model is an encoder; these are the heads of a {stack}.")
    return Section(
        key,
        title,
        paper.SURFACE,
        measured_by(atlas, stack),
        (*_neighbours(atlas, stack), *_separators(atlas, stack), *_breadth(atlas, stack)),
        notes=tuple(notes),
    )


def distances(atlas: Atlas, *, seed: int) -> Section:
    """Section 6: heads of a layer are often fairly close to each other."""
    key, title = "distances", "Section 6: distances between heads"
    stack = next((one for one in atlas.stacks if DISTANCE in atlas.stack(one)), None)
    if stack is None:
        return Section(
            key, title, paper.SURFACE, needs=f"section 6 needs --text FILE, or an atlas with {DISTANCE}"
        )
    try:
        likeness = Likeness(atlas, stack=stack)
        test = likeness.layer_test(seed=seed)
    except AtlasError as error:
        return Section(key, title, paper.SURFACE, needs=f"section 6 is left out: {error}")
    layers = np.array([head.layer for head in likeness.heads])
    same = layers[:, None] == layers[None, :]
    error_of = atlas.stack(stack).get(f"{DISTANCE}_stderr")
    errors = None if error_of is None else error_of.values
    others = ~np.eye(len(layers), dtype=bool)
    rows = (
        Row(
            "within a layer", "nats", Figure(None, words="closer"), _mean(test.within, errors, same & others)
        ),
        Row("between layers", "nats", Figure(None, words="farther"), _mean(test.between, errors, ~same)),
        Row(
            "by chance",
            "p-value",
            None,
            Figure(test.p_value, detail=f"{test.permutations:,} permutations"),
            note="how often heads dealt out to layers at random are as close within a layer",
        ),
    )
    notes = ["The paper shows this as a map (figure 6) and gives no numbers.", SAFE.partition(" That")[0]]
    return Section(key, title, paper.SURFACE, measured_by(atlas, stack), rows, notes=tuple(notes))


def measured_by(atlas: Atlas, stack: str) -> Origin:
    """The model and the texts that an atlas measured."""
    facts = atlas.provenance
    shape = atlas.shape(stack)
    model = facts["model"] if shape is None else f"{facts['model']}, {size(*shape)}"
    quirks = ", as the authors' code computes it" if facts["options"].get("faithful") else ""
    return Origin(str(model), f"{facts['corpus']}, {facts['texts']:,} texts{quirks}")


def _neighbours(atlas: Atlas, stack: str) -> list[Row]:
    rows = []
    known = {-1: ("previous", paper.PREVIOUS_LAYERS), 1: ("next", paper.NEXT_LAYERS)}
    for offset, (name, layers) in known.items():
        picked = _picked(atlas, stack, "offset_attention", {"offset": offset})
        rows.append(
            Row(
                f"mostly {name} token",
                "heads",
                Figure(len(layers), detail=_layers(layers)),
                None if picked is None else _over_half(picked),
            )
        )
    own = _picked(atlas, stack, "offset_attention", {"offset": 0})
    return [*rows, Row("current token", "share", Figure(None, words="little"), _mean_of(own))]


def _separators(atlas: Atlas, stack: str) -> list[Row]:
    name = role_name(atlas, stack, "sep")
    picked = {
        role: _picked(atlas, stack, "role_attention", {"query_role": role, "role": "sep"})
        for role in ("all", "sep", "other")
    }
    layers = _same_depth(atlas.stack(stack)["role_attention"].sizes["layer"])
    ours = _layers(layers, as_range=True)
    published = _layers(range(paper.SEP_LAYERS[0], paper.SEP_LAYERS[1] + 1), as_range=True)
    rows = [
        Row(
            f"to {name}",
            "share",
            Figure(None, words="over 50 %", detail=published),
            _mean_of(picked["all"], layers, detail=ours),
            note="means over the heads of the layers named, ours at the same depth; so are the next two",
        ),
        Row(
            f"{name} to {name}",
            "share",
            Figure(None, words="over 90 %"),
            _mean_of(picked["sep"], layers, detail=ours),
        ),
        Row(
            f"other tokens to {name}",
            "share",
            Figure(None, words="less"),
            _mean_of(picked["other"], layers, detail=ours),
        ),
    ]
    even = atlas.stack(stack).get("role_attention_uniform")
    if even is not None:
        value = float(even.sel(query_role="all", role="sep"))
        rows.append(Row(f"to {name} if even", "share", Figure(paper.EVEN_SEP), Figure(value)))
    return rows


def _breadth(atlas: Atlas, stack: str) -> list[Row]:
    picked = _picked(atlas, stack, "entropy", {"query_role": "all"})
    first = _picked(atlas, stack, "entropy", {"query_role": "cls"})
    last = [atlas.stack(stack)["entropy"].sizes["layer"] - 1]
    name = role_name(atlas, stack, "cls")
    rows = [
        Row(
            f"entropy, {name}",
            "nats",
            Figure(paper.CLS_ENTROPY, detail="last layer"),
            _mean_of(first, last, detail="last layer"),
        ),
        Row("entropy, all tokens", "nats", None, _mean_of(picked, last, detail="last layer")),
        Row(
            "entropy, broadest head",
            "nats",
            Figure(None, words="high", detail="layer 0"),
            None if picked is None else _largest(picked),
        ),
    ]
    even = atlas.stack(stack).get("entropy_uniform")
    if even is not None:
        rows.append(Row("entropy, if even", "nats", None, Figure(float(even))))
    return rows


def _picked(atlas: Atlas, stack: str, measure: str, select: Mapping[str, str | int]) -> HeadValues | None:
    """One number a head; None where there is none, as from [SEP] in a model that has none."""
    array = atlas.stack(stack)[measure]
    if not all(label in choices(array, dim) for dim, label in select.items()):
        return None
    return head_values(atlas, measure, select=select, stack=stack)


def _largest(picked: HeadValues) -> Figure:
    """The head with the highest value."""
    head = picked.order()[0]
    value, error = picked.at(head)
    return _figure(value, error, detail=str(head))


def _over_half(picked: HeadValues) -> Figure:
    """How many heads give more than half, and in which layers."""
    found = [head for head in picked.order() if picked.at(head)[0] > MOST]
    detail = _layers(sorted(head.layer for head in found))
    if picked.stderr is None:
        return Figure(len(found), detail=detail)
    reach = NORMAL * np.nan_to_num(picked.stderr)
    return Figure(
        len(found),
        int((picked.values - reach > MOST).sum()),
        int((picked.values + reach > MOST).sum()),
        detail,
    )


def _mean_of(
    picked: HeadValues | None, layers: Sequence[int] | None = None, *, detail: str = ""
) -> Figure | None:
    """The mean over the heads of some layers, all by default; None where nothing was measured."""
    if picked is None:
        return None
    chosen = list(range(picked.values.shape[0]) if layers is None else layers)
    values = picked.values[chosen]
    known = np.isfinite(values)
    if not known.any():
        return None
    error = None if picked.stderr is None else float(np.mean(picked.stderr[chosen][known]))
    return _figure(float(values[known].mean()), error, detail=detail)


def _mean(value: float, errors: Array | None, chosen: Array) -> Figure:
    return _figure(value, None if errors is None else float(errors[chosen].mean()))


def _figure(value: float, error: float | None, *, detail: str = "") -> Figure:
    if error is None or not np.isfinite(error):
        return Figure(value, detail=detail)
    return Figure(value, value - NORMAL * error, value + NORMAL * error, detail)


def _same_depth(layers: int) -> list[int]:
    """The layers as deep in a model of so many layers as those that the paper names are in its own."""
    first, last, theirs = *paper.SEP_LAYERS, paper.SHAPE[0]
    # The middle of a layer, (layer + 1/2) / layers, lies between the ends of the paper's; in whole numbers.
    return [
        layer
        for layer in range(layers)
        if 2 * first * layers <= (2 * layer + 1) * theirs <= 2 * (last + 1) * layers
    ]


def _layers(layers: Sequence[int], *, as_range: bool = False) -> str:
    if not layers:
        return ""
    if as_range and len(layers) > 1:
        return f"layers {layers[0]} to {layers[-1]}"
    return f"layer{'s' if len(layers) > 1 else ''} {', '.join(map(str, layers))}"
