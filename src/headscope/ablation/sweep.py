"""Sweeps: many edits of one model, each held against the unedited model on the same examples."""

import hashlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from time import perf_counter

import numpy as np

from headscope.ablation.known import by_head, features_of, kinds_in, numbers_in
from headscope.ablation.passes import Changes, Passes, passes_for
from headscope.ablation.plan import (
    ORDERS,
    RANDOM_ORDERS,
    STEPS,
    SWEEPS,
    Order,
    Plan,
    PlannedEdit,
    Sweep,
    each_head,
    each_kind,
    each_layer,
    each_pair,
    least_first,
    least_harm_first,
    ordering_metric,
    plan_curve,
    sentence_masks,
)
from headscope.ablation.result import Ablations, Origin, compared
from headscope.atlas import Atlas
from headscope.edits import HOWS, How, mean_outputs, select_heads
from headscope.edits.changes import Change, editable
from headscope.edits.heads import Member
from headscope.errors import HeadscopeWarning, OptionError
from headscope.importance import gradient_importance
from headscope.models import Model, ModelName
from headscope.passes.options import BatchSize
from headscope.passes.provenance import Source
from headscope.stats.correction import CORRECTIONS, Correction
from headscope.tasks import Task, TaskBatches, TaskResult, with_head
from headscope.tasks.base import Pass
from headscope.trace import Capture

EDITS: tuple[How, ...] = ("zero", "uniform", "mean")
"""What a sweep does to heads, other than the sweep of sentence masks."""
MASKED = "masked"
"""What the sweep of sentence masks does to them."""


@dataclass
class _Run:
    """One model, one task, and what passes of it need."""

    capture: Capture
    task: Task
    batches: TaskBatches
    how: How
    renormalise: bool
    reuse: bool
    progress: bool

    def results(self, edits: Sequence[PlannedEdit]) -> tuple[TaskResult, Iterator[TaskResult]]:
        """How the unedited model does, and how it does with each edit; all edits of a batch before the next batch."""
        model = self.capture.model
        passes = (passes_for if self.reuse else Passes)(self.capture, self.changes)
        title = f"{model.name} on {self.task.data}, {len(edits) + 1} times" if self.progress else None
        every: list[Pass] = [passes.untouched, *(partial(passes.edited, planned=edit) for edit in edits)]
        results = self.task.results(model, self.batches, every, title=title)
        return next(results), results

    @cached_property
    def changes(self) -> Changes:
        """Every way to edit, made ready once."""
        model, means = self.capture.model, None
        if self.how == "mean":
            means = mean_outputs(self.capture, (batch.inputs for batch in self.batches))
        return {
            how: Change(
                model,
                how,
                renormalise=self.renormalise and how in ("intra", "inter"),
                means=means if how == "mean" else None,
            )
            for how in HOWS
        }


def ablate(
    model: ModelName,
    task: Task,
    *,
    sweep: Sweep = "heads",
    how: How = "zero",
    atlas: Atlas | None = None,
    k: int = 4,
    order: Order = "importance",
    limit: int | None = None,
    correction: Correction = "holm",
    renormalise: bool = False,
    random_orders: int = RANDOM_ORDERS,
    steps: int = STEPS,
    reuse: bool = True,
    batch_size: BatchSize = "auto",
    progress: bool = False,
) -> Ablations:
    """Edit heads, one set after another, and see what each does to a task.

    `sweep` is one of "heads" (each alone), "layers", "types" (each kind of head, all but each, and as many random
    heads), "pairs-of-types", "sentence-masks" (attention within or between sentences removed from the same heads as in
    "types"; `renormalise` as in `edit`, and no `how`) and "cumulative" (ever more heads, beside random orders). `how`
    is "zero", "uniform" or "mean", the mean being that over the task's own inputs. `order` says which heads go first in
    "cumulative": those of least gradient "importance", or whose edit alone has the least harmful "effect". `atlas` has
    the kinds of heads (`k` of them where it has the features only) and what to order by (`head_importance`,
    `ablation_change`); what it lacks is found on the task's own inputs. `limit` takes fewer examples. `reuse=False`
    runs every pass from the first layer on, which gives the same numbers more slowly.
    """
    started = perf_counter()
    _check(sweep, how, order, correction, renormalise=renormalise)
    if random_orders < 1 or steps < 1:
        raise OptionError(f"random_orders and steps must be at least 1, not {random_orders} and {steps}")
    model, task = with_head(model, task.head), task.limited(limit)
    capture = editable(model)
    if atlas is not None:
        atlas.check_model(model.name, model.weights_hash, None)
    run = _Run(capture, task, task.batches(model, batch_size=batch_size), how, renormalise, reuse, progress)
    plan = _plan(run, sweep, atlas, order, k=k, steps=steps, seeds=random_orders)
    baseline, results = run.results(plan.edits)
    edits = tuple(compared(edit, baseline, result) for edit, result in zip(plan.edits, results, strict=True))
    origin = Origin(capture.stacks, sweep, MASKED if sweep == "sentence-masks" else how, limit, renormalise)
    source = _source(baseline, run.batches, origin, duration=perf_counter() - started)
    result = Ablations(model, source, baseline, edits, correction, origin, plan)
    _warn(result)
    return result


