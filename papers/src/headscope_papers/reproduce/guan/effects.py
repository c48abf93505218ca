"""Tables 2 and 3 of Guan et al. 2020: a task with kinds of heads pruned, made uniform, or with sentences masked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from headscope.ablation import ablate
from headscope.ablation.plan import MASKS, RANDOM_SETS, all_but, masked, pair
from headscope.ablation.plan import Sweep as SweepName
from headscope.ablation.sweep import has_pairs
from headscope.atlas import Atlas
from headscope.edits import How
from headscope.facts.analyses.sweeps import random_set
from headscope.facts.wording import count
from headscope.kinds.kind_names import MOST, group_shares
from headscope.models import Model
from headscope.tasks import Task, with_head
from headscope_papers.reproduce.paper import PublishedSection, published
from headscope_papers.reproduce.study import Study
from headscope_papers.reproduce.sweeps import UNIFORM, Sweep, SweepRow, beside, sweep_in
from headscope_papers.reproduce.table import Figure, Row, Section
from headscope_papers.reproduce.verdicts import falls_below

GUAN = published("guan2020")
TYPES: Final = "types"
PAIRS: Final = "pairs-of-types"
SENTENCE_MASKS: Final = "sentence-masks"
WORDS = {"zero": "pruned", "uniform": "uniform"}
LARGE = 0.2
"""A loss of this share of F1 is called large: published losses are of at most 11 % of it, or of at least 24 %."""

Scores = Mapping[str, Any]
"""A row of a published table: its exact match `em` and its `f1`."""


def with_effects(study: Study, task: Task, model: Model, atlas: Atlas | None) -> Atlas:
    """The atlas with its kinds of heads pruned, alone and by twos, made uniform, and with sentences masked."""
    task, headed = task.limited(study.data.examples), with_head(model, task.head)
    options = {"atlas": atlas, **study.running}
    assert atlas is not None  # its heads were sorted before
    filled = beside(atlas, ablate(headed, task, sweep=TYPES, how="uniform", **options))
    sweeps: list[SweepName] = [TYPES, PAIRS]
    if has_pairs(headed, task.batches(headed, batch_size=study.data.batch_size)):
        sweeps.append(SENTENCE_MASKS)
    for sweep in sweeps:
        filled = ablate(headed, task, sweep=sweep, **options).to_atlas(filled)
    return filled


def sweeps_of(atlas: Atlas) -> dict[str, Sweep]:
    """The sweeps over kinds by what was done to heads, of what the paper did."""
    both = (sweep_in(atlas, TYPES), sweep_in(atlas, TYPES, probe=UNIFORM))
    return {sweep.edit: sweep for sweep in both if sweep is not None and sweep.edit in WORDS}


def swept(atlases: Sequence[Atlas]) -> Atlas:
    """The atlas that tables 2 and 3 are read from: the first with such a sweep of questions, or of another task."""

    def rank(atlas: Atlas) -> int:
        sweeps = [*sweeps_of(atlas).values(), *filter(None, [sweep_in(atlas, SENTENCE_MASKS)])]
        return 2 if not sweeps else 0 if _is_papers(sweeps[0]) else 1

    return min(atlases, key=rank)


def effects(section: PublishedSection, atlas: Atlas) -> Section:
    """Table 2: the scores with one or two kinds of heads edited, and their changes."""
    sweeps = sweeps_of(atlas)
    if not sweeps:
        return section.left_out()
    first, pairs, pruned = next(iter(sweeps.values())), sweep_in(atlas, PAIRS), sweeps.get("zero")
    if pairs is not None and pairs.edit != "zero":
        pairs = None
    if pruned is not None and pairs is not None:
        sweeps["zero"] = pruned.joined(pairs)
    rows = [*_untouched(section, first), *_costliest(section, pruned)]
    for edit, table in GUAN.facts["table_2"].items():
        rows += _edited(section, WORDS[edit], sweeps.get(edit), table if _is_papers(first) else ())
    remarks = _about_papers(section, first)
    if sources := {str(sweep.facts["types_from"]) for sweep in sweeps.values()} - {""}:
        remarks.append(section.remark("kinds_from", sources=" and ".join(sorted(sources))))
    if first.facts["task"] != "qa":
        remarks.append(section.remark("other_task", task=first.facts["task"], metric=first.metric.name))
    remarks += [section.remark("lacking", edit=WORDS[edit]) for edit in WORDS if edit not in sweeps]
    if pairs is None:
        remarks.append(section.remark("no_pairs"))
    if len({sweep.facts["data_hash"] for sweep in (*sweeps.values(), pairs or first)}) > 1:
        remarks.append(section.remark("other_examples"))
    return section.filled(first.origin, rows, remarks=remarks)


def masks(section: PublishedSection, atlas: Atlas) -> Section:
    """Table 3: the scores with attention within or between sentences removed from a kind, or from all but one."""
    sweep = sweep_in(atlas, SENTENCE_MASKS)
    if sweep is None:
        return section.left_out()
    ours, kinds = sweep.by_name, list(sweep.facts["types"])
    rows, shown = [*_untouched(section, sweep), *_nearby(section, sweep)], set()
    for number, row in GUAN.facts["table_3"].items() if _is_papers(sweep) else ():
        name = masked(row["kind"] if "kind" in row else all_but(row["all_but"]), row["mask"])
        control = _control(sweep, ours.get(name), row["mask"]) if "kind" in row else None
        rows += _rows(section, f"({number}) {name}", sweep, ours.get(name), published=row, control=control)
        shown.add(name)
    for heads in ("all heads", *kinds, *map(all_but, kinds)):
        for mask in MASKS:
            name = masked(heads, mask)
            if name in ours and name not in shown:
                control = _control(sweep, ours[name], mask) if heads in kinds else None
                rows += _rows(section, name, sweep, ours[name], published=None, control=control)
    return section.filled(sweep.origin, rows, remarks=_about_papers(section, sweep))


def _about_papers(section: PublishedSection, sweep: Sweep) -> list[str]:
    return [section.remark("papers")] if _is_papers(sweep) else []


def _is_papers(sweep: Sweep) -> bool:
    """Whether a sweep's scores are what the paper reports: F1 of answers to questions."""
    return sweep.facts["task"] == "qa" and sweep.metric.name == "f1"


