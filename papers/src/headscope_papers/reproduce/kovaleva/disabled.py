"""Section 4.6 of Kovaleva et al. 2019: what disabling single heads, and whole layers, does to each task."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Literal, get_args

import numpy as np

from headscope.ablation import ablate
from headscope.atlas import Atlas
from headscope.figures import ablation_grid, layer_changes
from headscope.figures.grid import grid_size
from headscope.models import Model
from headscope.tasks import Task
from headscope_papers.reproduce.ours import joined
from headscope_papers.reproduce.paper import PublishedSection
from headscope_papers.reproduce.study import Study
from headscope_papers.reproduce.sweeps import Sweep, SweepRow, sweep_in
from headscope_papers.reproduce.table import Drawing, Figure, Row, Section

Kind = Literal["heads", "layers"]


def disable(study: Study, place: int, task: Task) -> None:
    """Let single heads, and all heads of a layer, look evenly at all tokens, and see what the task loses."""

    def run(kind: Kind, model: Model, atlas: Atlas | None) -> Atlas:
        options = {"how": "uniform", "limit": study.data.examples, **study.running}
        return ablate(model, task, sweep=kind, **options).to_atlas(atlas)

    for kind in get_args(Kind):
        study.add(place, f"{kind}:{task.name}", partial(run, kind))


def disabled(section: PublishedSection, atlases: Sequence[Atlas], kind: Kind) -> Section:
    """Figure 8, one head disabled at a time; and figure 9, all heads of a layer."""
    sweeps = [sweep for atlas in atlases if (sweep := sweep_in(atlas, kind))]
    if not sweeps:
        return section.left_out()
    rows: list[Row] = []
    for sweep in sweeps:
        ending = f", {sweep.model} on {sweep.facts['data']}" if len(sweeps) > 1 else ""
        rows += (_head_rows if kind == "heads" else _layer_rows)(section, sweep, ending)
    others = [sweep.edit for sweep in sweeps if sweep.edit != "uniform"]
    return section.filled(
        joined([sweep.origin for sweep in sweeps]),
        rows,
        remarks=[section.remark("other_edit", edits=", ".join(dict.fromkeys(others)))] if others else [],
        drawings=[drawing for sweep in sweeps for drawing in _drawings(section, sweep, kind)],
        edits=max(len(sweep.rows) for sweep in sweeps),
        correction=", ".join(dict.fromkeys(str(sweep.facts["correction"]) for sweep in sweeps)),
    )


def _head_rows(section: PublishedSection, sweep: Sweep, ending: str) -> Iterable[Row]:
    row = partial(section.row, unit=sweep.change_unit, ending=ending)
    gains = np.array([sweep.gain(edit).value or 0.0 for edit in sweep.rows])
    sure = np.array([sweep.is_significant(edit) for edit in sweep.rows])
    counts = {"gain": gains > 0, "surely_gain": (gains > 0) & sure, "surely_lose": (gains < 0) & sure}
    yield section.row("untouched", sweep.baseline, unit=sweep.unit, ending=ending)
    yield row("best_head", _extreme(sweep, np.argmax(gains)), _some_gain(sweep))
    yield row("worst", _extreme(sweep, np.argmin(gains)))
    yield row("mean", _mean_gain(sweep), 0.0)
    for key, heads in counts.items():
        count = Figure(int(heads.sum()), detail=f"of {len(gains)}")
        yield section.row(key, count, _some_gain(sweep), ending=ending)


def _layer_rows(section: PublishedSection, sweep: Sweep, ending: str) -> Iterable[Row]:
    row = partial(section.row, unit=sweep.change_unit, ending=ending)
    gains = [sweep.gain(edit).value or 0.0 for edit in sweep.rows]
    yield section.row("untouched", sweep.baseline, unit=sweep.unit, ending=ending)
    yield row("first", _gain(sweep, sweep.rows[0]), 0.0)
    yield row("best_layer", _extreme(sweep, np.argmax(gains)), _some_gain(sweep))
    yield row("worst", _extreme(sweep, np.argmin(gains)))
    for edit in sweep.rows:
        yield row("layer", _gain(sweep, edit), layer=edit["name"])


def _gain(sweep: Sweep, edit: SweepRow) -> Figure:
    return sweep.gain(edit, detail="significant" if sweep.is_significant(edit) else "")


def _extreme(sweep: Sweep, place: np.intp) -> Figure:
    """The gain of an edit, by its name."""
    edit = sweep.rows[place]
    return sweep.gain(edit, detail=f"{edit['name']}{', significant' if sweep.is_significant(edit) else ''}")


def _some_gain(sweep: Sweep) -> bool | None:
    """Whether some edit is surely a gain; None where none is, but one may be."""
    gains = [(sweep.gain(edit), sweep.is_significant(edit)) for edit in sweep.rows]
    if any((gain.value or 0.0) > 0 and is_sure for gain, is_sure in gains):
        return True
    return None if any(gain.high is None or gain.high > 0 for gain, _ in gains) else False


def _mean_gain(sweep: Sweep) -> Figure:
    """The mean of all gains; its interval is as wide as if all erred together."""
    gains = [sweep.gain(edit) for edit in sweep.rows]
    ends = ([getattr(gain, name) for gain in gains] for name in ("value", "low", "high"))
    value, low, high = (None if None in values else float(np.mean(values)) for values in ends)
    return Figure(value, low, high, words="" if value is not None else "not known")


def _drawings(section: PublishedSection, sweep: Sweep, kind: Kind) -> Iterable[Drawing]:
    name, picture = ("ablation_change", ablation_grid) if kind == "heads" else ("layer_change", layer_changes)
    if name in sweep.atlas:
        sizes = sweep.atlas[name].sizes
        yield section.drawing(
            "sweep",
            picture,
            sweep.atlas,
            metric=sweep.metric.name,
            size=grid_size(sizes["layer"], sizes["head"]) if kind == "heads" else None,
            names={"model": sweep.model, "task": sweep.facts["task"], "data": sweep.facts["data"]},
        )
