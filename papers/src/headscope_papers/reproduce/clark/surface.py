"""Sections 3 and 6 of Clark et al. 2019: what heads look at, how broadly, how it matters, and how alike they are."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from headscope import figures
from headscope.atlas import Atlas
from headscope.errors import AtlasError, ModelError
from headscope.facts.slices import HeadValues
from headscope.facts.vocabulary import key_name, offset_name, role_name
from headscope.facts.wording import count
from headscope.figures.texts.maps import example_maps_size
from headscope.importance import gradient_importance
from headscope.kinds.likeness import Likeness
from headscope.tasks import LanguageModelling, MaskedLanguageModelling, NextToken, with_head
from headscope.trace import surveyed
from headscope_papers.reproduce import ours as read
from headscope_papers.reproduce.paper import PublishedSection, published
from headscope_papers.reproduce.study import Study
from headscope_papers.reproduce.table import Figure, Origin, Row, Section

CLARK = published("clark2019")
DISTANCE = "head_distance"
MEASURES = ("offset_attention", "role_attention", "entropy", "example_map", DISTANCE)
EXAMPLES = 100
"""Segments that the gradient is averaged over."""
MOST = 0.5
LITTLE = 0.1
SURE = 0.05
_LOSSES = {"mlm": "loss of masked tokens", "lm": "loss of the next token"}
_PANELS = (
    ("all", "cls"),
    ("all", "sep"),
    ("all", "period"),
    ("all", "comma"),
    ("sep", "sep"),
    ("other", "sep"),
)
"""Of figure 2: from which tokens, and to which."""


def fill_gradient(study: Study) -> None:
    """Add the gradient of the language-modelling loss, where the study's first model has a head for one."""
    model, data, text = study.models[0], study.data, study.data.read
    assert text is not None
    examples = min(data.examples or EXAMPLES, data.limit or data.examples or EXAMPLES)
    task: LanguageModelling = (
        NextToken(text, max_length=data.max_length, limit=examples)
        if all(grid.causal for grid in surveyed(model).stacks.grids)
        else MaskedLanguageModelling(text, max_length=data.max_length, limit=examples, seed=data.seed)
    )
    try:
        headed = with_head(model, task.head)
        task.check(headed)
    except ModelError:  # no such head: the section says what it needs
        return

    def run(_: object, atlas: Atlas | None) -> Atlas:
        return gradient_importance(headed, task, **study.running).to_atlas(atlas)

    study.add(0, "importance", run)


def example_heads(section: PublishedSection, atlas: Atlas) -> Section:
    """Figure 1: a broad head, one for the next token, one for [SEP], one for full stops; each beside a median head."""
    stack = read.stack_with(atlas, "offset_attention", "role_attention", "entropy")
    if stack is None:
        return section.left_out()
    entropy = read.picked(atlas, stack, "entropy", query_role="all")
    patterns: dict[str, tuple[HeadValues | None, float | None]] = {
        "broad": (entropy, math.log(1 / CLARK.facts["broad"])),
        "next": (_at_offset(atlas, stack, 1), MOST),
        "sep": (read.to_role(atlas, stack, "sep"), MOST),
        "period": (read.to_role(atlas, stack, "period"), read.even_share(atlas, stack, "period")),
    }
    names: dict[str, Any] = {role: role_name(atlas, stack, role) for role in ("sep", "period")}
    rows: list[Row] = []
    shown: dict[str, str] = {}
    for key, (values, limit) in patterns.items():
        row = section.row(key, read.largest(values), limit, limit=limit, **names)
        median = replace(row, published=None, ours=read.median_head(values), verdict=None)
        rows += [
            replace(each, quantity=f"{row.quantity}, {which} head")
            for which, each in (("strongest", row), ("median", median))
        ]
        if row.ours is not None:
            shown[row.quantity] = row.ours.detail
    if (control := read.median_head(entropy)) is not None:
        shown["control"] = control.detail
    if "example_map" not in atlas.stack(stack):
        return _measured(section, atlas, stack, rows, remarks=[section.remark("no_maps")])
    size = example_maps_size(len(shown))
    maps = section.drawing("maps", figures.example_maps, atlas, shown, stack=stack, size=size)
    return _measured(section, atlas, stack, rows, drawings=[maps])


