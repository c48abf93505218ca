"""How sure an effect is: corrected for how many edits, and whether that many texts could show any."""

from typing import Any

import numpy as np
import pytest
from tests.helpers.atlases import per_head, probe_facts, random_atlas

from headscope.atlas import Atlas
from headscope.facts.head_arrays import head_arrays
from headscope.pages.atlas_words import AtlasWords
from headscope.pages.head_ablation import ablation_effects
from headscope.pages.shapes import AblationEffect
from headscope.stats.correction import SIGNIFICANT, adjusted
from headscope.stats.paired import least_p
from headscope.types import HeadId


def ablated(*, missing: int = 0, stacks: tuple[str, ...] = ("encoder",), **told: Any) -> Atlas:
    change = np.full((3, 4, 2), -1.5)
    p = np.full_like(change, 0.01)
    p.reshape(-1, 2)[:missing] = np.nan
    metrics = {"metric": ("f1", "loss")}
    arrays = per_head("ablation_change", change, metrics)
    arrays |= per_head("ablation_p", p, metrics, stderr=None)
    arrays |= per_head("ablation_significant", np.zeros_like(change), metrics, stderr=None)
    facts = {"data": "dev.json", "edit": "zero", "correction": "holm", "documents": 12} | told
    return random_atlas(3, 4, stacks=stacks).with_probe(
        "ablation",
        dict.fromkeys(stacks, arrays),
        facts=probe_facts(sweeps={"heads": facts}),
        table={},
        examples={},
    )


def effects(atlas: Atlas) -> list[AblationEffect]:
    return ablation_effects(head_arrays(atlas, "encoder", HeadId(0, 1)), AtlasWords(atlas))


def test_how_many_edits_it_is_corrected_for() -> None:
    assert [one.edits for one in effects(ablated())] == [12, 12]
    assert [one.edits for one in effects(ablated(missing=2))] == [10, 10]
    both = ablated(stacks=("encoder", "decoder"))
    assert [one.edits for one in effects(both)] == [24, 24]
    none = effects(ablated(correction="none"))
    assert [(one.edits, one.corrected) for one in none] == [(None, False)] * 2
    assert effects(ablated())[0].corrected is True


@pytest.mark.parametrize("correction", ["holm", "benjamini-hochberg", "none"])
@pytest.mark.parametrize("documents", [2, 4, 6, 8, 9, 20])
def test_whether_any_could_be_significant(correction: Any, documents: int) -> None:
    """As if every document changed alike under every edit."""
    expected = adjusted([least_p(documents)] * 12, correction).min() < SIGNIFICANT
    found = effects(ablated(correction=correction, documents=documents))
    assert [one.possible for one in found] == [expected, expected]


def test_both_answers_occur() -> None:
    assert effects(ablated(documents=4))[0].possible is False
    assert effects(ablated(documents=12))[0].possible is True


def test_what_is_not_known_is_not_said() -> None:
    assert effects(ablated(documents=None))[0].possible is None
    assert effects(ablated(correction="of one's own"))[0].possible is None
    one = effects(ablated(correction=None))[0]
    assert (one.edits, one.possible, one.corrected) == (None, None, None)
