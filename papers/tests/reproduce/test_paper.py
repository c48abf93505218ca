"""What papers published, as their files tell it, and how a section is filled from it."""

import pytest

from headscope_papers.reproduce import Figure, Origin, Verdict
from headscope_papers.reproduce.paper import published
from headscope_papers.reproduce.verdicts import RULES

PAPERS = ("clark2019", "kovaleva2019", "vig2019", "guan2020")
OURS = Origin("tiny", "texts")


@pytest.mark.parametrize("name", PAPERS)
def test_every_file_is_whole(name: str) -> None:
    paper = published(name)
    assert paper.name == name
    assert paper.nothing
    assert name[-4:] in paper.citation
    for section in paper.sections.values():
        assert section.title
        assert section.published.model
        assert len({*section.covers, *paper.not_covered}) == len(section.covers) + len(paper.not_covered)
        for row in section.rows.values():
            assert row.rule in RULES
            assert row.finding or not row.or_unclear


def test_a_section_like_another_has_what_it_does_not_say_itself() -> None:
    first, second = (published("vig2019").sections[key] for key in ("delimiter_neurons", "next_word_neurons"))
    assert second.notes == first.notes
    assert second.rows["random"] == first.rows["random"]
    assert second.rows["few"].quantity == first.rows["few"].quantity
    assert (first.figure("few").words, second.figure("few").words) == ("a few neurons", "most neurons")
    assert second.title != first.title


def test_a_row_is_tested_by_its_rule_and_named_for_the_model() -> None:
    section = published("clark2019").sections["roles"]
    less = section.row("others_to_sep", Figure(0.3, 0.2, 0.4), Figure(0.9, 0.8, 1.0), sep="</s>")
    assert less.quantity == "other tokens to </s>"
    assert less.verdict == Verdict("same", "other tokens look less at </s> than </s> does")
    even = section.row("sep_if_even", Figure(0.1), 0.1, tested=Figure(0.05), sep="</s>", ending=", tiny")
    assert (even.quantity, even.published) == ("to </s> if even, tiny", Figure(1 / 64))
    assert even.verdict == Verdict("different", "</s> gets more than an even share")
    assert section.row("other_layers", Figure(0.1), 0.0, role="[CLS]").verdict is None


def test_what_cannot_be_decided_is_unclear_where_a_row_says_so() -> None:
    section = published("clark2019").sections["coreference"]
    row = section.row("rules", Figure(0.7), None, mention="all", published=Figure(0.69))
    assert row.verdict == Verdict("unclear", "the rules beat the best head")
    assert section.row("rules", None, None, mention="all").verdict is None


def test_a_section_is_filled_or_says_what_it_needs() -> None:
    section = published("kovaleva2019").sections["maps"]
    filled = section.filled(OURS, [], remarks=["a remark"], texts=8)
    assert (filled.ours, filled.needs) == (OURS, "")
    assert filled.notes[0].startswith(
        "The map that headscope's pattern networks are surest of, in the first 8 texts."
    )
    assert filled.notes[-1] == "a remark"
    assert section.left_out().needs == section.needs
    assert section.left_out("something else").needs == "something else"