def neighbours(section: PublishedSection, atlas: Atlas) -> Section:
    """Section 3.1: heads that look at the previous or next token, and how few look at the current one."""
    stack = read.stack_with(atlas, "offset_attention")
    if stack is None:
        return section.left_out()
    rows = []
    for name, offset in (("previous", -1), ("next", 1)):
        values = _at_offset(atlas, stack, offset)
        rows.append(section.row(name, None if values is None else read.count_above(values, MOST), MOST))
    own = _at_offset(atlas, stack, 0)
    if own is not None:
        count = replace(read.count_above(own, LITTLE), detail="")
        rows.append(section.row("current", count, len(own.order()) / 2))
        rows.append(section.row("current_mean", read.mean_of(own)))
    drawing = section.drawing("offsets", figures.offset_profile, atlas, stack=stack)
    remarks = [section.remark("decoder")] if stack == "decoder" else []
    return _measured(section, atlas, stack, rows, remarks=remarks, drawings=[drawing])


def roles(section: PublishedSection, atlas: Atlas) -> Section:
    """Figure 2: attention to [CLS], [SEP], full stops and commas by layer; to [SEP] from [SEP] and from others."""
    stack = read.stack_with(atlas, "role_attention")
    if stack is None:
        return section.left_out()
    count, name = read.layer_count(atlas, stack, "role_attention"), role_name(atlas, stack, "sep")

    def mean(role: str, layers: list[int], query: str = "all") -> Figure | None:
        detail = read.layer_names(layers, as_range=True)
        return read.mean_of(read.to_role(atlas, stack, role, query), layers, detail=detail)

    layers = _same_depth("sep_layers", count)
    every, own, others = (mean("sep", layers, query) for query in ("all", "sep", "other"))
    even = read.even_share(atlas, stack, "sep")
    rows = [
        section.row("sep", every, MOST, sep=name),
        section.row("sep_to_sep", own, 0.9, sep=name),
        section.row("others_to_sep", others, own, sep=name),
    ]
    if even is not None and every is not None:
        rows.append(section.row("sep_if_even", Figure(even), even, tested=every, sep=name))
    for third, keys in (("first_third", ("cls",)), ("last_third", ("period", "comma"))):
        role = role_name(atlas, stack, "cls") if keys == ("cls",) else "full stops and commas"
        chosen = _same_depth(third, count)
        rest = [layer for layer in range(count) if layer not in chosen]
        inside, outside = (read.sum_of([mean(key, part) for key in keys]) for part in (chosen, rest))
        rows.append(section.row(third, inside, outside, role=role))
        rows.append(section.row("other_layers", outside, role=role))
    asking = {"all": "", "sep": f", from {name}", "other": ", from other tokens"}
    drawings = [
        section.drawing(
            "role",
            figures.role_by_layer,
            atlas,
            role,
            query_role=query,
            stack=stack,
            names={"role": role_name(atlas, stack, role), "query": asking[query]},
        )
        for query, role in _PANELS
        if read.to_role(atlas, stack, role, query) is not None
    ]
    return _measured(section, atlas, stack, rows, drawings=drawings)


def gradient(section: PublishedSection, atlas: Atlas) -> Section:
    """Figure 3: from layer 4 on, changing attention to [SEP] hardly changes the loss."""
    stack = read.stack_with(atlas, "gradient_layer")
    if stack is None:
        return section.left_out()
    arrays, units = atlas.stack(stack), atlas.sample_size("gradient_layer")
    late = _same_depth("no_op_layers", read.layer_count(atlas, stack, "gradient_layer"))
    early = [layer for layer in range(arrays["gradient_layer"].sizes["layer"]) if layer not in late]

    def mean(role: str, layers: list[int]) -> Figure | None:
        errors = arrays.get("gradient_layer_stderr")
        values = arrays["gradient_layer"].sel(role=role).values[layers]
        spread = None if errors is None else errors.sel(role=role).values[layers]
        return read.mean(values, spread, units, detail=read.layer_names(layers, as_range=True))

    names = {role: key_name(atlas, stack, role) for role in ("sep", "other", "punctuation")}
    sep_late = mean("sep", late)
    rows = [
        section.row("sep_later", sep_late, mean("other", late), sep=names["sep"]),
        section.row("sep_first", mean("sep", early), sep_late, sep=names["sep"]),
    ]
    for role in ("other", "punctuation"):
        rows.append(section.row("later", mean(role, late), role=names[role]))
        rows.append(section.row("first", mean(role, early), role=names[role]))
    facts = read.probe_facts(atlas, "importance")
    task = str(facts.get("options", {}).get("task"))
    loss = _LOSSES.get(task, f"loss of the task {task}")
    return section.filled(
        Origin(read.model_of(atlas, stack), f"{facts['data']}, {count(facts['texts'], 'text')}; {loss}"),
        rows,
        remarks=[] if task == "mlm" else [section.remark("other_loss", loss=loss)],
        drawings=[section.drawing("layers", figures.gradient_by_layer, atlas, stack=stack)],
    )


