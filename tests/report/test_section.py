"""Heads that texts name become links, and numbers do not."""

import pytest

from headscope.report.section import HeadLinks
from headscope.types import HeadId

LINKS = HeadLinks("encoder", (12, 8))


def link(name: str) -> str:
    layer, head = name.split(".")
    where = f"view=atlas&amp;stack=encoder&amp;layer={layer}&amp;heads={head}"
    return f'<a class="head" href="#{where}">{name}</a>'


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Head 3.2 finds nouns: 97.6% of 166 cases.", ["3.2"]),
        ("Heads 0.3 and 8.1 are alike: 0.058 nats.", ["0.3", "8.1"]),
        ("most from heads 1.2, 3.4 and 5 more", ["1.2", "3.4"]),
        ("9.0% of it (head 7.5).", ["7.5"]),
        ("ahead 2.5 times", []),
        ("head 12.0 is not there", []),
        ("head 3.25 is a number", []),
        ("heads 3.2% more", []),
        ("4 heads give it more than half: 2.6, 4.6.", []),
    ],
)
def test_heads_by_the_word_before_them(text: str, named: list[str]) -> None:
    expected = text
    for name in named:
        expected = expected.replace(name, link(name), 1)
    assert LINKS.prose(text) == expected


def test_a_head_by_itself() -> None:
    assert LINKS.to(HeadId(2, 6)) == link("2.6")
    assert LINKS.to(HeadId(12, 0)) == "12.0"  # which the atlas does not have


def test_the_heads_of_a_sentence_and_nothing_else() -> None:
    parts = ("Of <b> it ", HeadId(2, 6), " takes -1.5 ± 0.2 more than head 3.2.")
    number = "\N{MINUS SIGN}1.5\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}0.2"
    assert LINKS.prose(parts) == f"Of &lt;b&gt; it {link('2.6')} takes {number} more than head 3.2."


def test_cells() -> None:
    assert LINKS.cell("3.2", "Head") == link("3.2")
    assert LINKS.cell("3.2", "Importance") == "3.2"
    assert LINKS.cell("3.2: 91.0%", "Strongest") == f"{link('3.2')}: 91.0%"
    assert HeadLinks().cell("3.2", "Head") == "3.2"
