"""Numbers of an atlas as figures of a table: means over heads, counts of heads, the strongest head."""

from collections.abc import Mapping, Sequence

import numpy as np

from headscope.atlas import Atlas
from headscope.facts.slices import HeadValues, choices, head_values
from headscope.reproduce.table import Figure, Origin, size
from headscope.stats.intervals import mean_interval

MEANS_NOTE = (
    "The interval of a mean over heads is as wide as if all heads erred the same way, so rather too wide."
)
COUNTS_NOTE = (
    "The interval of a number of heads goes from the heads whose own interval lies wholly above the limit to those "
    "whose interval reaches above it."
)


def measured_by(atlas: Atlas, stack: str) -> Origin:
    """The model and the texts that an atlas measured."""
    facts = atlas.provenance
    quirks = ", as the authors' code computes it" if facts["options"].get("faithful") else ""
    return Origin(model_of(atlas, stack), f"{facts['corpus']}, {facts['texts']:,} texts{quirks}")


def model_of(atlas: Atlas, stack: str) -> str:
    """The model's name and shape."""
    name, shape = str(atlas.provenance["model"]), atlas.shape(stack)
    return name if shape is None else f"{name}, {size(*shape)}"


def picked(atlas: Atlas, stack: str, measure: str, select: Mapping[str, str | int]) -> HeadValues | None:
    """One number a head; None where nothing was measured, such as [SEP] in a model that has none."""
    array = atlas.stack(stack).get(measure)
    if array is None or not all(label in choices(array, dim) for dim, label in select.items()):
        return None
    return head_values(atlas, measure, select=select, stack=stack)


def stack_with(atlas: Atlas, *measures: str) -> str | None:
    """The first stack that has all these measures."""
    return next((stack for stack in atlas.stacks if set(measures) <= set(atlas.stack(stack))), None)


def layer_count(atlas: Atlas, stack: str, measure: str) -> int:
    """How many layers a measure is about."""
    return int(atlas.stack(stack)[measure].sizes["layer"])


def to_role(atlas: Atlas, stack: str, role: str, query: str = "all") -> HeadValues | None:
    """Every head's attention to a kind of token, from one kind or from all; None where there is none."""
    return picked(atlas, stack, "role_attention", {"query_role": query, "role": role})


def even_share(atlas: Atlas, stack: str, role: str) -> float | None:
    """What even attention would give a role."""
    even = atlas.stack(stack).get("role_attention_uniform")
    return None if even is None else float(even.sel(query_role="all", role=role))


def mean_of(
    values: HeadValues | None, layers: Sequence[int] | None = None, *, detail: str = ""
) -> Figure | None:
    """The mean over the heads of some layers, all by default; None where nothing was measured."""
    if values is None:
        return None
    chosen = list(range(values.values.shape[0]) if layers is None else layers)
    known = np.isfinite(values.values[chosen])
    if not known.any():
        return None
    error = None if values.stderr is None else float(np.mean(values.stderr[chosen][known]))
    mean = float(values.values[chosen][known].mean())
    return with_error(mean, error, values.sample_size, detail=detail)


def sum_of(first: Figure | None, second: Figure | None) -> Figure | None:
    """Two figures and the ends of their intervals added up; one alone where the other is missing."""
    if first is None or second is None:
        return first or second

    def added(one: float | None, other: float | None) -> float | None:
        return None if one is None or other is None else one + other

    return Figure(
        added(first.value, second.value),
        added(first.low, second.low),
        added(first.high, second.high),
        first.detail,
    )


def count_above(values: HeadValues, limit: float) -> Figure:
    """How many heads are above the limit, and in which layers."""
    above = [head for head in values.order() if values.at(head)[0] > limit]
    detail = layer_names(sorted(head.layer for head in above))
    if values.stderr is None:
        return Figure(len(above), detail=detail)
    ends = mean_interval(values.values, np.nan_to_num(values.stderr), values.sample_size)
    surely, perhaps = ((end > limit).sum() for end in ends)
    return Figure(len(above), int(surely), int(perhaps), detail)


def largest(values: HeadValues | None, layers: Sequence[int] | None = None) -> Figure | None:
    """The head with the highest value, of some layers or of all."""
    heads = [] if values is None else values.order()
    head = next((head for head in heads if layers is None or head.layer in layers), None)
    if values is None or head is None:
        return None
    value, error = values.at(head)
    return with_error(value, error, values.sample_size, detail=str(head))


def median_head(values: HeadValues | None) -> Figure | None:
    """The head in the middle of the order; of two the one with the higher value."""
    if values is None or not (order := values.order()):
        return None
    head = order[(len(order) - 1) // 2]
    value, error = values.at(head)
    return with_error(value, error, values.sample_size, detail=str(head))


def with_error(value: float, error: float | None, units: int | None, *, detail: str = "") -> Figure:
    """A number with the 95 % interval that its standard error over so many texts or documents gives."""
    low, high = mean_interval(value, np.nan if error is None else error, units)
    return Figure(value, low, high, detail) if np.isfinite(low) else Figure(value, detail=detail)


def same_depth(published: tuple[int, int], *, of: int, layers: int) -> list[int]:
    """The layers as deep in a model of `layers` as those from first to last, both counted, in one `of` so many."""
    first, last = published
    # The middle of a layer, (layer + 1/2) / layers, lies between the ends of the published ones; in whole numbers.
    return [
        layer
        for layer in range(layers)
        if 2 * first * layers <= (2 * layer + 1) * of <= 2 * (last + 1) * layers
    ]


def layer_names(layers: Sequence[int], *, as_range: bool = False) -> str:
    """Layers in words: `layers 1, 3, 6`, or `layers 5 to 9`."""
    if not layers:
        return ""
    if as_range and len(layers) > 1:
        return f"layers {layers[0]} to {layers[-1]}"
    return f"layer{'s' if len(layers) > 1 else ''} {', '.join(map(str, layers))}"
