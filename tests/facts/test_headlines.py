"""What leads: the clearest answer to each question, and nothing that may be noise."""

from dataclasses import replace

import numpy as np
import pytest
from tests.helpers.atlases import atlas_of, per_head, random_atlas

from headscope.facts.findings import Finding
from headscope.facts.headlines import headlines, most_telling
from headscope.facts.scores import Score, Verdict, rarity
from headscope.types import HeadId


def finding(
    topic: str, low: float, *, control: float | None = 0.5, verdict: Verdict | None = None, head: int = 0
) -> Finding:
    held = None if control is None else Score("a rule", control, control - 0.1, control + 0.1, "")
    heads = (HeadId(0, head),)
    return Finding(topic, "encoder", ("",), low + 0.1, None, heads, "1", (low, low + 0.2), held, verdict)


def test_the_clearest_answer_to_each_question_leads() -> None:
    leading = headlines(
        [
            finding("Neighbours", 0.7),
            finding("Named patterns", 0.8),
            finding("Syntax", 0.7, verdict="above"),
            finding("Roles", 0.9, verdict="above"),
            finding("Ablation", 0.65, verdict="above"),
            finding("Why", 0.99),
        ]
    )
    assert [one.topic for one in leading] == ["Roles", "Ablation", "Named patterns"]


def test_one_topic_may_lead_with_several_heads() -> None:
    habits = [
        finding("Named patterns", low, head=head) for low, head in ((0.9, 1), (0.85, 1), (0.8, 2), (0.7, 3))
    ]
    assert headlines(habits) == [habits[0], habits[2], habits[3]]


def test_what_few_heads_do_leads_before_what_most_do() -> None:
    sink, induction = finding("Known kinds", 0.9), replace(finding("Known kinds", 0.8, head=5), rarity=0.65)
    assert headlines([replace(sink, rarity=0.03), induction])[0] == induction
    assert rarity(1, 96) == 1
    assert rarity(96, 96) == 0
    assert rarity(5, 96) == pytest.approx(0.647, abs=1e-3)


def test_headlines_are_about_different_heads() -> None:
    same = [finding("Syntax", 0.9, verdict="above"), finding("Neighbours", 0.85), finding("Why", 0.8)]
    other = finding("Neighbours", 0.7, head=3)
    assert headlines([*same, other]) == [same[0], other]


def test_noise_never_leads() -> None:
    noise = [
        finding("Syntax", 0.9, verdict="unclear"),
        finding("Coreference", 0.9, verdict="below"),
        finding("Named patterns", 0.55),  # within the control's interval
        finding("Neighbours", 0.9, control=None),  # held against nothing
    ]
    assert headlines(noise) == []
    assert headlines([*noise, finding("Breadth", 0.7)]) == [finding("Breadth", 0.7)]


def test_heads_are_told_apart_by_the_share_that_differs_most() -> None:
    offsets = np.full((2, 2, 2), 0.3)
    offsets[0, 1, 1] = 0.9
    arrays = per_head("offset_attention", offsets, {"offset": (-1, 1)})
    arrays |= per_head("entropy", np.array([[0.0, 4.0], [1.0, 2.0]]), units="nats")
    telling = most_telling(atlas_of(arrays))
    assert telling is not None
    assert (telling.measure, telling.select) == ("offset_attention", {"offset": (1,)})
    only = most_telling(atlas_of(per_head("entropy", np.array([[0.0, 4.0]]), units="nats")))
    assert only is not None
    assert only.measure == "entropy"
    assert most_telling(random_atlas()) is not None
