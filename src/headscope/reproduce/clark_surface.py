"""Section 3 of Clark et al. 2019: figures 1, 2 and 4, and the heads that look at the next or previous token."""

import math
from collections.abc import Sequence
from dataclasses import replace

from headscope import figures
from headscope.atlas import Atlas
from headscope.figures.maps import example_maps_size
from headscope.figures.slices import HeadValues
from headscope.figures.words import role_name
from headscope.reproduce import clark_published as paper
from headscope.reproduce.over_heads import (
    COUNTS_NOTE,
    MEANS_NOTE,
    count_above,
    largest,
    layer_names,
    mean_of,
    measured_by,
    median_head,
    picked,
    same_depth,
    sum_of,
)
from headscope.reproduce.table import Drawing, Figure, Origin, Row, Section
from headscope.reproduce.verdicts import exceeds, falls_below

MEASURES = ("offset_attention", "role_attention", "entropy", "example_map")
MOST = 0.5
LITTLE = 0.1
BY_LAYER = (5.2, 3.4)
FIRST_THIRD, LAST_THIRD = (0, 3), (8, 11)
"""Of the paper's layers."""


def surface(atlas: Atlas) -> list[Section]:
    """The sections on what heads look at, whatever the words."""
    return [example_heads(atlas), neighbours(atlas), roles(atlas), breadth(atlas)]


def example_heads(atlas: Atlas) -> Section:
    """Figure 1: a broad head, one for the next token, one for [SEP], one for full stops."""
    title = "Figure 1: heads with plain patterns"
    stack = _stack_with(atlas, "offset_attention", "role_attention", "entropy")
    if stack is None:
        return _missing("example_heads", title, "figure 1", MEASURES)
    chosen = _examples(atlas, stack)
    entropy = picked(atlas, stack, "entropy", {"query_role": "all"})
    wanted = {"broad": math.log(1 / paper.BROAD), "next": MOST, "sep": MOST, "period": _even(atlas, stack, "period")}
    findings = {
        "broad": f"a head attends broadly: at most {paper.BROAD:.0%} to any token implies {wanted['broad']:.1f} nats",
        "next": "a head gives the next token over half of its attention",
        "sep": f"a head gives {role_name(atlas, stack, 'sep')} over half of its attention",
        "period": "a head gives full stops more than an even share",
    }
    rows = []
    for kind, (name, values) in chosen.items():
        ours = largest(values)
        published = Figure(None, words="shown", detail=paper.counted_from_0(paper.EXAMPLE_HEADS[kind]))
        unit = "nats" if kind == "broad" else "share"
        rows += [
            Row(f"{name}, strongest head", unit, published, ours, verdict=exceeds(ours, wanted[kind], findings[kind])),
            Row(f"{name}, median head", unit, None, median_head(values)),
        ]
    shown = {name: figure.detail for name, values in chosen.values() if (figure := largest(values)) is not None}
    if (middle := median_head(entropy)) is not None:
        shown["median entropy"] = middle.detail
    notes = ["The strongest head of each kind is chosen on the texts it is shown on; the median head is the control."]
    drawings: tuple[Drawing, ...] = ()
    if "example_map" in atlas.stack(stack):
        drawings = (
            Drawing(
                "Heads with plain patterns",
                "Attention on one text of the corpus: queries run down, keys across. The text is chosen by its tokens, "
                "not by what heads do on it. The last map is the control: the head of median entropy.",
                example_maps_size(len(shown)),
                lambda ax: figures.example_maps(atlas, shown, stack=stack, ax=ax),
                is_wide=True,
            ),
        )
    else:
        notes.append("To see the maps, analyse with the measure example_map.")
    return _section(atlas, stack, "example_heads", title, rows, notes, drawings, covers="figure 1")


