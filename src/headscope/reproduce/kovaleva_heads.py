"""Sections 4.2 and 4.6 of Kovaleva et al. 2019: heads that tie words by their roles, and heads that are disabled."""

from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from headscope.atlas import Atlas
from headscope.reproduce import kovaleva_published as paper
from headscope.reproduce.clark_surface import NORMAL
from headscope.reproduce.kovaleva_attention import first_holding, origin
from headscope.reproduce.sweeps import Sweep, sweep_in
from headscope.reproduce.table import Figure, Row, Section

ERROR_RATE = 0.05
_WAYS = {"predicate_to_argument": "to the role", "argument_to_predicate": "to the predicate"}

Array = np.ndarray[Any, Any]


def roles(atlases: Sequence[Atlas]) -> Section:
    """Figure 3: the heads with most attention between a predicate and its roles, beside a control."""
    key, title = "roles", "Section 4.2, figure 3: heads for semantic roles"
    found = first_holding(atlases, "relation_overall_attention")
    if found is None:
        needs = "figure 3 needs --roles FILE, or an atlas made with headscope probe relations"
        return Section(key, title, paper.ROLES, needs=needs)
    atlas, stack = found
    arrays = {
        name: array for name, array in atlas.stack(stack).items() if name.startswith("relation_overall")
    }
    values, errors, control, difference, spread = (
        arrays[f"relation_overall_{name}"].transpose("direction", "layer", "head").values
        for name in ("attention", "attention_stderr", "control", "difference", "difference_stderr")
    )  # (direction, layer, head) each
    ways = [str(way) for way in arrays["relation_overall_attention"]["direction"].values]
    rows = []
    best = np.where(np.isnan(values), -np.inf, values).max(0)  # (layer, head)
    ranked = np.argsort(-best.ravel(), kind="stable")[: len(paper.ROLE_HEADS)]
    names = ("strongest head", "second strongest head")
    for name, published, place in zip(names, paper.ROLE_HEADS, ranked, strict=False):
        layer, head = np.unravel_index(place, best.shape)
        way = int(np.nanargmax(values[:, layer, head]))
        value, error = float(values[way, layer, head]), float(errors[way, layer, head])
        detail = f"{layer}.{head} {_WAYS[ways[way]]}, control {100 * control[way, layer, head]:.1f} %"
        rows.append(Row(name, "share", Figure(published), _figure(value, error, detail)))
    rows += [_above_control(difference, spread), *_chosen(atlas, stack)]
    return Section(
        key,
        title,
        paper.ROLES,
        origin(found, "relations"),
        tuple(rows),
        notes=(
            "The strongest attention between the words of predicate and role, mean over pairs. The control is the same "
            "at the same distance elsewhere in the sentence; the paper has none.",
            "The paper's two heads lie above the 99th percentile of its 144 heads, as any two strongest of 144 do. "
            "Which heads they are is shown in its figure.",
            "The strongest heads are chosen on the texts they are measured on, here as in the paper; the head chosen "
            "against its control is scored on other texts.",
        ),
    )


def _above_control(difference: Array, spread: Array) -> Row:
    """How many heads give roles surely more than other words, all heads and directions considered."""
    known = np.isfinite(spread) & (spread > 0)
    reach = NormalDist().inv_cdf(1 - ERROR_RATE / (2 * max(1, int(known.sum()))))
    sure = (known & (difference > reach * np.where(known, spread, 0))).any(0)  # (layer, head)
    return Row(
        "heads for roles",
        "heads",
        Figure(len(paper.ROLE_HEADS), detail="of 144"),
        Figure(int(sure.sum()), detail=f"of {sure.size}"),
        note="the paper's stand out in a picture; ours are surely above their control, corrected for all heads",
    )


def _chosen(atlas: Atlas, stack: str) -> list[Row]:
    """The head that was chosen by its difference on other sentences."""
    row = next((row for row in atlas.table("relations", stack=stack) if row["role"] == "all"), None)
    if row is None or row["difference"] is None:
        return []
    detail = f"{row['head']} {_WAYS[row['direction']]}"
    figure = Figure(row["difference"], row["low"], row["high"], detail, row["cases"])
    return [Row("best head less its control", "share", None, figure)]


def heads(atlases: Sequence[Atlas]) -> Section:
    """Figure 8: one head disabled at a time."""
    return _disabled(
        atlases, "heads", "Section 4.6, figure 8: single heads disabled", rows=_head_rows, what="figure 8"
    )


def layers(atlases: Sequence[Atlas]) -> Section:
    """Figure 9: all heads of a layer disabled."""
    return _disabled(
        atlases, "layers", "Section 4.6, figure 9: whole layers disabled", rows=_layer_rows, what="figure 9"
    )