def _plan(
    run: _Run, sweep: Sweep, atlas: Atlas | None, order: Order, *, k: int, steps: int, seeds: int
) -> Plan:
    stacks, how = run.capture.stacks, run.how
    if sweep == "heads":
        return Plan(each_head(stacks, how))
    if sweep == "layers":
        return Plan(each_layer(stacks, how))
    if sweep == "cumulative":
        ranked, ordered_by = _ranked(run, atlas, order)
        curve, edits = plan_curve(list(select_heads(stacks, "all")), ranked, how, steps=steps, seeds=seeds)
        return Plan(edits, curve=curve, ordered_by=ordered_by)
    if sweep == "sentence-masks":
        _check_sentences(run)
    kinds = kinds_in(atlas or features_of(run.capture, run.batches), stacks, k=k)
    types_from = "the task's own inputs" if atlas is None else f"an atlas of {atlas.provenance['corpus']}"
    if sweep == "sentence-masks":
        return Plan(sentence_masks(kinds), kinds, types_from)
    return Plan((each_kind if sweep == "types" else each_pair)(kinds, how), kinds, types_from)


def _ranked(run: _Run, atlas: Atlas | None, order: Order) -> tuple[dict[str, list[Member]], str]:
    """The heads in the order asked for, and where it comes from."""
    stacks, metric = run.capture.stacks, ordering_metric(run.task.metrics)
    if order == "random":
        return {}, ""
    if order == "importance":
        numbers = numbers_in(atlas, stacks, "head_importance")
        where = "on the same examples" if numbers is None else "in the given atlas"
        if numbers is None:
            result = gradient_importance(run.capture.model, run.task, progress=run.progress).arrays()
            numbers = by_head(
                {grid.stack: result[grid.stack]["head_importance"].values for grid in stacks.grids}
            )
        return {order: least_first(numbers)}, f"gradient importance {where}"
    numbers = numbers_in(atlas, stacks, "ablation_change", metric.name)
    where = "on the same examples" if numbers is None else "in the given atlas"
    if numbers is None:
        edits = each_head(stacks, run.how)
        baseline, results = run.results(edits)
        numbers = {
            member: result.metric(metric.name) - baseline.metric(metric.name)
            for edit, result in zip(edits, results, strict=True)
            for member in edit.heads
        }
    return {order: least_harm_first(numbers, metric)}, f"changes of {metric.name} by single heads {where}"


def _check(sweep: str, how: str, order: str, correction: str, *, renormalise: bool) -> None:
    for name, value, known in (
        ("sweep", sweep, SWEEPS),
        ("how", how, EDITS),
        ("order", order, ORDERS),
        ("correction", correction, CORRECTIONS),
    ):
        if value not in known:
            raise OptionError(f"{name}={value!r} is not known; choose from {', '.join(known)}")
    if renormalise and sweep != "sentence-masks":
        raise OptionError(
            f"renormalise is for the sweep sentence-masks; {sweep} removes no part of a head's attention"
        )
    if how != "zero" and sweep == "sentence-masks":
        raise OptionError(
            f"how={how!r} does nothing in the sweep sentence-masks, which masks heads; leave it out"
        )


def _check_sentences(run: _Run) -> None:
    model = run.capture.model
    if not model.has_segments:
        raise OptionError(
            f"{model.name} has no segments, so headscope cannot tell its sentences here; mask them in Python with "
            "hs.edit(model, how='inter', sentences=...)"
        )
    if not has_pairs(model, run.batches):
        raise OptionError(
            f"no text of {run.task.data} is a pair, so there are no two sentences to mask attention between"
        )


def has_pairs(model: Model, batches: TaskBatches) -> bool:
    """Whether some input has two sentences that the model tells apart."""
    return model.has_segments and any(bool((batch.text.source.segment == 1).any()) for batch in batches)


def _warn(result: Ablations) -> None:
    """Tell what a user should know before trusting the numbers."""
    notes = [result.described().too_few_texts(result.metrics[0].name), result.baseline.skipped.note()]
    if result.source.documents < 2:
        data = result.source.data
        notes[0] = f"{data} is a single text or article, so no interval can be given; use data with several"
    if result.state.edits:
        notes.append("the model is already edited: this sweep compares with the edited model")
    for note in filter(None, notes):
        warnings.warn(note, HeadscopeWarning, stacklevel=3)


def _source(baseline: TaskResult, batches: TaskBatches, origin: Origin, *, duration: float) -> Source:
    """The data; their hash is SHA-256 over the tokens the network was given, in the order of examples."""
    texts = [batch.text.source for batch in batches]
    rows = {
        (int(example), tuple(ids[known].tolist()))
        for batch, text in zip(batches, texts, strict=True)
        for example, ids, known in zip(batch.example, text.ids, text.is_token, strict=True)
    }
    return Source(
        data=baseline.data,
        data_hash=hashlib.sha256(repr(sorted(rows)).encode()).hexdigest(),
        texts=len(baseline),
        documents=len(np.unique(baseline.documents)),
        tokens=sum(batch.text.tokens for batch in batches),
        texts_cut=baseline.cut,
        skipped=baseline.skipped.count,
        options={"task": baseline.task, "sweep": origin.sweep, "edit": origin.how},
        duration=duration,
    )