def neighbours(atlas: Atlas) -> Section:
    """Section 3.1: heads that look at the previous or next token, and how few look at the current one."""
    title = "Section 3.1: relative position"
    stack = _stack_with(atlas, "offset_attention")
    if stack is None:
        return _missing("neighbours", title, "section 3.1", ["offset_attention"])
    rows = []
    known = {-1: ("previous", paper.PREVIOUS_LAYERS), 1: ("next", paper.NEXT_LAYERS)}
    for offset, (name, layers) in known.items():
        values = _at_offset(atlas, stack, offset)
        ours = None if values is None else count_above(values, MOST)
        finding = f"some heads look mostly at the {name} token"
        published = Figure(len(layers), detail=layer_names(layers))
        rows.append(
            Row(f"mostly {name} token", "heads", published, ours, verdict=exceeds(ours, MOST, finding))
        )
    own = _at_offset(atlas, stack, 0)
    if own is not None:
        ours, half = count_above(own, LITTLE), len(own.order()) / 2
        finding = "most heads give the current token little"
        note = f"little is read as at most {LITTLE:.0%}, most as more than half of the heads"
        verdict = falls_below(ours, half, finding)
        rows += [
            Row("current token, over a tenth", "heads", Figure(None, words="few"), ours, note, verdict),
            Row("current token, mean", "share", None, mean_of(own)),
        ]
    notes = ["Mostly is with more than half of a head's attention.", COUNTS_NOTE]
    if stack == "decoder":
        notes.append("The heads of a decoder cannot look at the next token.")
    drawing = Drawing(
        "Attention by offset",
        "The heads with most attention to the previous, the current and the next token.",
        BY_LAYER,
        lambda ax: figures.offset_profile(atlas, stack=stack, ax=ax),
    )
    return _section(atlas, stack, "neighbours", title, rows, notes, (drawing,), source="section 3.1")


def roles(atlas: Atlas) -> Section:
    """Figure 2: attention to [CLS], [SEP], full stops and commas by layer; to [SEP] from [SEP] and from others."""
    title = "Figure 2: attention to special tokens"
    stack = _stack_with(atlas, "role_attention")
    if stack is None:
        return _missing("roles", title, "figure 2", ["role_attention"])
    rows = [*_separators(atlas, stack), *_early_and_deep(atlas, stack)]
    panels = [("all", "cls"), ("all", "sep"), ("all", "period"), ("all", "comma"), ("sep", "sep"), ("other", "sep")]
    drawings = [
        _roles_drawing(atlas, stack, query, role)
        for query, role in panels
        if _to_role(atlas, stack, role, query) is not None
    ]
    notes = [
        "Layers are compared at the same depth; a third of the layers is the first, middle or last third.",
        MEANS_NOTE,
    ]
    return _section(atlas, stack, "roles", title, rows, notes, drawings, covers="figure 2")


def breadth(atlas: Atlas) -> Section:
    """Figure 4: entropy by layer, of all tokens and of [CLS]."""
    title = "Figure 4: entropy of attention"
    stack = _stack_with(atlas, "entropy")
    if stack is None:
        return _missing("breadth", title, "figure 4", ["entropy"])
    every = picked(atlas, stack, "entropy", {"query_role": "all"})
    from_first = picked(atlas, stack, "entropy", {"query_role": "cls"})
    layers = _layers(atlas, stack, "entropy")
    name, last = role_name(atlas, stack, "cls"), [layers - 1]
    first_mean = mean_of(from_first, last, detail="last layer")
    all_mean = mean_of(every, last, detail="last layer")
    bottom, above = largest(every, [0]), largest(every, range(1, layers))
    rows = [
        Row(
            f"from {name}",
            "nats",
            Figure(paper.CLS_ENTROPY, detail="last layer"),
            first_mean,
            verdict=exceeds(first_mean, all_mean, f"in the last layer {name} looks more broadly than tokens do"),
        ),
        Row("from all tokens", "nats", None, all_mean),
        Row(
            "broadest head, layer 0",
            "nats",
            Figure(None, words="particularly high"),
            bottom,
            verdict=exceeds(bottom, above, "the first layer has the broadest head"),
        ),
        Row("broadest head, other layers", "nats", None, above),
    ]
    even = atlas.stack(stack).get("entropy_uniform")
    if even is not None:
        rows.append(Row("if even", "nats", None, Figure(float(even))))
    drawings = [
        Drawing(
            f"Entropy by layer{'' if query == 'all' else f', from {name}'}",
            "Each point is a head, with its standard error; the dashed line is attention that is even over all tokens.",
            BY_LAYER,
            lambda ax, query=query: figures.entropy_by_layer(atlas, query_role=query, stack=stack, ax=ax),
        )
        for query, values in (("all", every), ("cls", from_first))
        if values is not None
    ]
    return _section(atlas, stack, "breadth", title, rows, [MEANS_NOTE], drawings, covers="figure 4")


