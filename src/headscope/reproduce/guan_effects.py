"""Tables 2 and 3 of Guan et al. 2020: what becomes of a task without each kind of heads."""

from typing import Literal

from headscope.ablation import ablate
from headscope.atlas import Atlas
from headscope.heads.kind_names import PUBLISHED
from headscope.models import Model
from headscope.reproduce.sweeps import UNIFORM, Sweep, beside, sweep_in
from headscope.reproduce.table import Figure, Origin, Row, Section
from headscope.tasks import Task

SWEEP = "types"
BASELINE = 0.8968
F1 = {
    "zero": {"dense": 0.8762, "diagonal": 0.0755, "dense&vertical": 0.8192, "vertical": 0.8857},
    "uniform": {"dense": 0.8417, "diagonal": 0.0607, "dense&vertical": 0.1115, "vertical": 0.5909},
}
"""F1 on SQuAD with a kind of heads edited."""
WORDS = {"zero": "pruned", "uniform": "uniform"}

TITLE = "Tables 2 and 3: kinds of heads pruned, or made to look evenly"
NEEDS = (
    "tables 2 and 3 need --task NAME and --data FILE, or an atlas with such a sweep: headscope ablate MODEL --task qa "
    "--data FILE --sweep types -o ATLAS"
)


def with_effects(
    atlas: Atlas,
    model: Model,
    task: Task,
    *,
    limit: int | None,
    batch_size: int | Literal["auto"],
    progress: bool,
) -> Atlas:
    """The atlas with both sweeps over its kinds of heads: zeroed and uniform."""
    zero, uniform = (
        ablate(
            model,
            task,
            sweep="types",
            how=how,
            atlas=atlas,
            limit=limit,
            batch_size=batch_size,
            progress=progress,
        )
        for how in ("zero", "uniform")
    )
    return beside(zero.to_atlas(atlas), uniform)


def effects(atlas: Atlas, model: str) -> Section:
    """The score with each kind of heads edited, and its change."""
    published = Origin(model, "fine-tuned on SQuAD, F1 on its development set")
    found = sweeps_of(atlas)
    if not found:
        return Section("effects", TITLE, published, needs=NEEDS)
    first = next(iter(found.values()))
    rows = [Row("untouched", first.unit, Figure(BASELINE), first.baseline)]
    for edit in F1:
        rows += _rows(edit, found.get(edit))
    return Section(
        "effects", TITLE, published, first.origin, tuple(rows), heading="kind", notes=_notes(found, first)
    )


def sweeps_of(atlas: Atlas) -> dict[str, Sweep]:
    """The sweeps over kinds by what was done to heads, of what the paper did."""
    both = (sweep_in(atlas, SWEEP), sweep_in(atlas, SWEEP, probe=UNIFORM))
    return {one.edit: one for one in both if one is not None and one.edit in F1}


def _rows(edit: str, sweep: Sweep | None) -> list[Row]:
    """Each kind's score and change under one edit; the paper's kinds first, then ours of other names."""
    ours = {} if sweep is None else {str(row["name"]): row for row in sweep.rows}
    others = [name for name in ours if name not in PUBLISHED and not name.startswith("all but ")]
    rows = []
    for kind in (*PUBLISHED, *others):
        score = F1[edit].get(kind)
        own = ours.get(kind)
        heads = "" if own is None else f"{len(own['heads'])} head{'' if len(own['heads']) == 1 else 's'}"
        known = None if sweep is None or own is None else (sweep.value(own, detail=heads), sweep.change(own))
        name = f"{kind}, {WORDS[edit]}"
        unit = "share" if sweep is None else sweep.unit
        change = None if score is None else Figure(round(score - BASELINE, 4))
        rows += [
            Row(name, unit, None if score is None else Figure(score), known[0] if known else None),
            Row(f"{name}: change", unit, change, known[1] if known else None),
        ]
    return rows


def _notes(found: dict[str, Sweep], first: Sweep) -> tuple[str, ...]:
    notes = [
        "Pruned heads give nothing, uniform ones look evenly at all tokens. Changes are in points of the score; the "
        "published ones are differences of the published scores.",
        "Our intervals are those of the untouched score, and of the changes, which are paired by example.",
    ]
    sources = {str(sweep.facts["types_from"]) for sweep in found.values()} - {""}
    if sources:
        notes.append(f"Kinds of heads for this table are from {' and '.join(sorted(sources))}.")
    if first.facts["task"] != "qa":
        notes.append(f"The task is not the paper's: ours is {first.facts['task']}, with {first.metric}.")
    lacking = [WORDS[edit] for edit in F1 if edit not in found]
    if lacking:
        notes.append(
            f"The atlas has no sweep with kinds {lacking[0]}; an atlas keeps one sweep of kinds, so for both give the "
            "model with --task and --data."
        )
    both = list(found.values())
    if len(both) > 1 and both[0].facts["data_hash"] != both[1].facts["data_hash"]:
        notes.append("The two sweeps are on different examples.")
    return tuple(notes)
