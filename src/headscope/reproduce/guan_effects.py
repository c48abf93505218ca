"""The tables of interventions of Guan et al. 2020: a task without each kind of heads, and with sentences masked."""

from collections.abc import Mapping
from typing import Any, Literal

from headscope.ablation import ablate
from headscope.ablation.sweep import has_pairs
from headscope.atlas import Atlas
from headscope.heads.kind_names import PUBLISHED
from headscope.models import Model
from headscope.reproduce.sweeps import UNIFORM, Sweep, beside, sweep_in
from headscope.reproduce.table import Figure, Origin, Row, Section
from headscope.tasks import Task

SWEEP = "types"
MASKS = "sentence-masks"
BASELINE = 0.8968
F1 = {
    "zero": {"dense": 0.8762, "diagonal": 0.0755, "dense&vertical": 0.8192, "vertical": 0.8857},
    "uniform": {"dense": 0.8417, "diagonal": 0.0607, "dense&vertical": 0.1115, "vertical": 0.5909},
}
"""F1 on SQuAD with a kind of heads edited."""
WORDS = {"zero": "pruned", "uniform": "uniform"}

TITLE = "Tables 2 and 3: kinds of heads pruned, or made to look evenly"
MASKS_TITLE = "Tables 2 and 3: attention within or between sentences removed"
NEEDS = (
    "tables 2 and 3 need --task NAME and --data FILE, or an atlas with such a sweep: headscope ablate MODEL --task qa "
    "--data FILE --sweep types -o ATLAS"
)
MASKS_NEED = NEEDS.replace("--sweep types", "--sweep sentence-masks") + "; its texts must be pairs"


def with_effects(
    model: Model,
    atlas: Atlas,
    task: Task,
    *,
    limit: int | None,
    batch_size: int | Literal["auto"],
    progress: bool,
) -> Atlas:
    """The atlas with both sweeps over its kinds of heads, zeroed and uniform, and with sentences masked."""
    task = task.limited(limit)
    options: dict[str, Any] = {"atlas": atlas, "batch_size": batch_size, "progress": progress}
    zero = ablate(model, task, sweep="types", how="zero", **options)
    uniform = ablate(model, task, sweep="types", how="uniform", **options)
    both = beside(zero.to_atlas(atlas), uniform)
    if not has_pairs(model, task.batches(model, batch_size=batch_size)):
        return both
    return ablate(model, task, sweep="sentence-masks", **options).to_atlas(both)


def effects(atlas: Atlas, model: str) -> Section:
    """The score with each kind of heads edited, and its change."""
    published = Origin(model, "fine-tuned on SQuAD, F1 on its development set")
    found = sweeps_of(atlas)
    if not found:
        return Section("effects", TITLE, published, needs=NEEDS)
    first = next(iter(found.values()))
    rows = [_untouched(first)]
    for edit in F1:
        rows += _rows(edit, found.get(edit), is_same_task=_is_papers(first))
    return Section(
        "effects", TITLE, published, first.origin, tuple(rows), heading="kind", notes=_notes(found, first)
    )


def masks(atlas: Atlas, model: str) -> Section:
    """The score with attention within or between sentences removed, in all heads, in a kind, in a kind left alone."""
    published = Origin(
        model, "fine-tuned on SQuAD, F1 on its development set; its numbers are not known to us"
    )
    found = sweep_in(atlas, MASKS)
    if found is None:
        return Section("masks", MASKS_TITLE, published, needs=MASKS_NEED)
    rows = [_untouched(found)]
    for row in found.rows:
        rows += _pair(str(row["name"]), found, row)
    return Section(
        "masks",
        MASKS_TITLE,
        published,
        found.origin,
        tuple(rows),
        heading="edit",
        notes=(
            "What is left of the attention is not scaled up. A kind is alone when all other heads are pruned.",
        ),
    )


def _is_papers(sweep: Sweep) -> bool:
    """Whether a sweep's scores are what the paper reports: F1 of answers to questions."""
    return sweep.facts["task"] == "qa" and sweep.metric == "f1"


def _untouched(sweep: Sweep) -> Row:
    return Row("untouched", sweep.unit, Figure(BASELINE) if _is_papers(sweep) else None, sweep.baseline)


def _pair(name: str, sweep: Sweep, row: Mapping[str, Any], published: float | None = None) -> list[Row]:
    """The score with an edit, and its change."""
    heads = f"{len(row['heads'])} head{'' if len(row['heads']) == 1 else 's'}"
    change = None if published is None else Figure(round(published - BASELINE, 4))
    score = None if published is None else Figure(published)
    return [
        Row(name, sweep.unit, score, sweep.value(row, detail=heads)),
        Row(f"{name}: change", sweep.change_unit, change, sweep.change(row)),
    ]


def sweeps_of(atlas: Atlas) -> dict[str, Sweep]:
    """The sweeps over kinds by what was done to heads, of what the paper did."""
    both = (sweep_in(atlas, SWEEP), sweep_in(atlas, SWEEP, probe=UNIFORM))
    return {one.edit: one for one in both if one is not None and one.edit in F1}


def _rows(edit: str, sweep: Sweep | None, *, is_same_task: bool) -> list[Row]:
    """Each kind's score and change under one edit; the paper's kinds first, then ours of other names."""
    published = F1[edit] if is_same_task else {}
    ours = {} if sweep is None else {str(row["name"]): row for row in sweep.rows}
    rows = []
    for kind in (*PUBLISHED, *(name for name in ours if name not in PUBLISHED)):
        score = published.get(kind)
        name = f"{kind}, {WORDS[edit]}"
        if sweep is not None and kind in ours:
            rows += _pair(name, sweep, ours[kind], score)
        elif score is not None:
            rows += [
                Row(name, "share", Figure(score), None),
                Row(f"{name}: change", "points", Figure(round(score - BASELINE, 4)), None),
            ]
    return rows


def _notes(found: dict[str, Sweep], first: Sweep) -> tuple[str, ...]:
    notes = [
        "Pruned heads give nothing, uniform ones look evenly at all tokens. Published changes are differences of "
        "the published scores.",
        "Our intervals are those of the untouched score, and of the changes, which are paired by example.",
    ]
    sources = {str(sweep.facts["types_from"]) for sweep in found.values()} - {""}
    if sources:
        notes.append(f"Kinds of heads for this table are from {' and '.join(sorted(sources))}.")
    if first.facts["task"] != "qa":
        notes.append(
            "The task is not the paper's, so its figures are left out: ours is "
            f"{first.facts['task']}, with {first.metric}."
        )
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
