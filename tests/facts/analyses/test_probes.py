"""How many heads stand out in a row: as many as when the verdict on every head is made."""

import numpy as np
import pytest
from tests.helpers.atlases import probe_facts, random_atlas

from headscope.atlas import Atlas
from headscope.facts.analyses import probes as of_probes
from headscope.facts.analyses.probes import head_scores, heads_that_find
from headscope.facts.description import description_of
from headscope.types import Array, Coords, HeadId, LabelledArray

LABELS = ["ARG0", "ARG1", "ARG2", "ARGM-TMP"]
LAYERS, HEADS = 4, 6


def cells(label: str) -> Coords:
    return {label: LABELS, "direction": ["there", "back"], "layer": range(LAYERS), "head": range(HEADS)}


def scores(most: float, *, seed: int) -> Array:
    """(label, direction, layer, head) random numbers, some of them missing."""
    draw = np.random.default_rng(seed)
    values = draw.uniform(0, most, (len(LABELS), 2, LAYERS, HEADS))
    values[draw.uniform(size=values.shape) < 0.2] = np.nan
    return values


def with_probe(probe: str, label: str, start: str, arrays: dict[str, LabelledArray]) -> Atlas:
    """What the probe would leave if it had many cases."""
    for name, number in (("count", 900), ("units", 80)):
        arrays[f"{start}_{name}"] = LabelledArray.of(np.full(len(LABELS), number), {label: LABELS}, name)
    atlas = random_atlas(LAYERS, HEADS)
    return atlas.with_probe(probe, {"encoder": arrays}, facts=probe_facts(), table={}, examples={})


def beside_rules() -> Atlas:
    values, rules = scores(1, seed=1), np.random.default_rng(2).uniform(0, 0.8, (len(LABELS), 3))
    rules[0, 0] = rules[1] = np.nan
    arrays = {
        "dependency_accuracy": LabelledArray.of(values, cells("relation"), "share"),
        "dependency_accuracy_stderr": LabelledArray.of(
            np.full_like(values, 0.02), cells("relation"), "error"
        ),
        "dependency_baseline": LabelledArray.of(
            rules, {"relation": LABELS, "offset": [-1, 1, 2]}, "share of each offset"
        ),
    }
    return with_probe("dependency", "relation", "dependency", arrays)


def beside_controls() -> Atlas:
    values, controls = scores(1, seed=1), scores(1, seed=2)
    numbers = {
        "attention": values,
        "control": controls,
        "difference": values - controls,
        "difference_stderr": np.full_like(values, 0.02),
    }
    arrays = {f"relation_{name}": LabelledArray.of(own, cells("role"), name) for name, own in numbers.items()}
    return with_probe("relations", "role", "relation", arrays)


@pytest.mark.parametrize(
    ("atlas", "probe"), [(beside_rules(), "dependency"), (beside_controls(), "relations")]
)
def test_as_many_heads_as_when_every_head_is_judged(atlas: Atlas, probe: str) -> None:
    heads = [HeadId(layer, head) for layer in range(LAYERS) for head in range(HEADS)]
    slowly = [
        sum(
            score.stands_out
            for head in heads
            for _, score in head_scores(atlas, "encoder", head, only=(probe, label))
        )
        for label in LABELS
    ]
    assert [heads_that_find(atlas, "encoder", probe, label) for label in LABELS] == slowly
    assert 0 < sum(slowly) < len(heads) * len(LABELS) / 2
    assert heads_that_find(atlas, "encoder", probe, "unknown") == 0


def test_a_head_is_corrected_for_every_number_that_there_is() -> None:
    known = int(np.isfinite(scores(1, seed=1)).sum())
    assert 100 < known < len(LABELS) * 2 * LAYERS * HEADS
    atlas = beside_rules()
    described = description_of(atlas, "dependency")
    assert of_probes.tests_made(atlas, "encoder", described) == known
    assert of_probes.tests_made(random_atlas(LAYERS, HEADS), "encoder", described) == 1
