"""Numbers of atlases as figures of a table (means over heads, counts of heads, the strongest head) and their origin."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from headscope.atlas import Atlas
from headscope.facts.slices import HeadValues, known_values
from headscope.facts.wording import count
from headscope.stats.intervals import mean_interval
from headscope.types import HeadId
from headscope_papers.reproduce.paper import size
from headscope_papers.reproduce.table import Figure, Origin


def model_name(atlas: Atlas) -> str:
    """The model that an atlas is of."""
    return str(atlas.provenance["model"])


def model_of(atlas: Atlas, stack: str) -> str:
    """The model's name and shape."""
    shape = atlas.shape(stack)
    return model_name(atlas) if shape is None else f"{model_name(atlas)}, {size(*shape)}"


def measured_by(atlas: Atlas, stack: str) -> Origin:
    """The model and the texts that an atlas measured."""
    facts = atlas.provenance
    quirks = ", as the authors' code computes it" if facts["options"].get("faithful") else ""
    return Origin(model_of(atlas, stack), f"{facts['corpus']}, {count(facts['texts'], 'text')}{quirks}")


def probe_facts(atlas: Atlas, probe: str) -> dict[str, Any]:
    """What a probe said of itself; nothing where it was not run."""
    return dict(atlas.probes.get(probe, {}))


def probed_by(atlas: Atlas, stack: str, probe: str) -> Origin:
    """The model, and the texts that a probe read."""
    facts = probe_facts(atlas, probe)
    return Origin(model_of(atlas, stack), f"{facts.get('data')}, {count(facts.get('texts', 0), 'text')}")


def joined(origins: Sequence[Origin]) -> Origin:
    """Where figures of several models come from, each thing named once."""
    return Origin(
        "; and ".join(dict.fromkeys(origin.model for origin in origins)),
        "; and ".join(dict.fromkeys(origin.data for origin in origins)),
    )


def stack_with(atlas: Atlas, *names: str) -> str | None:
    """The first stack that has all these arrays."""
    return next((stack for stack in atlas.stacks if set(names) <= set(atlas.stack(stack))), None)


def all_with(atlases: Sequence[Atlas], name: str) -> list[tuple[Atlas, str]]:
    """The atlases that have this array, each with the stack that has it."""
    return [(atlas, stack) for atlas in atlases if (stack := stack_with(atlas, name))]


def picked(atlas: Atlas, stack: str, measure: str, **select: str | int) -> HeadValues | None:
    """One number a head; None where nothing was measured, such as [SEP] in a model that has none."""
    return known_values(atlas, stack, measure, select)


def layer_count(atlas: Atlas, stack: str, measure: str) -> int:
    """How many layers a measure is about."""
    return int(atlas.stack(stack)[measure].sizes["layer"])


def to_role(atlas: Atlas, stack: str, role: str, query: str = "all") -> HeadValues | None:
    """Every head's attention to a kind of token, from one kind or from all; None where there is none."""
    return picked(atlas, stack, "role_attention", query_role=query, role=role)


def even_share(atlas: Atlas, stack: str, role: str) -> float | None:
    """What even attention would give a role."""
    even = atlas.stack(stack).get("role_attention_uniform")
    return None if even is None else float(even.sel(query_role="all", role=role))


def figure(
    value: float,
    error: float | None,
    units: int | None,
    *,
    detail: str = "",
    limits: tuple[float, float] = (-np.inf, np.inf),
    comparisons: int = 1,
) -> Figure:
    """A number with the 95 % interval that its standard error over so many texts or documents gives.

    The interval stays within the `limits`, and holds for the best of so many `comparisons`. There is none where the
    error is not known.
    """
    low, high = mean_interval(value, np.nan if error is None else error, units, comparisons=comparisons)
    if not np.isfinite(low):
        return Figure(value, detail=detail)
    return Figure(value, max(limits[0], low), min(limits[1], high), detail)


def mean(values: Any, errors: Any, units: int | None, *, detail: str = "") -> Figure | None:
    """A mean with an interval that is wide enough for values that all err together; None where none is known."""
    known = np.isfinite(values)
    if not known.any():
        return None
    error = None if errors is None else float(np.mean(errors[known]))
    return figure(float(np.mean(values[known])), error, units, detail=detail)


def mean_of(
    values: HeadValues | None, layers: Sequence[int] | None = None, *, detail: str = ""
) -> Figure | None:
    """The mean over the heads of some layers, all by default; None where nothing was measured."""
    if values is None:
        return None
    part = slice(None) if layers is None else list(layers)
    errors = None if values.stderr is None else values.stderr[part]
    return mean(values.values[part], errors, values.sample_size, detail=detail)


def sum_of(figures: Sequence[Figure | None]) -> Figure | None:
    """Figures and the ends of their intervals added up, where they are known; None where none is."""
    known = [figure for figure in figures if figure is not None]
    if len(known) < 2:
        return known[0] if known else None

    def added(name: str) -> float | None:
        ends = [getattr(figure, name) for figure in known]
        return None if None in ends else sum(ends)

    return Figure(added("value"), added("low"), added("high"), known[0].detail)


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
    return None if values is None or head is None else of_head(values, head)


def median_head(values: HeadValues | None) -> Figure | None:
    """The head in the middle of the order; of two the one with the higher value."""
    if values is None or not (order := values.order()):
        return None
    return of_head(values, order[(len(order) - 1) // 2])


def of_head(values: HeadValues, head: HeadId) -> Figure:
    """A head's value, with its name."""
    return figure(*values.at(head), values.sample_size, detail=str(head))


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