def _scores(sweep: Sweep) -> list[Sweep]:
    """The sweep by each metric that is shown, the main one last."""
    return [sweep.by("em"), sweep] if _is_papers(sweep) else [sweep]


def _untouched(section: PublishedSection, sweep: Sweep) -> Iterable[Row]:
    known = {"f1": Figure(GUAN.facts["baseline"])} if _is_papers(sweep) else {}
    for view in _scores(sweep):
        published = known.get(view.metric.name)
        yield section.row(
            "untouched", view.baseline, unit=view.unit, published=published, metric=view.metric.label
        )


def _edited(
    section: PublishedSection, words: str, sweep: Sweep | None, published: Iterable[Scores]
) -> Iterable[Row]:
    """The paper's kinds under one edit, then ours of other names; alone, then by twos."""
    ours = {} if sweep is None else sweep.by_name
    kinds = [] if sweep is None else list(sweep.facts["types"])
    scores: dict[str, Scores | None] = {}
    for row in published:
        members = row["kinds"]
        both = [pair(*order) for order in (members, members[::-1])] if len(members) > 1 else members
        scores[next((name for name in both if name in ours), both[0])] = row
    own = (*kinds, *(pair(first, second) for first in kinds for second in kinds))
    for name in own:
        if name in ours:
            scores.setdefault(name, None)
    for name, known in scores.items():
        edit, title = ours.get(name), f"{name}, {words}"
        yield from _rows(section, title, sweep, edit, published=known, control=_control(sweep, edit))


def _rows(
    section: PublishedSection,
    name: str,
    sweep: Sweep | None,
    edit: SweepRow | None,
    *,
    published: Scores | None,
    control: Figure | None,
) -> Iterable[Row]:
    """An edit's scores and changes in both columns; of edits that the paper lacks the changes only.

    The change of F1 has the verdict on all of them.
    """
    if sweep is None or edit is None:
        if published is not None:
            for metric in ("em", "f1"):
                score = Figure(published[metric])
                yield section.row("score", None, published=score, edit=name, metric=metric.upper())
        return
    heads = count(len(edit["heads"]), "head")
    for view in _scores(sweep):
        names: dict[str, Any] = {"edit": name, "metric": view.metric.label}
        score = view.value(edit, detail=heads)
        if published is None:
            change = view.change(edit, detail=f"{heads}, to {view.written(score)}")
            yield section.row("change", change, unit=view.change_unit, **names)
            continue
        known = Figure(published[view.metric.name])
        yield section.row("score", score, unit=view.unit, published=known, **names)
        change = view.change(edit)
        if view.metric.name != sweep.metric.name:
            yield section.row("change", change, unit=view.change_unit, **names)
            continue
        key, is_so = _decided(change, sweep.baseline, published["f1"], control)
        loss = Figure(round(published["f1"] - GUAN.facts["baseline"], 4))
        yield section.row(key, change, is_so, unit=view.change_unit, published=loss, **names)
    if control is not None:
        yield section.row("random", control, unit=sweep.change_unit, edit=name)


