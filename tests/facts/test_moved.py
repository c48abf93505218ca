"""What is said of a head that looks at a token and takes little from it."""

import re

from tests.planted import looks_and_takes

import headscope as hs
from headscope.facts.headlines import leading
from headscope.facts.slices import head_values
from headscope.facts.titles import AtlasWords


def told(of: hs.Atlas) -> list[str]:
    return [finding.text for finding in hs.findings(of) if " takes " in finding.text]


def test_the_head_that_looks_and_does_not_take() -> None:
    (text,) = told(looks_and_takes(looked=0.38, moved=0.06))
    assert re.findall(r"\d+\.\d", text) == ["1.0", "38.0", "1.0", "6.0", "1.0", "11.0", "3.0"]


def test_small_or_unsure_differences_are_not_told() -> None:
    assert not told(looks_and_takes(looked=0.38, moved=0.35))
    assert not told(looks_and_takes(looked=0.38, moved=0.30, error=0.05))


def test_its_card_says_what_it_takes() -> None:
    for taken, numbers in ((0.06, ["38.0", "2.0", "6.0"]), (0.36, ["38.0", "2.0"])):
        [claim] = hs.card(looks_and_takes(looked=0.38, moved=taken), "1.0").looks
        assert re.findall(r"\d+\.\d", claim.text) == numbers


def test_titles_and_units_say_what_is_moved() -> None:
    whole = looks_and_takes(looked=0.38, moved=0.06)
    picked = head_values(whole, "role_attention_moved", select={"role": "sep", "query_role": "all"})
    words = AtlasWords(whole)
    assert words.title(picked) == "Moved attention to [SEP]"
    assert words.unit(picked) == "share of what is moved"


def test_show_names_it_without_being_asked_for_all() -> None:
    """It has a topic of its own, so that what is shown first, a finding a topic, has it."""
    of = looks_and_takes(looked=0.38, moved=0.06)
    assert any(" takes " in finding.text for finding in leading(hs.findings(of)))
