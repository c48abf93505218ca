"""Sweeps: many edits of one model, each held against the untouched model on the same examples."""

import hashlib
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import torch

from headscope.ablation.curve import (
    ORDERS,
    RANDOM_ORDERS,
    STEPS,
    Curve,
    Order,
    least_first,
    least_harm_first,
    ordering_metric,
    plan_curve,
)
from headscope.ablation.kinds import features_of, kinds_in
from headscope.ablation.passes import Changes, FullPasses, passes_for
from headscope.ablation.plan import (
    SWEEPS,
    Kinds,
    PlannedEdit,
    Sweep,
    all_heads,
    each_head,
    each_kind,
    each_layer,
    each_pair,
    sentence_masks,
)
from headscope.ablation.ranking import effects_in, importance_in, importance_of
from headscope.ablation.result import Ablation, Ablations, Origin, compared
from headscope.atlas import Atlas
from headscope.capture import Capture, surveyed
from headscope.capture.observe import evaluating, is_edited
from headscope.edits import HOWS, How, mean_outputs
from headscope.edits.changes import Change
from headscope.edits.heads import Member
from headscope.errors import HeadscopeWarning, InterventionError, OptionError
from headscope.models import Model
from headscope.run.one_pass import run_pass, whole
from headscope.run.options import BatchSize
from headscope.run.progress import RunProgress, progress_bar
from headscope.run.provenance import ModelState
from headscope.stats.correction import CORRECTIONS, SIGNIFICANT, Correction
from headscope.stats.paired import least_p
from headscope.tasks import Task, TaskBatch, TaskBatches, TaskResult, forward, with_head
from headscope.tasks.base import Records

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
    _baseline: TaskResult | None = None
    _changes: Changes | None = None

    @property
    def baseline(self) -> TaskResult:
        """How the untouched model does."""
        assert self._baseline is not None
        return self._baseline

    def results(self, edits: Sequence[PlannedEdit], see: Callable[[PlannedEdit, TaskResult], None]) -> None:
        """`see(edit, result)` for each edit; all edits of a batch before the next batch."""
        network = self.capture.model.network
        passes = (
            passes_for(self.capture, self.changes) if self.reuse else FullPasses(self.capture, self.changes)
        )
        records = Records(tuple([] for _ in range(len(edits) + 1)))
        model = self.capture.model
        expected, done = self.batches.rows * len(records.passes), 0
        title = f"{model.name} on {self.task.data}, {len(records.passes)} times"

        def count(part: Records, batch: TaskBatch) -> None:
            nonlocal done

            def run() -> object:
                return forward(model, batch)

            for edit, rows in zip((None, *edits), part.passes, strict=True):
                output = passes.untouched(run, batch.inputs) if edit is None else passes.edited(run, edit)
                rows.append(self.task.read(output, batch))
                done += batch.rows
                tell(RunProgress(done, expected))

        with (
            progress_bar(title if self.progress else None) as tell,
            evaluating(network),
            torch.inference_mode(),
            passes.ready(),
        ):
            run_pass(whole(self.batches), records, count, batches=iter)
        results = (self.task.result(rows, self.batches, model=model.name) for rows in records.passes)
        self._baseline = next(results)
        for edit, result in zip(edits, results, strict=True):
            see(edit, result)

    @property
    def changes(self) -> Changes:
        """Every way to edit, made ready once."""
        if self._changes is None:
            model = self.capture.model
            means = None
            if self.how == "mean":
                means = mean_outputs(self.capture, (batch.inputs for batch in self.batches))
            self._changes = {
                how: Change(
                    model,
                    how,
                    renormalise=self.renormalise and how in ("intra", "inter"),
                    means=means if how == "mean" else None,
                )
                for how in HOWS
            }
        return self._changes


