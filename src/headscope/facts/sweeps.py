"""The sweeps of an ablation: which there are, and what their tasks, metrics and edits are called."""

from typing import Any

import xarray as xr

from headscope.atlas import Atlas
from headscope.errors import AtlasError, OptionError
from headscope.facts.subject import Subject

_TASKS = {
    "qa": "answering questions",
    "classification": "classifying texts",
    "regression": "scoring texts",
    "mlm": "predicting masked tokens",
    "lm": "predicting the next token",
}

SWEEP_ARRAYS = {
    "heads": "ablation_change",
    "layers": "layer_change",
    "types": "type_change",
    "pairs-of-types": "type_pair_change",
    "sentence-masks": "sentence_mask_change",
    "cumulative": "pruning_curve",
}
"""The array that holds the changes of each sweep."""


def sweeps_of(subject: Subject) -> dict[str, dict[str, Any]]:
    """The facts of every sweep over this stack, by its name."""
    told = subject.probes.get("ablation", {}).get("sweeps", {})
    return {
        sweep: facts
        for sweep, facts in (told.items() if isinstance(told, dict) else ())
        if sweep in SWEEP_ARRAYS and isinstance(facts, dict) and subject.has(SWEEP_ARRAYS[sweep])
    }


def sweep_facts(atlas: Atlas, sweep: str) -> dict[str, Any]:
    """Where the numbers of a sweep come from."""
    probes = atlas.provenance.get("probes", {})
    told: dict[str, Any] = probes.get("ablation", {}).get("sweeps", {}).get(sweep, {})
    if not told:
        raise AtlasError(
            f"this atlas has no sweep of {sweep}; make one with: headscope ablate MODEL --sweep {sweep}"
        )
    return told


def metric_of(array: xr.DataArray, metric: str | None) -> str:
    """The metric that was asked for: by default F1 for questions, else the first."""
    known = [str(name) for name in array["metric"].values]
    if metric is None:
        return "f1" if known[:2] == ["em", "f1"] else known[0]
    if metric not in known:
        raise OptionError(f"there is no metric {metric!r} in this atlas; choose from {', '.join(known)}")
    return metric


def metric_words(metric: str) -> str:
    """A metric's name as papers write it."""
    return {"em": "EM", "f1": "F1"}.get(metric, metric)


def edit_words(told: dict[str, Any]) -> str:
    """What was done to heads, as a participle."""
    words = {"zero": "removed", "uniform": "made even", "mean": "replaced by its mean"}
    return words.get(str(told.get("edit")), "edited")


def unit_words(told: dict[str, Any], metric: str) -> str:
    """The unit of a change, in brackets; nothing for a number without one."""
    unit = told.get("metrics", {}).get(metric, {}).get("unit", "")
    return {"%": " (points)", "nats": " (nats)"}.get(unit, "")


def is_higher_better(told: dict[str, Any], metric: str) -> bool:
    """Whether more of a metric is better."""
    return bool(told.get("metrics", {}).get(metric, {}).get("higher_is_better", True))


def metric_digits(told: dict[str, Any], metric: str) -> int:
    """How many decimals of a metric mean something."""
    return int(told.get("metrics", {}).get(metric, {}).get("digits", 2))


def task_words(task: str) -> str:
    """What a model does in a task."""
    return _TASKS.get(task, task)