def breadth(section: PublishedSection, atlas: Atlas) -> Section:
    """Figure 4: entropy by layer, of all tokens and of [CLS]."""
    stack = read.stack_with(atlas, "entropy")
    if stack is None:
        return section.left_out()
    values = {query: read.picked(atlas, stack, "entropy", query_role=query) for query in ("all", "cls")}
    layers = read.layer_count(atlas, stack, "entropy")
    name: dict[str, Any] = {"cls": role_name(atlas, stack, "cls")}
    last = {
        query: read.mean_of(entropy, [layers - 1], detail="last layer") for query, entropy in values.items()
    }
    above = read.largest(values["all"], range(1, layers))
    rows = [
        section.row("cls", last["cls"], last["all"], **name),
        section.row("all", last["all"]),
        section.row("first_layer", read.largest(values["all"], [0]), above),
        section.row("other_layers", above),
    ]
    even = atlas.stack(stack).get("entropy_uniform")
    if even is not None:
        rows.append(section.row("even", Figure(float(even))))
    drawings = [
        section.drawing(query, figures.entropy_by_layer, atlas, query_role=query, stack=stack, names=name)
        for query, entropy in values.items()
        if entropy is not None
    ]
    return _measured(section, atlas, stack, rows, drawings=drawings)


def distances(section: PublishedSection, atlas: Atlas, *, seed: int) -> Section:
    """Figure 6: heads of a layer are often fairly close to each other."""
    stack = read.stack_with(atlas, DISTANCE)
    if stack is None:
        return section.left_out()
    try:
        likeness = Likeness(atlas, stack=stack)
        test = likeness.layer_test(seed=seed)
    except AtlasError as error:
        return section.left_out(f"figure 6 is left out: {error}")
    layers = np.array([head.layer for head in likeness.heads])
    same = layers[:, None] == layers[None, :]  # (head, head)
    pairs = {"within": same & ~np.eye(len(layers), dtype=bool), "between": ~same}
    errors, units = atlas.stack(stack).get(f"{DISTANCE}_stderr"), atlas.sample_size(DISTANCE)
    means = {
        name: read.figure(value, None if errors is None else float(errors.values[pairs[name]].mean()), units)
        for name, value in (("within", test.within), ("between", test.between))
    }
    is_closer = True if test.p_value < SURE else False if test.p_farther < SURE else None
    rows = [
        section.row("within", means["within"], is_closer),
        section.row("between", means["between"]),
        section.row("chance", Figure(test.p_value, detail=f"{test.permutations:,} permutations")),
    ]
    drawings = [section.drawing("layer", figures.head_map, atlas, color="layer", seed=seed, stack=stack)]
    offset = -1 if stack == "decoder" else 1  # a decoder cannot look ahead
    behaviours: list[tuple[str, str, dict[str, str | int]]] = [
        (offset_name(offset), "offset_attention", {"offset": offset}),
        (role_name(atlas, stack, "sep"), "role_attention", {"query_role": "all", "role": "sep"}),
    ]
    drawings += [
        section.drawing(
            "behaviour",
            figures.head_map,
            atlas,
            color=measure,
            select=select,
            seed=seed,
            stack=stack,
            names={"name": name},
        )
        for name, measure, select in behaviours
        if read.picked(atlas, stack, measure, **select) is not None
    ]
    return section.filled(read.measured_by(atlas, stack), rows, drawings=drawings)


def _measured(
    section: PublishedSection, atlas: Atlas, stack: str, rows: Sequence[Row], **contents: Any
) -> Section:
    """A section on what was measured on text, with a remark where that is no encoder."""
    if stack != "encoder":
        remark = CLARK.facts["other_stack"].format(stack=stack)
        contents["remarks"] = [*contents.get("remarks", ()), remark]
    return section.filled(read.measured_by(atlas, stack), rows, **contents)


def _at_offset(atlas: Atlas, stack: str, offset: int) -> HeadValues | None:
    """Attention at an offset; None for what a decoder cannot see."""
    if stack == "decoder" and offset > 0:
        return None
    return read.picked(atlas, stack, "offset_attention", offset=offset)


def _same_depth(published_layers: str, layers: int) -> list[int]:
    """The layers of ours that are as deep as these of the paper's."""
    first, last = CLARK.facts[published_layers]
    return read.same_depth((first, last), of=CLARK.shape[0], layers=layers)