def _decided(
    change: Figure, baseline: Figure, published: float, control: Figure | None
) -> tuple[str, bool | float | None]:
    """The row by which a loss is told, and what decides its finding.

    Whether a large loss is one for ours too, and more than chance would cost; whether a small one is small.
    """
    limit = None if change.low is None or baseline.value is None else -LARGE * baseline.value
    if published >= (1 - LARGE) * GUAN.facts["baseline"]:
        return "costs_less", limit
    key = "costs_more" if control is None else "costs_more_than_random"
    tests = [falls_below(change, limit, ""), falls_below(change, control, "")]
    agreements = {test.agreement for test in tests if test is not None and limit is not None}
    return key, False if "different" in agreements else True if agreements == {"same"} else None


def _control(sweep: Sweep | None, edit: SweepRow | None, mask: How | None = None) -> Figure | None:
    """What the same edit of as many random heads changes: the mean of the draws, within all of their intervals."""
    if sweep is None or edit is None:
        return None
    names = [random_set(len(edit["heads"]), draw) for draw in range(RANDOM_SETS)]
    if mask is not None:
        names = [masked(name, mask) for name in names]
    draws = [sweep.change(other) for other in sweep.rows if other["name"] in names]
    values = [draw.value for draw in draws if draw.value is not None]
    if not values:
        return None
    ends = [end for draw in draws for end in (draw.low, draw.high) if end is not None]
    mean = sum(values) / len(values)
    return Figure(mean, min(ends, default=None), max(ends, default=None), f"mean of {len(values)} draws")


def _costliest(section: PublishedSection, sweep: Sweep | None) -> Iterable[Row]:
    """The kind whose pruning costs most, whatever it is called: the paper's looks at itself and its neighbours."""
    changes = {} if sweep is None else _changes(sweep, {name: name for name in sweep.facts["types"]})
    if sweep is None or not changes:
        return
    worst = _worst(changes)
    local = _local(sweep)
    rivals = [changes[name] for name in changes if local.get(name) != local.get(worst)]
    is_clear = worst in local and all(_costs_more(changes[worst], rival) for rival in rivals)
    is_so = local[worst] if is_clear else None
    yield section.row("costliest", replace(changes[worst], detail=worst), is_so, unit=sweep.change_unit)


def _nearby(section: PublishedSection, sweep: Sweep) -> Iterable[Row]:
    """The kind that looks nearby and loses most without attention within sentences, whatever it is called."""
    local = [name for name, is_local in _local(sweep).items() if is_local]
    within, between = (_changes(sweep, {name: masked(name, mask) for name in local}) for mask in MASKS)
    if not within or set(within) != set(between):
        return
    worst = _worst(within)
    is_so = True if _costs_more(within[worst], between[worst]) else None
    if is_so is None and _costs_more(between[worst], within[worst]):
        is_so = False
    ours = replace(within[worst], detail=worst)
    yield section.row("nearby", ours, is_so, unit=sweep.change_unit, mask=MASKS["intra"])


def _changes(sweep: Sweep, names: Mapping[str, str]) -> dict[str, Figure]:
    """By kind, what the edit of this name changes; nothing for a task that is not the paper's."""
    rows = sweep.by_name if _is_papers(sweep) else {}
    changes = {kind: sweep.change(rows[name]) for kind, name in names.items() if name in rows}
    return {kind: change for kind, change in changes.items() if change.value is not None}


def _worst(changes: Mapping[str, Figure]) -> str:
    return min(changes, key=lambda name: changes[name].value or 0.0)


def _costs_more(change: Figure, other: Figure) -> bool:
    """Whether a loss is clearly larger than another, by their intervals."""
    verdict = None if change.low is None or other.low is None else falls_below(change, other, "")
    return verdict is not None and verdict.agreement == "same"


def _local(sweep: Sweep) -> dict[str, bool]:
    """By kind: whether most of its attention stays at the token itself and its neighbours.

    Nothing where the atlas has other kinds than the sweep.
    """
    for stack in sweep.atlas.stacks:
        arrays = sweep.atlas.stack(stack)
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
