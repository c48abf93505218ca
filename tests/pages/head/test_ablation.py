"""How sure an effect is: corrected for how many edits, and whether that many texts could show any."""

from typing import Any

import numpy as np
import pytest
from tests.helpers.atlases import per_head, probe_facts, random_atlas

from headscope.atlas import Atlas
from headscope.facts.head_arrays import head_arrays
from headscope.pages.head.ablation import ablation_effects
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


def said(atlas: Atlas) -> str:
    """What the section says of its pale bars."""
    [section] = ablation_effects(atlas, head_arrays(atlas, "encoder", HeadId(0, 1)))
    assert all(bar.pale and bar.note == "not significant" for chart in section.charts for bar in chart.bars)
    return section.about.partition("orange is worse. ")[2]


def test_how_many_edits_it_is_corrected_for() -> None:
    assert said(ablated()) == "Faint: not significant after correction for 12 tests."
    assert said(ablated(missing=2)) == "Faint: not significant after correction for 10 tests."
    assert "for 24 tests" in said(ablated(stacks=("encoder", "decoder")))
    assert said(ablated(correction="none")) == "Faint: not significant (p ≥ 0.05, not corrected)."


@pytest.mark.parametrize("correction", ["holm", "benjamini-hochberg"])
@pytest.mark.parametrize("documents", [2, 4, 6, 8, 9, 20])
def test_whether_any_could_be_significant(correction: Any, documents: int) -> None:
    """As if every document changed alike under every edit."""
    expected = adjusted([least_p(documents)] * 12, correction).min() < SIGNIFICANT
    words = said(ablated(correction=correction, documents=documents))
    assert ("cannot make any of 12 edits significant" in words) != expected


def test_both_answers_occur() -> None:
    assert said(ablated(documents=4)) == (
        "Faint: 4 independent texts cannot make any of 12 edits significant, whatever they do: that takes 9."
    )
    assert "cannot" not in said(ablated(documents=12))


def test_what_is_not_known_is_not_said() -> None:
    assert "cannot" not in said(ablated(documents=None))
    assert (
        said(ablated(correction="of one's own")) == "Faint: not significant after correction for all edits."
    )
    assert said(ablated(correction=None)) == "Faint: not significant after correction for all edits."
