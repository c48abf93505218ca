"""The sections of a stack's part of the page: which pictures, and how to read them."""

from collections.abc import Callable, Iterator
from itertools import islice, product

import numpy as np
import xarray as xr

from headscope import figures
from headscope.errors import AtlasError
from headscope.facts.kinds import near_identical
from headscope.facts.slices import Array, HeadValues, Select, choices, head_values
from headscope.facts.subject import Subject
from headscope.facts.vocabulary import pattern_name, role_name
from headscope.facts.wording import share
from headscope.figures.grid import draw_values, grid_size
from headscope.kinds import head_map
from headscope.report.grids import extreme, grid, key_of
from headscope.report.kinds import kinds_section
from headscope.report.pictures import Picture, picture
from headscope.report.probes import probe_sections
from headscope.report.section import Section, Table
from headscope.types import HeadId

PROFILE_SIZE = (5.4, 3.5)
MAP_SIZE = (5.4, 4.4)
MOST_UNKNOWN_SLICES = 12
KNOWN = {
    "offset_attention",
    "role_attention",
    "entropy",
    "distance_features",
    "named_patterns",
    "head_distance",
    "example_map",
}

DISTANCE_GROUPS = {
    "itself": ("self",),
    "near": ("w00", "w01"),
    "middle": tuple(f"w{window:02d}" for window in range(2, 8)),
    "far": tuple(f"w{window:02d}" for window in range(8, 16)),
}


def sections(subject: Subject) -> Iterator[Section]:
    """Every section that the stack has numbers for."""
    makers: dict[str, Callable[[Subject], Section]] = {
        "offset_attention": _neighbours,
        "role_attention": _roles,
        "entropy": _breadth,
        "distance_features": _distances,
        "named_patterns": _habits,
        "head_distance": _likeness,
    }
    for measure, make in makers.items():
        if subject.has(measure) and np.isfinite(subject.atlas.stack(subject.stack)[measure].values).any():
            yield make(subject)
        if measure == "distance_features" and "types" in subject.derived:
            yield kinds_section(subject)
    others = _others(subject)
    if others.pictures:
        yield others
    yield from probe_sections(subject)


def _neighbours(subject: Subject) -> Section:
    known = [int(offset) for offset in choices(subject.array("offset_attention"), "offset")]
    wanted = [-1, 0, -2, -3] if subject.is_causal else [-1, 0, 1, -2, 2]
    pictures = [
        grid(subject, "offset_attention", {"offset": offset}, "at that place")
        for offset in wanted
        if offset in known
    ]
    pictures.append(
        picture(
            lambda ax: figures.offset_profile(subject.atlas, stack=subject.stack, ax=ax),
            size=PROFILE_SIZE,
            title="The strongest of them, offset by offset",
            caption="One line a head: its mean attention to the token so many places before (left) or after "
            "(right) the query. Bands are one standard error either way; often they are thinner than "
            "the line.",
            key=key_of(subject, "offset-profile"),
            is_wide=True,
        )
    )
    return Section(
        "neighbours",
        "Neighbours: the token before, the token itself, the token after",
        "How much of its attention a head gives to the token at a fixed offset from the query, as a mean "
        "over the queries that have such a neighbour."
        + (" This stack looks back only, so nothing lies ahead." if subject.is_causal else ""),
        pictures,
    )


def _roles(subject: Subject) -> Section:
    array = subject.array("role_attention")
    asking, targets = choices(array, "query_role"), choices(array, "role")
    wanted = [("all", role) for role in targets] + [("sep", "sep"), ("other", "sep")]
    pictures = [
        grid(subject, "role_attention", {"query_role": query, "role": role}, "on it")
        for query, role in wanted
        if query in asking and role in targets
    ]
    for role in ("cls", "sep"):
        if role in targets and "all" in asking:
            pictures.append(_role_by_layer(subject, role))
    names = [role_name(subject.atlas, subject.stack, role) for role in ("cls", "sep")]
    return Section(
        "roles",
        "Special tokens and punctuation",
        f"How a head's attention is shared between {names[0]}, {names[1]}, full stops, commas and "
        f"everything else. {_adding_up(subject)} Which tokens are special was taken from "
        "the model's tokenizer, whatever it calls them.",
        pictures,
    )


def _role_by_layer(subject: Subject, role: str) -> Picture:
    return picture(
        lambda ax: figures.role_by_layer(subject.atlas, role, stack=subject.stack, ax=ax),
        size=PROFILE_SIZE,
        title=f"Attention to {role_name(subject.atlas, subject.stack, role)}, layer by layer",
        caption="Every dot is a head, with its standard error; the line joins the layers' means. Mind "
        "the scale.",
        key=key_of(subject, f"role-{role}"),
        is_wide=True,
    )


