"""Figures and verdicts in words."""

from headscope_papers.reproduce import Figure, Origin, Row, Section, Verdict
from headscope_papers.reproduce import wording as words
from headscope_papers.reproduce.table import Agreement


def row(quantity: str, agreement: Agreement | None, finding: str = "a head beats an offset") -> Row:
    verdict = None if agreement is None else Verdict(agreement, finding)
    return Row(quantity, "share", Figure(0.9), Figure(0.8), verdict=verdict)


def section(*rows: Row) -> Section:
    return Section("one", "Table 1", Origin("bert-base", "texts"), Origin("tiny", "others"), rows)


def test_each_finding_is_told_once_with_its_exceptions() -> None:
    found = words.tallies(
        section(
            row("det", "same"),
            row("nsubj", "unclear"),
            row("prep", None),
            row("[SEP]", "different", "heads look at [SEP]"),
            row("amod", "same"),
            row("obj", "different"),
        )
    )
    assert [(tally.finding, tally.outcome) for tally in found] == [
        ("a head beats an offset", "2 of 4 the same, 1 different (obj), 1 unclear (nsubj)"),
        ("heads look at [SEP]", "different"),
    ]
    many = words.tallies(section(*(row(str(number), "unclear") for number in range(7))))
    assert many[0].outcome == "0 of 7 the same, 7 unclear"


def test_verdicts_are_counted_by_row() -> None:
    sections = [section(row("a", "same"), row("b", "same"), row("c", None)), section(row("d", "unclear"))]
    assert words.counted(sections) == {"same": 2, "different": 0, "unclear": 1}


def test_numbers_have_their_units() -> None:
    assert words.our_figure(Figure(3), "neurons") == "3 neurons"
    assert words.our_figure(Figure(0.1234), "share") == "12.3 %"
    assert words.published_figure(Figure(0.1234), "share") == "12.34 %"
    assert words.interval(Figure(0.1, 0.05, 0.15), "share") == "5.0 to 15.0"
    assert words.our_figure(None, "share") == "-"
    assert words.origin(Origin("bert-base", "texts", "table 2")) == "bert-base; texts (table 2)"
    assert words.origin(Origin("bert-base", "")) == "bert-base"
