"""Figure 2 of Clark et al. 2019: attention to special tokens, full stops and commas by layer."""

from collections.abc import Sequence

from headscope import figures
from headscope.atlas import Atlas
from headscope.facts.vocabulary import role_name
from headscope.reproduce.clark import published as paper
from headscope.reproduce.clark.surface import BY_LAYER, MOST, left_out, measured_section
from headscope.reproduce.over_heads import (
    MEANS_NOTE,
    even_share,
    layer_count,
    layer_names,
    mean_of,
    same_depth,
    stack_with,
    sum_of,
    to_role,
)
from headscope.reproduce.table import Drawing, Figure, Row, Section
from headscope.reproduce.verdicts import exceeds, falls_below

FIRST_THIRD, LAST_THIRD = (0, 3), (8, 11)
"""Of the paper's layers."""


def roles(atlas: Atlas) -> Section:
    """Figure 2: attention to [CLS], [SEP], full stops and commas by layer; to [SEP] from [SEP] and from others."""
    title = "Figure 2: attention to special tokens"
    stack = stack_with(atlas, "role_attention")
    if stack is None:
        return left_out("roles", title, "figure 2", ["role_attention"])
    rows = [*_separators(atlas, stack), *_early_and_deep(atlas, stack)]
    panels = [
        ("all", "cls"),
        ("all", "sep"),
        ("all", "period"),
        ("all", "comma"),
        ("sep", "sep"),
        ("other", "sep"),
    ]
    drawings = [
        _roles_drawing(atlas, stack, query, role)
        for query, role in panels
        if to_role(atlas, stack, role, query) is not None
    ]
    notes = [
        "Ours are layers at the depth of the paper's. Early and deep are the first and the last third of the layers.",
        MEANS_NOTE,
    ]
    return measured_section(
        atlas, stack, "roles", title, rows=rows, notes=notes, drawings=drawings, covers="figure 2"
    )


def _separators(atlas: Atlas, stack: str) -> list[Row]:
    name = role_name(atlas, stack, "sep")
    layers = _same_depth(paper.SEP_LAYERS, layer_count(atlas, stack, "role_attention"))
    first, last = paper.SEP_LAYERS
    published = layer_names(range(first, last + 1), as_range=True)
    every, own, others = (
        mean_of(to_role(atlas, stack, "sep", query), layers, detail=layer_names(layers, as_range=True))
        for query in ("all", "sep", "other")
    )
    rows = [
        Row(
            f"to {name}",
            "share",
            Figure(None, words="over 50 %", detail=published),
            every,
            verdict=exceeds(every, MOST, f"middle layers give {name} over half of their attention"),
        ),
        Row(
            f"{name} to {name}",
            "share",
            Figure(None, words="over 90 %"),
            own,
            verdict=exceeds(own, 0.9, f"{name} looks almost only at {name}"),
        ),
        Row(
            f"other tokens to {name}",
            "share",
            Figure(None, words="less"),
            others,
            verdict=falls_below(others, own, f"other tokens look less at {name} than {name} does"),
        ),
    ]
    even = even_share(atlas, stack, "sep")
    if even is not None:
        finding = f"{name} gets more than an even share"
        rows.append(
            Row(
                f"to {name} if even",
                "share",
                Figure(paper.EVEN_SEP),
                Figure(even),
                verdict=exceeds(every, even, finding),
            )
        )
    return rows


def _early_and_deep(atlas: Atlas, stack: str) -> list[Row]:
    """Early heads attend to [CLS], deep heads to full stops and commas."""
    count = layer_count(atlas, stack, "role_attention")
    rows = []
    kinds = (
        (role_name(atlas, stack, "cls"), ("cls",), FIRST_THIRD, "first third"),
        ("full stops and commas", ("period", "comma"), LAST_THIRD, "last third"),
    )
    for name, keys, published, place in kinds:
        chosen = _same_depth(published, count)
        rest = [layer for layer in range(count) if layer not in chosen]
        inside, outside = (_to_roles(atlas, stack, keys, layers) for layers in (chosen, rest))
        heads = "early heads" if published == FIRST_THIRD else "deep heads"
        rows += [
            Row(
                f"to {name}, {place}",
                "share",
                Figure(None, words=heads),
                inside,
                verdict=exceeds(inside, outside, f"{heads} attend to {name} more than others do"),
            ),
            Row(f"to {name}, other layers", "share", None, outside),
        ]
    return rows


def _roles_drawing(atlas: Atlas, stack: str, query: str, role: str) -> Drawing:
    asked = {"all": "", "sep": f", from {role_name(atlas, stack, 'sep')}", "other": ", from other tokens"}[
        query
    ]
    return Drawing(
        f"Attention to {role_name(atlas, stack, role)}{asked}",
        "Each point is a head, with its standard error; the line is the mean of each layer.",
        BY_LAYER,
        lambda ax: figures.role_by_layer(atlas, role, query_role=query, stack=stack, ax=ax),
    )


def _to_roles(atlas: Atlas, stack: str, roles: Sequence[str], layers: Sequence[int]) -> Figure | None:
    """The mean attention to all of these roles together."""
    total: Figure | None = None
    for role in roles:
        mean = mean_of(to_role(atlas, stack, role), layers, detail=layer_names(layers, as_range=True))
        total = sum_of(total, mean)
    return total


def _same_depth(published: tuple[int, int], layers: int) -> list[int]:
    return same_depth(published, of=paper.SHAPE[0], layers=layers)