def _breadth(subject: Subject) -> Section:
    asking = choices(subject.array("entropy"), "query_role")
    # The first token of a stack that looks back sees itself alone: 0 by construction.
    wanted = [query for query in asking if query == "all" or not subject.is_causal]
    pictures = [grid(subject, "entropy", {"query_role": query}, "") for query in wanted]
    pictures += [_entropy_by_layer(subject, str(query)) for query in wanted]
    return Section(
        "breadth",
        "Breadth: how evenly heads look",
        "The entropy of a query's attention: 0 nats when it looks at one token, the logarithm of n when it "
        "looks evenly at n tokens.",
        pictures,
    )


def _entropy_by_layer(subject: Subject, query: str) -> Picture:
    source = "" if query == "all" else f", from {role_name(subject.atlas, subject.stack, query)}"
    return picture(
        lambda ax: figures.entropy_by_layer(subject.atlas, query_role=query, stack=subject.stack, ax=ax),
        size=PROFILE_SIZE,
        title=f"Entropy by layer{source}",
        caption="Every dot is a head, with its standard error; low dots look at few tokens. The dashed line is a "
        "head that looks evenly at all it can see.",
        key=key_of(subject, f"entropy-{query}"),
        is_wide=True,
    )


def _adding_up(subject: Subject) -> str:
    """Whether a head's shares make up all of its attention; learned sinks (gpt-oss) take some of it away."""
    if subject.has("role_attention"):
        mass = float(subject.array("role_attention").sel(query_role="all").sum("role").mean())
        if mass < 1 - 1e-3:
            return f"The shares of a head add up to {mass:.2f} on average: the rest goes to the model's own sink."
    return "The shares of a head add up to 1."


def _distances(subject: Subject) -> Section:
    known = set(choices(subject.array("distance_features"), "feature"))
    special: Select = {"feature": tuple(name for name in ("cls", "sep", "comma", "period") if name in known)}
    pictures = [grid(subject, "distance_features", special, "on special tokens and punctuation")]
    pictures[0] = Picture("Attention to special tokens and punctuation", pictures[0].caption, pictures[0].svg)
    for group in DISTANCE_GROUPS.values():
        if set(group) <= known:
            pictures.append(grid(subject, "distance_features", {"feature": group}, "there"))
    pictures += [_distance_lines(subject, None), *_chosen_distance_lines(subject)]
    return Section(
        "distances",
        "Distance: how far heads look",
        "Attention by distance, as a share of the text's length so that short and long texts can be "
        f"averaged. Special tokens and punctuation are counted apart. {_adding_up(subject)}",
        pictures,
    )


def _chosen_distance_lines(subject: Subject) -> list[Picture]:
    known = set(choices(subject.array("distance_features"), "feature"))
    groups = [DISTANCE_GROUPS[name] for name in ("near", "far")]
    if not all(set(group) <= known for group in groups):
        return []
    near, far = (
        head_values(subject.atlas, "distance_features", select={"feature": group}, stack=subject.stack)
        for group in groups
    )
    heads = list(dict.fromkeys([*near.order()[:2], *far.order()[:2]]))
    return [_distance_lines(subject, heads)] if heads else []


def _distance_lines(subject: Subject, heads: list[HeadId] | None) -> Picture:
    title = (
        "Distance profile of each layer"
        if heads is None
        else "Distance profiles of the most local and the farthest"
    )
    caption = (
        "One line a layer, the mean of its heads, early layers in yellow and late ones in violet."
        if heads is None
        else "One line a head, with its standard error."
    )
    return picture(
        lambda ax: figures.distance_profile(subject.atlas, heads, stack=subject.stack, ax=ax),
        size=PROFILE_SIZE,
        title=title,
        caption=f"{caption} Dashed: a head that spreads its attention evenly. Above it on the left "
        "means local.",
        key=key_of(subject, f"distance-{'layers' if heads is None else 'heads'}"),
        is_wide=True,
    )


