"""Made-up atlases for Kovaleva et al. 2019, and what to look up in the figures read from them."""

from typing import Any

import numpy as np
from papers.tests.reproduce.sweeps import facts, row, with_sweeps
from tests.helpers.atlases import empty_atlas, probe_facts

import headscope as hs
from headscope.probes.features.classes import FEATURES
from headscope.types import LabelledArray
from headscope_papers.reproduce.table import Figure, Reproduction, Row


def rows_of(result: Reproduction, key: str) -> dict[str, Row]:
    return {row.quantity: row for row in result.section(key).rows}


def ours(result: Reproduction, key: str, quantity: str) -> Figure:
    found = rows_of(result, key)[quantity].ours
    assert found is not None
    return found


def published(result: Reproduction, key: str, quantity: str) -> Figure:
    found = rows_of(result, key)[quantity].published
    assert found is not None
    return found


def verdict(result: Reproduction, key: str, quantity: str) -> str:
    found = rows_of(result, key)[quantity].verdict
    assert found is not None
    return found.agreement


def labelled(values: Any, coords: dict[str, Any]) -> LabelledArray:
    return LabelledArray(np.asarray(values, float), tuple(coords), coords, "known")


def with_change(cosines: list[float], *, model: str = "tiny", **changes: Any) -> hs.Atlas:
    """A comparison whose layers have these cosines, each ± 0.01."""
    values = np.stack([1 - np.array(cosines), np.zeros(len(cosines))], 1)
    coords = {"layer": range(len(cosines)), "change": ("cosine", "js")}
    arrays = {
        "attention_change": labelled(values, coords),
        "attention_change_stderr": labelled(np.full_like(values, 0.01), coords),
    }
    told = probe_facts(data="pairs.tsv", options={"against": "before"}, **changes)
    return empty_atlas(model=model).with_probe(
        "compare", {"encoder": arrays}, facts=told, table={}, examples={}
    )


def with_roles() -> hs.Atlas:
    """Head 1.2 gives 0.5 to the role, 0.1 the other way round 0.3; only 1.2 is surely above its control."""
    attention = np.full((2, 2, 3), 0.05)
    attention[0, 1, 2], attention[1, 0, 1] = 0.5, 0.3
    difference = np.full_like(attention, 0.001)
    difference[0, 1, 2], difference[1, 0, 1] = 0.2, 0.025
    coords = {
        "direction": ("predicate_to_argument", "argument_to_predicate"),
        "layer": range(2),
        "head": range(3),
    }
    arrays = {}
    for name, values in (
        ("attention", attention),
        ("control", attention - difference),
        ("difference", difference),
    ):
        arrays[f"relation_overall_{name}"] = labelled(values, coords)
        arrays[f"relation_overall_{name}_stderr"] = labelled(np.full_like(values, 0.01), coords)
    chosen = {"role": "all", "head": "1.2", "direction": "predicate_to_argument", "cases": 40}
    table = [chosen | {"difference": 0.19, "low": 0.15, "high": 0.23}]
    told = probe_facts(data="roles.jsonl", texts=120)
    return empty_atlas().with_probe(
        "relations", {"encoder": arrays}, facts=told, table={"encoder": table}, examples={}
    )


def with_disabled(edit: str = "uniform", *, model: str = "tiny", **changes: Any) -> hs.Atlas:
    heads = [row("heads", "0.0", 2.0), row("heads", "0.1", -3.0, sure=True), row("heads", "1.0", 0.0)]
    heads.append(row("heads", "1.1", 1.5, sure=True))
    layers = [row("layers", "layer 0", -0.5), row("layers", "layer 1", 4.0, sure=True)]
    return with_sweeps(
        empty_atlas(model=model),
        {
            "heads": (facts("heads", edit, **changes), heads),
            "layers": (facts("layers", edit, **changes), layers),
        },
    )


def with_features(cls: float, sep: float, words: float) -> hs.Atlas:
    """Attention to [CLS], [SEP] and every class of words, each ± 0.01, in two layers of two heads."""
    coords = {"feature": FEATURES, "layer": range(2), "head": range(2)}
    values = np.full((len(FEATURES), 2, 2), words)
    values[FEATURES.index("cls")], values[FEATURES.index("sep")] = cls, sep
    arrays = {
        "feature_attention": labelled(values, coords),
        "feature_attention_stderr": labelled(np.full_like(values, 0.01), coords),
    }
    told = probe_facts(options={"against": None})
    return empty_atlas().with_probe("features", {"encoder": arrays}, facts=told, table={}, examples={})