def ablate(
    model: Model | str | os.PathLike[str],
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
    _check(sweep, how, order, correction)
    if random_orders < 1 or steps < 1:
        raise OptionError(f"random_orders and steps must be at least 1, not {random_orders} and {steps}")
    if renormalise and sweep != "sentence-masks":
        raise OptionError(
            f"renormalise is for the sweep sentence-masks; {sweep} removes no part of a head's attention"
        )
    if how != "zero" and sweep == "sentence-masks":
        raise OptionError(
            f"how={how!r} does nothing in the sweep sentence-masks, which masks heads; leave it out"
        )
    model, task = with_head(model, task.head), task.limited(limit)
    capture = surveyed(model)
    if not capture.hooked:
        raise InterventionError(
            f"{model.name} ({model.architecture}) does not let its attention be changed while it runs"
        )
    if atlas is not None:
        atlas.check_model(model.name, model.weights_hash, None)
    batches = task.batches(model, batch_size=batch_size)
    found: list[Ablation] = []
    run = _Run(capture, task, batches, how, renormalise, reuse, progress)
    plan = _plan(run, sweep, atlas, order, k=k, steps=steps, seeds=random_orders)

    def see(edit: PlannedEdit, result: TaskResult) -> None:
        found.append(compared(edit, run.baseline, result))

    run.results(plan.edits, see)
    _warn(task, batches, edits=len(plan.edits), correction=correction, edited=is_edited(model.network))
    origin = Origin(
        capture.stacks,
        sweep,
        MASKED if sweep == "sentence-masks" else how,
        _digest(batches),
        sum(batch.text.tokens for batch in batches),
        plan.types_from,
        plan.ordered_by,
        limit,
        renormalise,
        ModelState.of(model),
        perf_counter() - started,
    )
    return Ablations(model, run.baseline, tuple(found), correction, origin, plan.kinds, plan.curve)


@dataclass(frozen=True)
class _Plan:
    """The edits of a sweep, and how they were chosen."""

    edits: list[PlannedEdit]
    kinds: Kinds = field(default_factory=dict)
    types_from: str = ""
    curve: Curve | None = None
    ordered_by: str = ""


def _plan(
    run: _Run, sweep: Sweep, atlas: Atlas | None, order: Order, *, k: int, steps: int, seeds: int
) -> _Plan:
    stacks, how = run.capture.stacks, run.how
    if sweep == "heads":
        return _Plan(each_head(stacks, how))
    if sweep == "layers":
        return _Plan(each_layer(stacks, how))
    if sweep == "cumulative":
        ranked, ordered_by = _ranked(run, atlas, order)
        curve, edits = plan_curve(list(all_heads(stacks)), ranked, how, steps=steps, seeds=seeds)
        return _Plan(edits, curve=curve, ordered_by=ordered_by)
    if sweep == "sentence-masks":
        _check_sentences(run)
    kinds = kinds_in(atlas or features_of(run.capture, run.batches), stacks, k=k)
    types_from = "the task's own inputs" if atlas is None else f"an atlas of {atlas.provenance['corpus']}"
    if sweep == "sentence-masks":
        return _Plan(sentence_masks(kinds), kinds, types_from)
    return _Plan((each_kind if sweep == "types" else each_pair)(kinds, how), kinds, types_from)


def _ranked(run: _Run, atlas: Atlas | None, order: Order) -> tuple[dict[str, list[Member]], str]:
    """The heads in the order asked for, and where it comes from."""
    if order == "random":
        return {}, ""
    stacks, metric = run.capture.stacks, ordering_metric(run.task.metrics)
    kept = (
        None
        if atlas is None
        else (importance_in if order == "importance" else effects_in)(atlas, stacks, metric)
    )
    where = "on the same examples" if kept is None else "in the given atlas"
    if order == "importance":
        found = kept or importance_of(run.capture.model, run.task, stacks, progress=run.progress)
        return {order: least_first(found)}, f"gradient importance {where}"
    if kept is None:
        kept = {}

        def see(edit: PlannedEdit, result: TaskResult) -> None:
            (member,) = edit.heads
            kept[member] = result.metric(metric.name) - run.baseline.metric(metric.name)

        run.results(each_head(stacks, run.how), see)
    return {order: least_harm_first(kept, metric)}, f"changes of {metric.name} by single heads {where}"


def _check(sweep: str, how: str, order: str, correction: str) -> None:
    for name, given, known in (
        ("sweep", sweep, SWEEPS),
        ("how", how, EDITS),
        ("order", order, ORDERS),
        ("correction", correction, CORRECTIONS),
    ):
        if given not in known:
            raise OptionError(f"{name}={given!r} is not known; choose from {', '.join(known)}")


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


def _warn(task: Task, batches: TaskBatches, *, edits: int, correction: Correction, edited: bool) -> None:
    """Tell what a user should know before trusting the numbers."""
    texts = len(set(batches.documents.tolist()))
    told = None
    if texts < 2:
        told = f"{task.data} is a single text or article, so no interval can be given; use data with several"
    elif least_p(texts) * (edits if correction == "holm" else 1) >= SIGNIFICANT:
        told = (
            f"{texts} independent texts cannot make any of {edits} edits significant, whatever they do; use data "
            "with more texts or articles"
        )
    if told is not None:
        warnings.warn(told, HeadscopeWarning, stacklevel=3)
    note = batches.skipped.note()
    if note is not None:
        warnings.warn(note, HeadscopeWarning, stacklevel=3)
    if edited:
        warnings.warn(
            "an edit of the model is in force already: the untouched model of this sweep is the edited one",
            HeadscopeWarning,
            stacklevel=3,
        )


def _digest(batches: TaskBatches) -> str:
    """SHA-256 over the tokens the network was given, in the order of examples."""
    rows = {
        (int(example), tuple(ids[known].tolist()))
        for batch in batches
        for example, ids, known in zip(
            batch.example, batch.text.source.ids, batch.text.source.is_token, strict=True
        )
    }
    return hashlib.sha256(repr(sorted(rows)).encode()).hexdigest()