def _habits(subject: Subject) -> Section:
    array = subject.array("named_patterns")
    known = choices(array, "pattern")
    shown = [name for name in known if float(np.nanmax(array.sel(pattern=name).values)) > 0]
    absent = [str(label) for label in array["pattern"].values if label not in shown]
    picked = {
        name: head_values(subject.atlas, "named_patterns", select={"pattern": name}, stack=subject.stack)
        for name in shown
    }
    rows = tuple(
        (pattern_name(name), *(f"{head}: {share(*values.at(head))}" for head in values.order()[:3]))
        for name, values in picked.items()
    )
    width = max((len(row) for row in rows), default=1)
    columns = ("Looks at", "Strongest", "Second", "Third")[:width]
    notes = []
    if absent:
        names = ", ".join(pattern_name(name) for name in absent)
        notes.append(
            f"Not shown, since these texts or this kind of stack have no such thing to look at: {names}."
        )
    return Section(
        "habits",
        "Named habits",
        "Habits that people have given names to. A score is the attention a head gives to the tokens the "
        "habit points at, from the queries for which it points anywhere. A head can follow several at "
        "once, and a long text offers more targets to some habits (its own sentence) than to others "
        "(the next word).",
        [grid(subject, "named_patterns", {"pattern": name}, "on it") for name in shown],
        [Table("The strongest heads for each habit, layer.head and share of attention", columns, rows)]
        if rows
        else [],
        notes,
    )


def _likeness(subject: Subject) -> Section:
    pictures: list[Picture] = []
    notes = []
    array = subject.array("head_distance")
    units = str(array.attrs.get("units", "1"))
    try:
        places = head_map(subject.atlas, stack=subject.stack)
        colours = ["layer", *(["type"] if subject.has("head_type") else [])]
        pictures += [_head_map(subject, places, colour, None) for colour in colours]
        if subject.has("entropy") and "all" in choices(subject.array("entropy"), "query_role"):
            pictures.append(_head_map(subject, places, "entropy", {"query_role": "all"}))
    except AtlasError as error:
        notes.append(f"There is no head map: {error}.")
    labels = [HeadId.parse(str(label)) for label in array["head_a"].values]
    if len(labels) > 1:
        pictures.insert(0, _mean_distance(subject, array.values, labels, units))
    introduction = (
        "The Jensen-Shannon divergence between the attention of two heads, averaged over queries and "
        "texts: 0 when they look at the same tokens everywhere, 0.693 nats when they never do."
    )
    if len(labels) > 1 and not subject.is_faithful and np.isfinite(array.values).all():
        introduction += f" {near_identical(subject.likeness)}"
    if subject.is_faithful:
        introduction = (
            "The Jensen-Shannon divergence between two heads' attention, summed over all queries, which is "
            "the published form."
        )
    return Section("likeness", "Likeness: which heads look alike", introduction, pictures, notes=notes)


def _mean_distance(
    subject: Subject,
    distance: Array,
    labels: list[HeadId],
    units: str,
) -> Picture:
    shape = (max(head.layer for head in labels) + 1, max(head.head for head in labels) + 1)
    values = np.full(shape, np.nan)
    for head, row in zip(labels, distance, strict=True):
        values[head.layer, head.head] = row.sum() / (len(labels) - 1)
    picked = HeadValues(values, None, "head_distance", {}, subject.stack, units)
    most = float(np.nanmax(values)) if np.isfinite(values).any() else 1.0
    return picture(
        lambda ax: draw_values(picked, title="", limits=(0.0, most or 1.0), ax=ax),
        size=grid_size(*shape),
        title="Mean distance to all other heads",
        caption=f"The stronger the colour, the less a head looks like the others.{extreme(picked)}",
        key=key_of(subject, "mean-distance"),
    )


def _head_map(subject: Subject, places: xr.Dataset, color: str, select: Select | None) -> Picture:
    return picture(
        lambda ax: figures.head_map(
            subject.atlas, color=color, select=select, places=places, stack=subject.stack, ax=ax
        ),
        size=MAP_SIZE,
        title=f"Head map, coloured by {color}",
        caption="Every dot is a head; heads that lie near each other look at the same tokens. Directions "
        "mean nothing, only distances do. The stress says how much a flat map distorts them: below 0.1 "
        "little, above 0.2 a good deal.",
        key=key_of(subject, f"map-{color}"),
        is_wide=True,
    )


def _others(subject: Subject) -> Section:
    """Measures that came from elsewhere, slice by slice."""
    pictures = []
    probed = subject.probe_arrays
    for measure, array in subject.atlas.stack(subject.stack).items():
        if (
            measure in KNOWN
            or measure in probed
            or measure not in subject.atlas.measures  # a companion of another
            or not {"layer", "head"} <= set(array.dims)
        ):
            continue
        dims = [str(dim) for dim in array.dims if dim not in ("layer", "head")]
        for labels in islice(product(*(choices(array, dim) for dim in dims)), MOST_UNKNOWN_SLICES):
            pictures.append(grid(subject, measure, dict(zip(dims, labels, strict=True)), ""))
    return Section("others", "Other measures", "Measures added by other packages.", pictures)
