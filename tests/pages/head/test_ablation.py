"""How sure an effect is: corrected for how many edits, and whether that many texts could show any."""

import re
from typing import Any

import pytest
from tests.planted import ablated

from headscope.atlas import Atlas
from headscope.facts.head_arrays import head_arrays
from headscope.pages.head.ablation import ablation_effects
from headscope.stats.correction import SIGNIFICANT, adjusted
from headscope.stats.paired import least_p
from headscope.types import HeadId


def said(atlas: Atlas) -> str:
    """What the section says of its pale bars, all of which are."""
    [section] = ablation_effects(atlas, head_arrays(atlas, "encoder", HeadId(0, 1)))
    assert all(bar.pale for chart in section.charts for bar in chart.bars)
    return section.about.partition("orange is worse. ")[2]


def numbers(atlas: Atlas) -> list[int]:
    """Those of what the section says, in their order."""
    return [int(number) for number in re.findall(r"\d+", said(atlas))]


def test_how_many_edits_it_is_corrected_for() -> None:
    assert numbers(ablated()) == [12]
    assert numbers(ablated(missing=2)) == [10]
    assert numbers(ablated(stacks=("encoder", "decoder"))) == [24]
    assert 12 not in numbers(ablated(correction="none"))


@pytest.mark.parametrize("correction", ["holm", "benjamini-hochberg"])
@pytest.mark.parametrize("documents", [2, 4, 6, 8, 9, 20])
def test_whether_any_could_be_significant(correction: Any, documents: int) -> None:
    """As if every document changed alike under every edit."""
    expected = adjusted([least_p(documents)] * 12, correction).min() < SIGNIFICANT
    told = numbers(ablated(correction=correction, documents=documents))
    assert (told[:2] == [documents, 12]) != expected


def test_both_answers_occur() -> None:
    assert numbers(ablated(documents=4)) == [4, 12, 9]  # so many texts, so many edits, so many texts needed
    assert numbers(ablated(documents=12)) == [12]


@pytest.mark.parametrize("facts", [{"documents": None}, {"correction": "of one's own"}, {"correction": None}])
def test_what_is_not_known_is_not_said(facts: dict[str, Any]) -> None:
    assert numbers(ablated(**facts)) == ([12] if "documents" in facts else [])
