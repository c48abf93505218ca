"""Tables 2 and 3 of Guan et al. 2020: a task with kinds of heads pruned, made uniform, or with sentences masked."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from headscope.ablation import ablate
from headscope.ablation.plan import MASKS, RANDOM_SETS, all_but, masked, pair
from headscope.ablation.plan import Sweep as SweepName
from headscope.ablation.sweep import has_pairs
from headscope.atlas import Atlas
from headscope.edits import How
from headscope.facts.sweeps import random_set
from headscope.kinds.kind_names import MOST, group_shares
from headscope.models import Model
from headscope.reproduce.guan import published as paper
from headscope.reproduce.sweeps import UNIFORM, Sweep, beside, sweep_in
from headscope.reproduce.table import Figure, Origin, Row, Section, Verdict
from headscope.reproduce.verdicts import exceeds, falls_below, holds
from headscope.tasks import Task, with_head

TYPES: Final = "types"
PAIRS: Final = "pairs-of-types"
SENTENCE_MASKS: Final = "sentence-masks"
WORDS = {"zero": "pruned", "uniform": "uniform"}
LARGE = 0.2
"""A loss of this share of F1 is called large: published losses are of at most 11 % of it, or of at least 24 %."""

TITLE = "Table 2: kinds of heads pruned, or made to look evenly"
MASKS_TITLE = "Table 3: attention within or between sentences removed"
NEEDS = (
    "table 2 needs --task NAME and --data FILE, or an atlas with such a sweep: headscope ablate MODEL --task qa "
    "--data FILE --sweep types -o ATLAS"
)
MASKS_NEED = (
    NEEDS.replace("table 2", "table 3").replace("--sweep types", "--sweep sentence-masks")
    + "; its texts must be pairs"
)


def with_effects(
    model: Model,
    atlas: Atlas,
    task: Task,
    *,
    limit: int | None,
    batch_size: int | Literal["auto"],
    progress: bool,
) -> Atlas:
    """The atlas with its kinds of heads pruned, alone and by twos, made uniform, and with sentences masked."""
    task = task.limited(limit)
    headed = with_head(model, task.head)
    options: dict[str, Any] = {"atlas": atlas, "batch_size": batch_size, "progress": progress}
    found = beside(atlas, ablate(headed, task, sweep=TYPES, how="uniform", **options))
    sweeps: list[SweepName] = [TYPES, PAIRS]
    if has_pairs(headed, task.batches(headed, batch_size=batch_size)):
        sweeps.append(SENTENCE_MASKS)
    for sweep in sweeps:
        found = ablate(headed, task, sweep=sweep, **options).to_atlas(found)
    return found


def sweeps_of(atlas: Atlas) -> dict[str, Sweep]:
    """The sweeps over kinds by what was done to heads, of what the paper did."""
    both = (sweep_in(atlas, TYPES), sweep_in(atlas, TYPES, probe=UNIFORM))
    return {sweep.edit: sweep for sweep in both if sweep is not None and sweep.edit in paper.TABLE_2}


def swept(atlases: Sequence[Atlas]) -> Atlas:
    """The atlas that tables 2 and 3 are read from: the first with such a sweep of questions, or of another task."""

    def rank(atlas: Atlas) -> int:
        sweeps = [*sweeps_of(atlas).values(), *filter(None, [sweep_in(atlas, SENTENCE_MASKS)])]
        return 2 if not sweeps else 0 if _is_papers(sweeps[0]) else 1

    return min(atlases, key=rank)


def effects(atlas: Atlas) -> Section:
    """The scores with one or two kinds of heads edited, and their changes."""
    published = Origin(paper.MODEL, "fine-tuned on SQuAD, EM / F1 on its development set", "table 2")
    found = sweeps_of(atlas)
    if not found:
        return Section("effects", TITLE, published, needs=NEEDS, covers=("table 2",))
    first = next(iter(found.values()))
    pairs = sweep_in(atlas, PAIRS)
    pruned = found.get("zero")
    if pruned is not None and pairs is not None and pairs.edit == "zero":
        found["zero"] = pruned.joined(pairs)
    rows = [*_untouched(first), *_costliest(atlas, pruned)]
    for edit, known in paper.TABLE_2.items():
        rows += _edited(WORDS[edit], found.get(edit), known if _is_papers(first) else {})
    return Section(
        "effects",
        TITLE,
        published,
        first.origin,
        tuple(rows),
        heading="kind",
        notes=_notes(found, pairs),
        covers=("table 2",),
    )


def masks(atlas: Atlas) -> Section:
    """The scores with attention within or between sentences removed from a kind, or from all kinds but one."""
    published = Origin(paper.MODEL, "fine-tuned on SQuAD, EM / F1 on its development set", "table 3")
    sweep = sweep_in(atlas, SENTENCE_MASKS)
    if sweep is None:
        return Section("masks", MASKS_TITLE, published, needs=MASKS_NEED, covers=("table 3",))
    ours = {str(row["name"]): row for row in sweep.rows}
    kinds = list(sweep.facts["types"])
    rows, shown = [*_untouched(sweep), *_nearby(atlas, sweep)], set()
    for number, (kind, is_all_but, mask, score) in paper.TABLE_3.items() if _is_papers(sweep) else ():
        name = masked(all_but(kind) if is_all_but else kind, mask)
        control = None if is_all_but else _control(sweep, ours.get(name), mask)
        rows += _rows(f"({number}) {name}", sweep, ours.get(name), score, control)
        shown.add(name)
    for heads in ("all heads", *kinds, *map(all_but, kinds)):
        for mask in MASKS:
            name = masked(heads, mask)
            if name in ours and name not in shown:
                control = _control(sweep, ours[name], mask) if heads in kinds else None
                rows += _rows(name, sweep, ours[name], None, control)
    return Section(
        "masks",
        MASKS_TITLE,
        published,
        sweep.origin,
        tuple(rows),
        heading="edit",
        notes=(
            "No head is pruned: attention within or between sentences is removed from the heads of the named kinds, "
            "and what is left is not scaled up.",
            paper.ROW_12,
            *_about_verdicts(sweep),
        ),
        covers=("table 3",),
    )


def _is_papers(sweep: Sweep) -> bool:
    """Whether a sweep's scores are what the paper reports: F1 of answers to questions."""
    return sweep.facts["task"] == "qa" and sweep.metric == "f1"