def _disabled(
    atlases: Sequence[Atlas], name: str, title: str, *, rows: Callable[[Sweep], list[Row]], what: str
) -> Section:
    key = f"disabled_{name}"
    sweep = next((one for atlas in atlases if (one := sweep_in(atlas, name))), None)
    if sweep is None:
        needs = (
            f"{what} needs --task NAME and --data FILE, or an atlas made with headscope ablate --sweep {name} "
            "--edit uniform"
        )
        return Section(key, title, paper.DISABLING, needs=needs)
    notes = [
        "A gain is in points of the score, better than untouched being above 0. Ours are paired by example.",
        f"The best of {len(sweep.rows)} gains is mostly above 0 even if no edit matters; surely is after correction "
        f"({sweep.facts['correction']}) for as many. The published gains come without intervals. The interval beside a "
        "best or worst one is not corrected.",
    ]
    if sweep.edit != "uniform":
        notes.append(
            "The paper disables heads by letting them look evenly at all tokens (uniform); this sweep is with "
            f"{sweep.edit}."
        )
    if name == "layers":
        notes.append("For QNLI and MNLI the paper reports losses of up to 0.2 points instead.")
    return Section(key, title, paper.DISABLING, sweep.origin, tuple(rows(sweep)), notes=tuple(notes))


def _head_rows(sweep: Sweep) -> list[Row]:
    mean = _mean_gain(sweep)
    return [
        Row("untouched", sweep.unit, None, sweep.baseline),
        Row("best gain by one head", sweep.change_unit, paper.BEST_HEAD, _extreme(sweep, best=True)),
        Row("worst loss by one head", sweep.change_unit, None, _extreme(sweep, best=False)),
        Row("mean over heads", sweep.change_unit, paper.MEAN_HEAD, mean),
        *_counts(sweep, "heads"),
    ]


def _layer_rows(sweep: Sweep) -> list[Row]:
    first = sweep.rows[0]
    return [
        Row("untouched", sweep.unit, None, sweep.baseline),
        Row("first layer", sweep.change_unit, paper.FIRST_LAYER, sweep.gain(first, detail=_sure(sweep, first))),
        Row("best gain by one layer", sweep.change_unit, None, _extreme(sweep, best=True)),
        Row("worst loss by one layer", sweep.change_unit, None, _extreme(sweep, best=False)),
        *(
            Row(str(row["name"]), sweep.change_unit, None, sweep.gain(row, detail=_sure(sweep, row)))
            for row in sweep.rows
        ),
    ]  # fmt: skip


def _extreme(sweep: Sweep, *, best: bool) -> Figure:
    gains = [gain.value or 0.0 for gain in map(sweep.gain, sweep.rows)]
    place = int(np.argmax(gains) if best else np.argmin(gains))
    row = sweep.rows[place]
    sure = _sure(sweep, row)
    return sweep.gain(row, detail=f"{row['name']}{f', {sure}' if sure else ''}")


def _mean_gain(sweep: Sweep) -> Figure:
    """The mean of all gains; its interval is as wide as if all erred together."""
    gains = [sweep.gain(row) for row in sweep.rows]
    value, low, high = (
        float(np.mean([getattr(gain, name) for gain in gains]))
        if all(getattr(gain, name) is not None for gain in gains)
        else None
        for name in ("value", "low", "high")
    )
    return Figure(value, low, high, words="" if value is not None else "not known")


def _counts(sweep: Sweep, unit: str) -> list[Row]:
    gains = [sweep.gain(row).value or 0.0 for row in sweep.rows]
    sure = [sweep.is_significant(row) for row in sweep.rows]
    better = sum(gain > 0 for gain in gains)
    surely = sum(gain > 0 and one for gain, one in zip(gains, sure, strict=True))
    worse = sum(gain < 0 and one for gain, one in zip(gains, sure, strict=True))
    some = Figure(None, words="some, in all tasks")
    told = f"of {len(gains)}"
    return [
        Row(f"{unit} that gain", "heads", some, Figure(better, detail=told)),
        Row(f"{unit} that surely gain", "heads", None, Figure(surely, detail=told)),
        Row(f"{unit} that surely lose", "heads", None, Figure(worse, detail=told)),
    ]


def _sure(sweep: Sweep, row: Any) -> str:
    return "significant" if sweep.is_significant(row) else ""


def _figure(value: float, error: float, detail: str) -> Figure:
    if np.isnan(error):
        return Figure(value, detail=detail)
    return Figure(value, value - NORMAL * error, value + NORMAL * error, detail)
