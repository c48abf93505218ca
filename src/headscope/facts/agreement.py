"""Whether gradients and ablation agree on which heads matter."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from headscope.atlas import Atlas
from headscope.stats.rank import correlation, correlation_interval, correlation_p

Array = np.ndarray[Any, Any]

RESAMPLES = 2000
FEWEST_HEADS = 4


Kind = Literal["worse", "either way"]


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


def agreement(atlas: Atlas, *, stack: str | None = None) -> list[Agreement]:
    """`head_importance` against `ablation_change`, for each metric; none where the atlas lacks one of them.

    Importance has no sign, and some heads stand in the way: so both how much worse a metric becomes and how much it
    changes either way are looked at. Heads are resampled as if they were independent, which neighbours in a layer are
    not quite.
    """
    found = []
    probes = atlas.provenance.get("probes", {})
    sweep = probes.get("ablation", {}).get("sweeps", {}).get("heads", {})
    asked = probes.get("importance", {})
    task = asked.get("options", {}).get("task")
    same_data = (sweep.get("task"), sweep.get("data")) == (task, asked.get("data"))
    for name in atlas.stacks if stack is None else [stack]:
        arrays = atlas.stack(name)
        if "head_importance" not in arrays or "ablation_change" not in arrays:
            continue
        importance = arrays["head_importance"].transpose("layer", "head").values.ravel()
        changes = arrays["ablation_change"]
        for metric in [str(label) for label in changes["metric"].values]:
            change = changes.sel(metric=metric).transpose("layer", "head").values.ravel()
            is_high_good = sweep.get("metrics", {}).get(metric, {}).get("higher_is_better", True)
            harm = -change if is_high_good else change
            if importance.shape == harm.shape:
                kinds: dict[Kind, Array] = {"worse": harm, "either way": np.abs(harm)}
                for kind, effect in kinds.items():
                    numbers = _correlated(importance, effect)
                    if numbers is not None:
                        edit = str(sweep.get("edit", ""))
                        found.append(Agreement(name, metric, kind, *numbers, edit, same_data))
    return found


def _correlated(importance: Array, effect: Array) -> tuple[float, float, float, float, int] | None:
    """Spearman's correlation, p, the ends of its interval, and over how many heads; None where ranks say nothing."""
    known = np.isfinite(importance) & np.isfinite(effect)
    importance, effect = importance[known], effect[known]
    if len(effect) < FEWEST_HEADS or np.ptp(importance) == 0 or np.ptp(effect) == 0:
        return None
    rho = correlation(importance, effect)
    low, high = correlation_interval(importance, effect, np.random.default_rng(0), rounds=RESAMPLES)
    return rho, correlation_p(rho, len(effect) - 2), low, high, len(effect)