def _scores(sweep: Sweep) -> list[Sweep]:
    """The sweep by each metric that is shown, the main one last."""
    return [sweep.by("em"), sweep] if _is_papers(sweep) else [sweep]


def _untouched(sweep: Sweep) -> list[Row]:
    known = {"f1": Figure(paper.BASELINE)} if _is_papers(sweep) else {}
    return [
        Row(f"untouched: {view.label}", view.unit, known.get(view.metric), view.baseline)
        for view in _scores(sweep)
    ]


def _edited(words: str, sweep: Sweep | None, published: Mapping[tuple[str, ...], paper.Score]) -> list[Row]:
    """The paper's kinds under one edit, then ours of other names; alone, then by twos."""
    ours = {} if sweep is None else {str(row["name"]): row for row in sweep.rows}
    kinds = [] if sweep is None else list(sweep.facts["types"])
    rows, shown = [], set()
    for members, score in published.items():
        both = [pair(*order) for order in (members, members[::-1])] if len(members) > 1 else list(members)
        name = next((name for name in both if name in ours), both[0])
        rows += _rows(f"{name}, {words}", sweep, ours.get(name), score, _control(sweep, ours.get(name)))
        shown.add(name)
    own = [*kinds, *(pair(first, second) for first in kinds for second in kinds)]
    for name in own:
        if name in ours and name not in shown:
            rows += _rows(f"{name}, {words}", sweep, ours[name], None, _control(sweep, ours[name]))
    return rows


