"""One page about papers: whole, safe, and the same numbers in HTML and Markdown."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.helpers.atlases import random_atlas
from tests.report.test_page import Reader

from headscope.errors import OptionError
from headscope_papers.reproduce import (
    Drawing,
    Figure,
    Grid,
    Origin,
    Reproduction,
    Row,
    Section,
    Verdict,
    write_page,
)

RISKY = "<script>alert(1)</script> | *x*"
ROWS = (
    Row("det", "share", Figure(0.943, detail="8-11"), Figure(0.9, 0.85, 0.95, "1.2", 120), "a note",
        Verdict("same", "a head beats an offset")),
    Row("nsubj", "share", Figure(0.585), Figure(0.5, 0.4, 0.6), verdict=Verdict("unclear", "a head beats an offset")),
    Row("prep", "share", Figure(None, words="most"), None),
)  # fmt: skip
TABLE = Section(
    "dependency",
    "Table 1: dependency heads",
    Origin("bert-base", "Penn Treebank", "table 1"),
    Origin("tiny", RISKY),
    ROWS,
    grid=Grid("heads by layer", ("0", "1"), {"dense": [3, 4]}),
    notes=(RISKY,),
    drawings=(Drawing("A line", "From 0 to 1.", (3, 2), lambda ax: ax.plot([0, 1])),),
)
LEFT_OUT = Section("parser", "Table 3", Origin("bert-base", ""), needs="table 3 needs --train FILE")
RESULT = Reproduction(
    "clark2019", "Clark 2019: What does BERT look at", (TABLE, LEFT_OUT), ("remember",), random_atlas(),
    not_covered={"figure 9": RISKY},
)  # fmt: skip
OTHER = replace(
    RESULT, paper="vig2019", citation="Vig 2019: Deconstructing", others=(random_atlas(model="tuned"),)
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_page([RESULT, OTHER], tmp_path_factory.mktemp("page") / "page.html").read_text(
        encoding="utf-8"
    )


def test_it_is_well_formed_and_whole(page: str) -> None:
    reader = Reader(page)
    assert len(reader.ids) == len(set(reader.ids))
    assert reader.places <= set(reader.ids)
    assert reader.headings.count(1) == 1
    assert all(
        after - before <= 1 for before, after in zip(reader.headings, reader.headings[1:], strict=False)
    )
    assert reader.tags["figure"] == len(reader.images) == 2
    assert reader.tags["caption"] == reader.tags["table"]


def test_it_runs_nothing_and_asks_for_nothing(page: str) -> None:
    reader = Reader(page)
    assert reader.tags["script"] == reader.tags["image"] == reader.tags["link"] == 0
    assert "script-src 'none'" in reader.policy
    assert all(link.startswith("#") for link in reader.links)
    assert "<script" not in page
    assert RISKY in "".join(reader.words)


def test_it_says_what_agrees_and_what_is_missing(page: str) -> None:
    text = re.sub(r"\s+", " ", " ".join(Reader(page).words))
    assert (
        "a head beats an offset 1 of 2 the same, 1 unclear (nsubj) Clark 2019; Table 1: dependency heads"
        in text
    )
    assert "det 94.3 % (8-11) 90.0 % (1.2) 85.0 to 95.0 120 yes" in text
    assert "bert-base; Penn Treebank (table 1)" in text
    assert "Left out: table 3 needs --train FILE." in text
    assert "figure 9: <script>" in text
    assert "Clark 2019 2 1 0 1 1" in text  # tested, same, different, unclear, left out
    assert "Model tiny Compared with it tuned Papers 2" in text


def test_markdown_has_the_same_tables(tmp_path: Path) -> None:
    text = write_page([RESULT], tmp_path / "page.md").read_text(encoding="utf-8")
    lines = text.splitlines()
    assert lines[0] == "# Published figures and ours"
    assert "| det | 94.3 % (8-11) | 90.0 % (1.2) | 85.0 to 95.0 | 120 | yes |" in lines
    assert "| dense | 3 | 4 |" in lines
    assert "- det: a note" in lines
    assert r"- Ours: tiny; \<script\>alert(1)\</script\> \| \*x\*" in lines
    widths = {
        block: line.replace(r"\|", "").count("|") for block, line in enumerate(lines) if line.startswith("|")
    }
    assert all(widths[place] == widths.get(place - 1, widths[place]) for place in widths)
    assert "A line" not in text


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"written as \.html or \.md, not as 'page\.pdf'"):
        write_page([RESULT], tmp_path / "page.pdf")
    with pytest.raises(OptionError, match="no paper"):
        write_page([], tmp_path / "page.html")
    broken = replace(
        RESULT, sections=[replace(TABLE, drawings=(Drawing("x", "", (3, 2), lambda ax: 1 / 0),))]
    )
    with pytest.raises(ZeroDivisionError):
        write_page([broken], tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []
