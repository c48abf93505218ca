"""Section 3 of Clark et al. 2019: figures 1 and 4, and the heads that look at the next or previous token."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from headscope import figures
from headscope.atlas import Atlas
from headscope.facts.slices import HeadValues
from headscope.facts.vocabulary import role_name
from headscope.figures.maps import example_maps_size
from headscope.reproduce.clark import published as paper
from headscope.reproduce.over_heads import (
    COUNTS_NOTE,
    MEANS_NOTE,
    count_above,
    even_share,
    largest,
    layer_count,
    layer_names,
    mean_of,
    measured_by,
    median_head,
    picked,
    stack_with,
    to_role,
)
from headscope.reproduce.table import Drawing, Figure, Row, Section, Unit
from headscope.reproduce.verdicts import exceeds, falls_below

__all__ = [
    "BY_LAYER",
    "MEASURES",
    "MOST",
    "breadth",
    "example_heads",
    "left_out",
    "measured_by",
    "measured_section",
    "neighbours",
]  # measured_by is over_heads' own; the modules of other papers take it from here

MEASURES = ("offset_attention", "role_attention", "entropy", "example_map")
MOST = 0.5
LITTLE = 0.1
BY_LAYER = (5.2, 3.4)


def example_heads(atlas: Atlas) -> Section:
    """Figure 1: a broad head, one for the next token, one for [SEP], one for full stops."""
    title = "Figure 1: heads with plain patterns"
    stack = stack_with(atlas, "offset_attention", "role_attention", "entropy")
    if stack is None:
        return left_out("example_heads", title, "figure 1", MEASURES)
    patterns = _patterns(atlas, stack)
    rows = [row for pattern in patterns for row in _pattern_rows(pattern)]
    notes = [
        "The strongest head is chosen on the texts it is shown on. The median head is the control.",
    ]
    drawings = []
    if "example_map" in atlas.stack(stack):
        strongest = {pattern.name: largest(pattern.values) for pattern in patterns}
        control = {"control": median_head(patterns[0].values)}
        shown = {name: head.detail for name, head in (strongest | control).items() if head is not None}
        drawings.append(
            Drawing(
                "Heads with plain patterns",
                "Attention on one text of the corpus: queries run down, keys across. The text is chosen by its tokens, "
                "not by what heads do on it. The control is the head of median entropy.",
                example_maps_size(len(shown)),
                lambda ax: figures.example_maps(atlas, shown, stack=stack, ax=ax),
                is_wide=True,
            )
        )
    else:
        notes.append("To see the maps, analyse with the measure example_map.")
    return measured_section(
        atlas, stack, "example_heads", title, rows=rows, notes=notes, drawings=drawings, covers="figure 1"
    )


def neighbours(atlas: Atlas) -> Section:
    """Section 3.1: heads that look at the previous or next token, and how few look at the current one."""
    title = "Section 3.1: relative position"
    stack = stack_with(atlas, "offset_attention")
    if stack is None:
        return left_out("neighbours", title, "section 3.1", ["offset_attention"])
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
        ours, half = replace(count_above(own, LITTLE), detail=""), len(own.order()) / 2
        finding = "most heads give the current token little"
        note = f"little is read as at most {100 * LITTLE:.0f} %, most as more than half of the heads"
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
    return measured_section(
        atlas, stack, "neighbours", title, rows=rows, notes=notes, drawings=[drawing], source="section 3.1"
    )


def breadth(atlas: Atlas) -> Section:
    """Figure 4: entropy by layer, of all tokens and of [CLS]."""
    title = "Figure 4: entropy of attention"
    stack = stack_with(atlas, "entropy")
    if stack is None:
        return left_out("breadth", title, "figure 4", ["entropy"])
    every = picked(atlas, stack, "entropy", {"query_role": "all"})
    from_first = picked(atlas, stack, "entropy", {"query_role": "cls"})
    layers = layer_count(atlas, stack, "entropy")
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
            verdict=exceeds(
                first_mean, all_mean, f"in the last layer {name} looks more broadly than tokens do"
            ),
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
        _entropy_drawing(atlas, stack, query)
        for query, values in (("all", every), ("cls", from_first))
        if values is not None
    ]
    return measured_section(
        atlas, stack, "breadth", title, rows=rows, notes=[MEANS_NOTE], drawings=drawings, covers="figure 4"
    )


@dataclass(frozen=True)
class _Pattern:
    """What a head of figure 1 does, how much of it every head does, and what counts as doing it."""

    name: str
    head: str
    unit: Unit
    values: HeadValues | None
    limit: float | None
    finding: str


def _patterns(atlas: Atlas, stack: str) -> list[_Pattern]:
    """The heads of figure 1 in its order."""
    heads, least = paper.EXAMPLE_HEADS, math.log(1 / paper.BROAD)
    sep, period = (role_name(atlas, stack, role) for role in ("sep", "period"))
    even = even_share(atlas, stack, "period")
    return [
        _Pattern(
            "broad",
            heads["broad"],
            "nats",
            picked(atlas, stack, "entropy", {"query_role": "all"}),
            least,
            f"a head attends broadly: over {least:.1f} nats, as at most {100 * paper.BROAD:.0f} % to any token implies",
        ),
        _Pattern(
            "next token",
            heads["next"],
            "share",
            _at_offset(atlas, stack, 1),
            MOST,
            "a head gives the next token over half of its attention",
        ),
        _Pattern(
            sep,
            heads["sep"],
            "share",
            to_role(atlas, stack, "sep"),
            MOST,
            f"a head gives {sep} over half of its attention",
        ),
        _Pattern(
            period,
            heads["period"],
            "share",
            to_role(atlas, stack, "period"),
            even,
            f"a head gives {period} more than an even share",
        ),
    ]


def _pattern_rows(pattern: _Pattern) -> list[Row]:
    ours = largest(pattern.values)
    published = Figure(None, words="shown", detail=paper.counted_from_0(pattern.head))
    verdict = exceeds(ours, pattern.limit, pattern.finding)
    return [
        Row(f"{pattern.name}, strongest head", pattern.unit, published, ours, verdict=verdict),
        Row(f"{pattern.name}, median head", pattern.unit, None, median_head(pattern.values)),
    ]


def _entropy_drawing(atlas: Atlas, stack: str, query: str) -> Drawing:
    return Drawing(
        f"Entropy by layer{'' if query == 'all' else f', from {role_name(atlas, stack, query)}'}",
        "Each point is a head, with its standard error; the dashed line is attention that is even over all tokens.",
        BY_LAYER,
        lambda ax: figures.entropy_by_layer(atlas, query_role=query, stack=stack, ax=ax),
    )


def _at_offset(atlas: Atlas, stack: str, offset: int) -> HeadValues | None:
    """Attention at an offset; None for what a decoder cannot see."""
    if stack == "decoder" and offset > 0:
        return None
    return picked(atlas, stack, "offset_attention", {"offset": offset})


def left_out(key: str, title: str, source: str, measures: Sequence[str]) -> Section:
    """A section for which the atlas lacks measures."""
    covers = (source,) if source in paper.ITEMS else ()
    needs = f"{source} needs --text FILE, or an atlas with {', '.join(measures)}"
    return Section(key, title, replace(paper.SURFACE, source=source), needs=needs, covers=covers)


def measured_section(
    atlas: Atlas,
    stack: str,
    key: str,
    title: str,
    *,
    rows: Sequence[Row],
    notes: Sequence[str],
    drawings: Sequence[Drawing],
    covers: str = "",
    source: str = "",
) -> Section:
    """A section on what was measured on text."""
    published = replace(paper.SURFACE, source=source or covers)
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