def _rows(
    name: str,
    sweep: Sweep | None,
    row: Mapping[str, Any] | None,
    published: paper.Score | None,
    control: Figure | None,
) -> list[Row]:
    """An edit's scores and changes in both columns; of edits that the paper lacks the changes only.

    The change of F1 has the verdict on all of them.
    """
    known = {} if published is None else dict(zip(("em", "f1"), published, strict=True))
    if sweep is None or row is None:
        labels = {"em": "EM", "f1": "F1"}
        return [
            Row(f"{name}: {labels[metric]}", "share", Figure(score), None) for metric, score in known.items()
        ]
    rows = []
    heads = f"{len(row['heads'])} head{'' if len(row['heads']) == 1 else 's'}"
    for view in _scores(sweep):
        score = view.value(row, detail=heads)
        if published is not None:
            rows.append(Row(f"{name}: {view.label}", view.unit, Figure(known[view.metric]), score))
        is_main = view.metric == sweep.metric
        change = view.change(
            row, detail="" if published is not None else f"{heads}, to {view.written(score)}"
        )
        rows.append(
            Row(
                f"{name}: change of {view.label}",
                view.change_unit,
                Figure(round(known["f1"] - paper.BASELINE, 4)) if known and is_main else None,
                change,
                verdict=_verdict(change, sweep.baseline, known["f1"], control) if known and is_main else None,
            )
        )
    if control is not None:
        rows.append(Row(f"{name}: as many random heads", sweep.change_unit, None, control))
    return rows


def _control(sweep: Sweep | None, row: Mapping[str, Any] | None, mask: How | None = None) -> Figure | None:
    """What the same edit of as many random heads changes: the mean of the draws, within all of their intervals."""
    if sweep is None or row is None:
        return None
    names = [random_set(len(row["heads"]), draw) for draw in range(RANDOM_SETS)]
    if mask is not None:
        names = [masked(name, mask) for name in names]
    draws = [sweep.change(other) for other in sweep.rows if other["name"] in names]
    values = [draw.value for draw in draws if draw.value is not None]
    if not values:
        return None
    ends = [end for draw in draws for end in (draw.low, draw.high) if end is not None]
    mean = sum(values) / len(values)
    return Figure(mean, min(ends, default=None), max(ends, default=None), f"mean of {len(values)} draws")


def _verdict(change: Figure, baseline: Figure, published: float, control: Figure | None) -> Verdict:
    """Whether a large loss is one for ours too, and more than chance would cost; whether a small one is small."""
    is_large = published < (1 - LARGE) * paper.BASELINE
    finding = f"costs {'more' if is_large else 'less'} than a fifth of F1"
    if is_large and control is not None:
        finding += ", and more than as many random heads do"
    if change.low is None or baseline.value is None:
        return holds(None, finding)
    limit = -LARGE * baseline.value
    if not is_large:
        return exceeds(change, limit, finding) or holds(None, finding)
    tests = [falls_below(change, limit, finding), falls_below(change, control, finding)]
    agreements = {test.agreement for test in tests if test is not None}
    is_so = False if "different" in agreements else True if agreements == {"same"} else None
    return holds(is_so, finding)


def _costliest(atlas: Atlas, sweep: Sweep | None) -> list[Row]:
    """The kind whose pruning costs most, whatever it is called: the paper's looks at itself and its neighbours."""
    changes = {} if sweep is None else _changes(sweep, {name: name for name in sweep.facts["types"]})
    if sweep is None or not changes:
        return []
    worst = min(changes, key=lambda name: changes[name].value or 0.0)
    local = _local(atlas, sweep)
    finding = "the kind that costs most looks mostly at itself and its neighbours"
    rivals = [changes[name] for name in changes if local.get(name) != local.get(worst)]
    is_clear = worst in local and all(_costs_more(changes[worst], rival) for rival in rivals)
    published = Figure(round(paper.TABLE_2["zero"]["diagonal",][1] - paper.BASELINE, 4), detail="diagonal")
    ours = replace(changes[worst], detail=worst)
    verdict = holds(local[worst] if is_clear else None, finding)
    return [Row("costliest kind, pruned: change of F1", sweep.change_unit, published, ours, verdict=verdict)]


