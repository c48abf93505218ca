"""What gradients say of heads, as tables; and whether ablation agrees on which heads matter."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from headscope.atlas import Atlas
from headscope.facts.analyses.sweeps import SweepFacts, head_sweep
from headscope.facts.head_arrays import stack_arrays
from headscope.facts.slices import head_values
from headscope.facts.vocabulary import key_name
from headscope.facts.wording import amount, readable
from headscope.stats.rank import correlation, correlation_interval, correlation_p
from headscope.types import Array

RESAMPLES = 2000
FEWEST_HEADS = 4
MOST_HEADS = 10

Kind = Literal["worse", "either way"]
_CHANGES: dict[Kind, str] = {"worse": "how much worse it gets", "either way": "for better or worse"}
_EDITING = {
    "zero": "removing heads",
    "uniform": "making heads look evenly",
    "mean": "replacing heads by their mean",
}


@dataclass(frozen=True)
class NumberTable:
    """A table as it is read: its caption, the headings of its columns, and its cells."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def layer_table(atlas: Atlas, stack: str) -> NumberTable:
    """The mean size of the gradient in every layer, by role of the key."""
    means, errors = (atlas.stack(stack)[f"gradient_layer{end}"] for end in ("", "_stderr"))
    roles = [role for role in means["role"].values if np.isfinite(means.sel(role=role).values).any()]
    means, errors = means.sel(role=roles), errors.sel(role=roles)
    factor, unit = readable(float(means.max()), str(means.attrs.get("units", "1")))
    rows = [
        (str(layer), *(_scaled(*numbers, factor) for numbers in zip(*both, strict=True)))
        for layer, both in enumerate(zip(means.values, errors.values, strict=True))
    ]
    return NumberTable(
        f"Mean |dLoss/dA| by what is looked at, in {unit}, with standard errors over texts",
        ("layer", *(key_name(atlas, stack, str(role)) for role in roles)),
        tuple(rows),
    )


def head_table(atlas: Atlas, stack: str) -> NumberTable:
    """The most important heads."""
    values = head_values(atlas, "head_importance", stack=stack)
    order = values.order()[:MOST_HEADS]
    factor, unit = readable(values.at(order[0])[0] if order else 0.0, values.units)
    return NumberTable(
        f"The most important heads by gradient, in {unit}, with standard errors over texts",
        ("head", "importance"),
        tuple((str(head), _scaled(*values.at(head), factor)) for head in order),
    )


def _scaled(value: float, error: float | None, factor: float) -> str:
    if not np.isfinite(value):
        return "-"
    stderr = None if error is None or not np.isfinite(error) else factor * error
    return amount(factor * value, stderr, units="")


@dataclass(frozen=True)
class Agreement:
    """The rank correlation of a head's importance with what removing it does to a task."""

    stack: str
    metric: str
    change: Kind
    """Whether what counts is how much worse the task is done without the head, or how much it is done differently."""
    rho: float
    """Spearman's; 1 when both put the heads in the same order."""
    p: float
    """Two-sided, of no correlation between heads."""
    low: float
    high: float
    """A 95 % bootstrap interval over heads."""
    heads: int
    edit: str
    """What was done to heads: zero, uniform or mean."""
    same_data: bool
    """Whether both are about the same task on files of the same name; where not, they need not agree."""

    def __str__(self) -> str:
        """As a sentence."""
        other = "" if self.same_data else ", on other data,"
        return (
            f"Importance by gradient and what {_EDITING.get(self.edit, 'editing heads')} one by one{other} does to "
            f"{self.metric} ({_CHANGES[self.change]}) correlate by {self.rho:.2f} (Spearman; 95 % interval "
            f"{self.low:.2f} to {self.high:.2f}, p {self.p:.2g}, {self.heads} heads)."
        )


def agreement(atlas: Atlas, *, stack: str | None = None) -> list[Agreement]:
    """`head_importance` against `ablation_change`, for each metric; none where the atlas lacks one of them.

    Importance has no sign, and some heads stand in the way: so both how much worse a metric becomes and how much it
    changes either way are looked at. Heads are resampled as if they were independent, which neighbours in a layer are
    not quite.
    """
    sweep, asked = head_sweep(atlas), atlas.probes.get("importance", {})
    tried = asked.get("options", {}).get("task"), asked.get("data")
    same_data = (sweep.facts.get("task"), sweep.facts.get("data")) == tried
    edit = str(sweep.facts.get("edit", ""))
    return [
        Agreement(name, metric, kind, *numbers, edit, same_data)
        for name in (atlas.stacks if stack is None else [stack])
        for metric, kind, importance, effect in _effects(atlas, name, sweep)
        if (numbers := _correlated(importance, effect)) is not None
    ]


def _effects(atlas: Atlas, stack: str, sweep: SweepFacts) -> Iterator[tuple[str, Kind, Array, Array]]:
    """For every metric, (head,) importance, and how much worse, or otherwise, the task is done without the head."""
    arrays = stack_arrays(atlas, stack)
    if "head_importance" not in arrays or "ablation_change" not in arrays:
        return
    importance = arrays["head_importance"].transpose("layer", "head").values.ravel()
    changes = arrays["ablation_change"].transpose("metric", "layer", "head")
    for metric, change in zip(map(str, changes.labels["metric"]), changes.values, strict=True):
        harm = sweep.about(metric).harm(change.ravel())
        if importance.shape == harm.shape:
            yield metric, "worse", importance, harm
            yield metric, "either way", importance, np.abs(harm)


def _correlated(importance: Array, effect: Array) -> tuple[float, float, float, float, int] | None:
    """Spearman's correlation, p, the ends of its interval, and over how many heads; None where ranks say nothing."""
    known = np.isfinite(importance) & np.isfinite(effect)
    importance, effect = importance[known], effect[known]
    if len(effect) < FEWEST_HEADS or np.ptp(importance) == 0 or np.ptp(effect) == 0:
        return None
    rho = correlation(importance, effect)
    low, high = correlation_interval(importance, effect, np.random.default_rng(0), rounds=RESAMPLES)
    return rho, correlation_p(rho, len(effect) - 2), low, high, len(effect)