def _examples(atlas: Atlas, stack: str) -> dict[str, tuple[str, HeadValues | None]]:
    """For each head of figure 1 what it does, and how much of it every head does."""
    return {
        "broad": ("broad", picked(atlas, stack, "entropy", {"query_role": "all"})),
        "next": ("next token", _at_offset(atlas, stack, 1)),
        "sep": (role_name(atlas, stack, "sep"), _to_role(atlas, stack, "sep")),
        "period": (role_name(atlas, stack, "period"), _to_role(atlas, stack, "period")),
    }


def _separators(atlas: Atlas, stack: str) -> list[Row]:
    name = role_name(atlas, stack, "sep")
    layers = _same_depth(paper.SEP_LAYERS, _layers(atlas, stack, "role_attention"))
    first, last = paper.SEP_LAYERS
    published = layer_names(range(first, last + 1), as_range=True)
    every, own, others = (
        mean_of(_to_role(atlas, stack, "sep", query), layers, detail=layer_names(layers, as_range=True))
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
    even = _even(atlas, stack, "sep")
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
    count = _layers(atlas, stack, "role_attention")
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
    asked = {"all": "", "sep": f", from {role_name(atlas, stack, 'sep')}", "other": ", from other tokens"}[query]
    return Drawing(
        f"Attention to {role_name(atlas, stack, role)}{asked}",
        "Each point is a head, with its standard error; the line is the mean of each layer.",
        BY_LAYER,
        lambda ax: figures.role_by_layer(atlas, role, query_role=query, stack=stack, ax=ax),
    )


def _to_role(atlas: Atlas, stack: str, role: str, query: str = "all") -> HeadValues | None:
    return picked(atlas, stack, "role_attention", {"query_role": query, "role": role})


def _to_roles(atlas: Atlas, stack: str, roles: Sequence[str], layers: Sequence[int]) -> Figure | None:
    """The mean attention to all of these roles together."""
    total: Figure | None = None
    for role in roles:
        mean = mean_of(_to_role(atlas, stack, role), layers, detail=layer_names(layers, as_range=True))
        total = sum_of(total, mean)
    return total


def _at_offset(atlas: Atlas, stack: str, offset: int) -> HeadValues | None:
    """Attention at an offset; None for what a decoder cannot see."""
    if stack == "decoder" and offset > 0:
        return None
    return picked(atlas, stack, "offset_attention", {"offset": offset})


def _even(atlas: Atlas, stack: str, role: str) -> float | None:
    """What even attention would give a role."""
    even = atlas.stack(stack).get("role_attention_uniform")
    return None if even is None else float(even.sel(query_role="all", role=role))


def _layers(atlas: Atlas, stack: str, measure: str) -> int:
    return int(atlas.stack(stack)[measure].sizes["layer"])


def _same_depth(published: tuple[int, int], layers: int) -> list[int]:
    return same_depth(published, of=paper.SHAPE[0], layers=layers)


def _stack_with(atlas: Atlas, *measures: str) -> str | None:
    """The first stack that has all these measures."""
    return next((stack for stack in atlas.stacks if set(measures) <= set(atlas.stack(stack))), None)


def _missing(key: str, title: str, source: str, measures: Sequence[str]) -> Section:
    covers = (source,) if source in paper.ITEMS else ()
    needs = f"{source} needs --text FILE, or an atlas with {', '.join(measures)}"
    return Section(key, title, replace(paper.SURFACE, source=source), needs=needs, covers=covers)


def _section(
    atlas: Atlas,
    stack: str,
    key: str,
    title: str,
    rows: Sequence[Row],
    notes: Sequence[str],
    drawings: Sequence[Drawing],
    *,
    covers: str = "",
    source: str = "",
) -> Section:
    published: Origin = replace(paper.SURFACE, source=source or covers)
    if stack != "encoder":
        notes = [*notes, f"The paper's model is an encoder; these are the heads of a {stack}."]
    return Section(
        key,
        title,
        published,
        measured_by(atlas, stack),
        tuple(rows),
        notes=tuple(notes),
        drawings=tuple(drawings),
        covers=(covers,) if covers else (),
    )
