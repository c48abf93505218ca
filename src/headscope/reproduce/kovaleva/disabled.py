"""Section 4.6 of Kovaleva et al. 2019: what disabling single heads, and whole layers, does to each task."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from headscope.ablation import ablate
from headscope.atlas import Atlas
from headscope.figures import ablation_grid, layer_changes
from headscope.figures.grid import grid_size
from headscope.models import Model
from headscope.reproduce.gather import Study
from headscope.reproduce.kovaleva import published as paper
from headscope.reproduce.kovaleva.sources import drawn, joined
from headscope.reproduce.sweeps import Sweep, sweep_in
from headscope.reproduce.table import Drawing, Figure, Origin, Row, Section
from headscope.reproduce.tasks import PlacedTask
from headscope.reproduce.verdicts import exceeds, holds

Kind = Literal["heads", "layers"]
Rows = Callable[[Sweep, str], list[Row]]


def disable(study: Study, placed: PlacedTask, examples: int | None) -> None:
    """Let single heads, and all heads of a layer, look evenly at all tokens, and see what the task loses."""
    task = placed.task

    def run(kind: Kind) -> Callable[[Model, Atlas | None], Atlas]:
        return lambda model, atlas: ablate(
            model,
            task,
            sweep=kind,
            how="uniform",
            limit=examples,
            batch_size=study.batch_size,
            progress=study.progress,
        ).to_atlas(atlas)

    kinds: tuple[Kind, ...] = ("heads", "layers")
    for kind in kinds:
        study.add(placed.place, f"{kind}:{task.name}", run(kind))


def heads(atlases: Sequence[Atlas]) -> Section:
    """Figure 8: one head disabled at a time."""
    title = "Section 4.6, figure 8: single heads disabled"
    return _section(atlases, "heads", title, paper.DISABLED_HEADS, _head_rows)


def layers(atlases: Sequence[Atlas]) -> Section:
    """Figure 9: all heads of a layer disabled."""
    title = "Section 4.6, figure 9: whole layers disabled"
    return _section(atlases, "layers", title, paper.DISABLED_LAYERS, _layer_rows)


def _section(atlases: Sequence[Atlas], kind: Kind, title: str, published: Origin, rows: Rows) -> Section:
    key, covers = f"disabled_{kind}", ("figure 8" if kind == "heads" else "figure 9",)
    found = [(atlas, sweep) for atlas in atlases if (sweep := sweep_in(atlas, kind))]
    if not found:
        needs = (
            f"{covers[0]} needs --task NAME and --data FILE, or an atlas made with headscope ablate --sweep {kind} "
            "--edit uniform"
        )
        return Section(key, title, published, needs=needs, covers=covers)
    sweeps = [sweep for _, sweep in found]
    endings = [f", {sweep.model} on {sweep.facts['data']}" if len(found) > 1 else "" for sweep in sweeps]
    return Section(
        key,
        title,
        published,
        joined([sweep.origin for sweep in sweeps]),
        tuple(row for sweep, ending in zip(sweeps, endings, strict=True) for row in rows(sweep, ending)),
        notes=tuple(_notes(sweeps)),
        drawings=tuple(drawing for atlas, sweep in found for drawing in _drawings(atlas, sweep, kind)),
        covers=covers,
    )


def _notes(sweeps: Sequence[Sweep]) -> list[str]:
    most = max(len(sweep.rows) for sweep in sweeps)
    corrections = ", ".join(dict.fromkeys(str(sweep.facts["correction"]) for sweep in sweeps))
    notes = [
        "A gain is in points of the score, better than untouched being above 0. Ours are paired by example.",
        f"The best of {most} gains is mostly above 0 even if no edit matters; surely is after correction "
        f"({corrections}) for as many. The published gains come without intervals. The interval beside a best or worst "
        "one is not corrected.",
    ]
    if other := [sweep for sweep in sweeps if sweep.edit != "uniform"]:
        edits = ", ".join(dict.fromkeys(sweep.edit for sweep in other))
        notes.append(
            f"The paper disables heads by letting them look evenly at all tokens (uniform); this sweep is with {edits}."
        )
    return notes


def _drawings(atlas: Atlas, sweep: Sweep, kind: Kind) -> list[Drawing]:
    name = "ablation_change" if kind == "heads" else "layer_change"
    if name not in atlas:
        return []
    sizes = atlas[name].sizes
    size = grid_size(sizes["layer"], sizes["head"]) if kind == "heads" else (5.6, 3.2)
    picture = ablation_grid if kind == "heads" else layer_changes
    significant = "Framed cells" if kind == "heads" else "Coloured bars"
    return [
        Drawing(
            f"{'Single heads' if kind == 'heads' else 'Whole layers'} disabled, {sweep.model}",
            f"{sweep.facts['task']} on {sweep.facts['data']}. {significant} are significant after correction.",
            size,
            drawn(picture, atlas, metric=sweep.metric),
        )
    ]


def _head_rows(sweep: Sweep, ending: str) -> list[Row]:
    average = _mean_gain(sweep)
    finding = "disabling a random head is a gain on average"
    return [
        Row(f"untouched{ending}", sweep.unit, None, sweep.baseline),
        Row(
            f"best gain by one head{ending}",
            sweep.change_unit,
            paper.BEST_HEAD,
            _extreme(sweep, best=True),
            verdict=holds(_some_gain(sweep), "disabling some head is a gain"),
        ),
        Row(f"worst loss by one head{ending}", sweep.change_unit, None, _extreme(sweep, best=False)),
        Row(
            f"mean over heads{ending}",
            sweep.change_unit,
            paper.MEAN_HEAD,
            average,
            verdict=exceeds(average, 0.0, finding) or holds(None, finding),
        ),
        *_counts(sweep, ending),
    ]


def _layer_rows(sweep: Sweep, ending: str) -> list[Row]:
    first = sweep.rows[0]
    ours = sweep.gain(first, detail=_sure(sweep, first))
    finding = "disabling the first layer is a gain"
    return [
        Row(f"untouched{ending}", sweep.unit, None, sweep.baseline),
        Row(
            f"first layer{ending}",
            sweep.change_unit,
            paper.FIRST_LAYER,
            ours,
            verdict=exceeds(ours, 0.0, finding) or holds(None, finding),
        ),
        Row(
            f"best gain by one layer{ending}",
            sweep.change_unit,
            paper.BEST_LAYER,
            _extreme(sweep, best=True),
            verdict=holds(_some_gain(sweep), "disabling some layer is a gain"),
        ),
        Row(f"worst loss by one layer{ending}", sweep.change_unit, None, _extreme(sweep, best=False)),
        *(
            Row(f"{row['name']}{ending}", sweep.change_unit, None, sweep.gain(row, detail=_sure(sweep, row)))
            for row in sweep.rows
        ),
    ]


def _some_gain(sweep: Sweep) -> bool | None:
    """Whether some edit is surely a gain; None where none is, but one may be."""
    gains = [sweep.gain(row) for row in sweep.rows]
    if any(
        (gain.value or 0.0) > 0 and sweep.is_significant(row)
        for gain, row in zip(gains, sweep.rows, strict=True)
    ):
        return True
    may_gain = any(gain.high is None or gain.high > 0 for gain in gains)
    return None if may_gain else False


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


def _counts(sweep: Sweep, ending: str) -> list[Row]:
    gains = [sweep.gain(row).value or 0.0 for row in sweep.rows]
    sure = [sweep.is_significant(row) for row in sweep.rows]
    better = sum(gain > 0 for gain in gains)
    surely = sum(gain > 0 and one for gain, one in zip(gains, sure, strict=True))
    worse = sum(gain < 0 and one for gain, one in zip(gains, sure, strict=True))
    told = f"of {len(gains)}"
    verdict = holds(_some_gain(sweep), "disabling some head is a gain")
    return [
        Row(
            f"heads that gain{ending}",
            "heads",
            paper.SOME_HEADS,
            Figure(better, detail=told),
            verdict=verdict,
        ),
        Row(f"heads that surely gain{ending}", "heads", None, Figure(surely, detail=told)),
        Row(f"heads that surely lose{ending}", "heads", None, Figure(worse, detail=told)),
    ]


def _sure(sweep: Sweep, row: Any) -> str:
    return "significant" if sweep.is_significant(row) else ""