def _nearby(atlas: Atlas, sweep: Sweep) -> list[Row]:
    """The kind that looks nearby and loses most without attention within sentences, whatever it is called."""
    local = [name for name, is_local in _local(atlas, sweep).items() if is_local]
    within, between = (_changes(sweep, {name: masked(name, mask) for name in local}) for mask in MASKS)
    if not within or set(within) != set(between):
        return []
    worst = min(within, key=lambda name: within[name].value or 0.0)
    finding = "heads that look nearby need attention within sentences more than between them"
    is_so = True if _costs_more(within[worst], between[worst]) else None
    if is_so is None and _costs_more(between[worst], within[worst]):
        is_so = False
    published = Figure(round(paper.TABLE_3[12][3][1] - paper.BASELINE, 4), detail="diagonal")
    name = f"a kind that looks nearby: {MASKS['intra']}: change of F1"
    ours = replace(within[worst], detail=worst)
    return [Row(name, sweep.change_unit, published, ours, verdict=holds(is_so, finding))]


def _changes(sweep: Sweep, names: Mapping[str, str]) -> dict[str, Figure]:
    """By kind, what the edit of this name changes; nothing for a task that is not the paper's."""
    rows = {str(row["name"]): row for row in sweep.rows} if _is_papers(sweep) else {}
    changes = {kind: sweep.change(rows[name]) for kind, name in names.items() if name in rows}
    return {kind: change for kind, change in changes.items() if change.value is not None}


def _costs_more(change: Figure, other: Figure) -> bool:
    """Whether a loss is clearly larger than another, by their intervals."""
    verdict = None if change.low is None or other.low is None else falls_below(change, other, "")
    return verdict is not None and verdict.agreement == "same"


def _local(atlas: Atlas, sweep: Sweep) -> dict[str, bool]:
    """By kind: whether most of its attention stays at the token itself and its neighbours.

    Nothing where the atlas has other kinds than the sweep.
    """
    for stack in atlas.stacks:
        arrays = atlas.stack(stack)
        if "head_type_centre" in arrays:
            centre = arrays["head_type_centre"].transpose("type", "feature")
            features = [str(name) for name in centre["feature"].values]
            shares = [group_shares(values, features) for values in centre.values]
            local = {
                str(kind): share["self"] + share["near"] > MOST
                for kind, share in zip(centre["type"].values, shares, strict=True)
            }
            return local if set(local) == set(sweep.facts["types"]) else {}
    return {}


def _notes(found: dict[str, Sweep], pairs: Sweep | None) -> tuple[str, ...]:
    first = next(iter(found.values()))
    notes = [
        "Pruned heads give nothing, uniform ones look evenly at all tokens. Published changes are differences of "
        "the published scores; the exact match of the untouched model is not published.",
        *_about_verdicts(first),
    ]
    sources = {str(sweep.facts["types_from"]) for sweep in found.values()} - {""}
    if sources:
        notes.append(f"Kinds of heads for this table are from {' and '.join(sorted(sources))}.")
    if first.facts["task"] != "qa":
        notes.append(
            "The task is not the paper's, so its figures are left out: ours is "
            f"{first.facts['task']}, with {first.metric}."
        )
    lacking = [WORDS[edit] for edit in paper.TABLE_2 if edit not in found]
    if lacking:
        notes.append(
            f"The atlas has no sweep with kinds {lacking[0]}; an atlas keeps one sweep of kinds, so for both give the "
            "model with --task and --data."
        )
    if pairs is None or pairs.edit != "zero":
        notes.append(
            "The atlas has no two kinds pruned together: headscope ablate ... --sweep pairs-of-types"
        )
    if len({sweep.facts["data_hash"] for sweep in (*found.values(), pairs or first)}) > 1:
        notes.append("The sweeps are on different examples.")
    return tuple(notes)


def _about_verdicts(sweep: Sweep) -> list[str]:
    notes = [
        "Our intervals are those of the untouched score, and of the changes, which are paired by example."
    ]
    if _is_papers(sweep):
        notes.append(
            "A kind of ours stands beside a published one of the same name only. Published losses are of at most 11 % "
            "or at least 24 % of the untouched F1: small and large ones are told apart at a fifth. The interval of "
            "random heads spans those of its draws."
        )
    return notes
