"""Atlases with made-up sweeps, as `ablate` leaves them."""

from collections.abc import Mapping
from typing import Any

import headscope as hs

HIGHER, LOWER = "f1", "loss"


def facts(sweep: str, edit: str, **changes: Any) -> dict[str, Any]:
    """What a sweep says about itself: 40 % F1 untouched, a loss of 2 nats."""
    told = {
        "task": "qa",
        "data": "questions.json",
        "data_hash": "sha256:1",
        "edit": edit,
        "examples": 1234,
        "documents": 12,
        "baseline": {"em": 30.0, HIGHER: 40.0, LOWER: 2.0},
        "baseline_interval": {"em": [25.0, 35.0], HIGHER: [35.0, 45.0], LOWER: [1.5, 2.5]},
        "metrics": {
            "em": {"unit": "%", "digits": 1, "higher_is_better": True},
            HIGHER: {"unit": "%", "digits": 1, "higher_is_better": True},
            LOWER: {"unit": "nats", "digits": 3, "higher_is_better": False},
        },
        "correction": "holm",
        "types": {},
        "types_from": "the given atlas" if sweep == "types" else "",
    }
    return told | changes


def row(sweep: str, name: str, change: float, *, heads: int = 1, sure: bool = False) -> dict[str, Any]:
    """An edit that changes F1 by so many points, give or take one, and the loss by a tenth of that."""
    changes = {"em": 0.0, HIGHER: change, LOWER: change / 10}
    return {
        "sweep": sweep,
        "name": name,
        "heads": [f"0.{head}" for head in range(heads)],
        "values": {"em": 30.0, HIGHER: 40.0 + change, LOWER: 2.0 + change / 10},
        "change": changes,
        "interval": {metric: [value - 1, value + 1] for metric, value in changes.items()},
        "significant": dict.fromkeys(changes, sure),
    }


def with_sweeps(
    atlas: hs.Atlas,
    sweeps: Mapping[str, tuple[dict[str, Any], list[dict[str, Any]]]],
    *,
    probe: str = "ablation",
) -> hs.Atlas:
    """The atlas with sweeps by name, each its facts and its rows."""
    told = {"data": "questions.json", "sweeps": {name: about for name, (about, _) in sweeps.items()}}
    rows = [one for _, found in sweeps.values() for one in found]
    return atlas.with_probe(probe, {}, facts=told, table={atlas.stacks[0]: rows}, examples={})
