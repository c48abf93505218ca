"""One atlas, told by findings, report, head page and embedded views: the same verdict and interval everywhere."""

import re

import numpy as np
import pytest
from tests.helpers.atlases import probe_facts, random_atlas

import headscope as hs
from headscope.atlas import Atlas
from headscope.facts.analyses.probes import best_heads
from headscope.facts.scores import HeadScore
from headscope.pages.atlas import embedded_atlas
from headscope.pages.head.page import head_page
from headscope.pages.shapes.head import Bar
from headscope.report.page import render
from headscope.stats.intervals import share_interval
from headscope.types import LabelledArray

LABELS = ["det", "nmod", "case", "dep"]
SHARES = np.array([0.9, 0.55, 0.52, 1.0])
"""Of head 1.2: far above the offset; above its value but not above the upper end; hardly above; of few cases."""
RULES = np.array([0.5, 0.48, 0.51, 0.1])
CASES = np.array([900, 300, 300, 29])
ERROR = 0.03
UNITS = 20.0


def _interval(share: float, cases: int) -> tuple[float, float]:
    return share_interval(share, ERROR, cases, UNITS)


@pytest.fixture(scope="module")
def atlas() -> Atlas:
    """What the dependency probe would leave of a model whose head 1.2 is the best at everything."""
    values = np.zeros((4, 2, 3, 4))
    values[:, 0, 1, 2] = SHARES
    cells = {
        "relation": LABELS,
        "direction": ["dependent_to_head", "head_to_dependent"],
        "layer": [0, 1, 2],
        "head": [0, 1, 2, 3],
    }
    rules = {"relation": LABELS, "offset": [-1]}
    by_label = {"relation": LABELS}
    arrays = {
        "dependency_accuracy": LabelledArray(values, tuple(cells), cells, "share"),
        "dependency_accuracy_stderr": LabelledArray(
            np.full_like(values, ERROR), tuple(cells), cells, "error"
        ),
        "dependency_baseline": LabelledArray(RULES[:, None], tuple(rules), rules, "share"),
        "dependency_baseline_stderr": LabelledArray(np.full((4, 1), ERROR), tuple(rules), rules, "error"),
        "dependency_count": LabelledArray(CASES, ("relation",), by_label, "cases"),
        "dependency_units": LabelledArray(np.full(4, UNITS), ("relation",), by_label, "units"),
    }
    table = []
    for label, share, rule, cases in zip(
        LABELS, SHARES.tolist(), RULES.tolist(), CASES.tolist(), strict=True
    ):
        (low, high), (rule_low, rule_high) = _interval(share, cases), _interval(rule, cases)
        row = {"relation": label, "cases": cases, "head": "1.2", "direction": "dependent_to_head"}
        row |= {"accuracy": share, "low": low, "high": high, "offset": -1}
        table.append(row | {"offset_accuracy": rule, "offset_low": rule_low, "offset_high": rule_high})
    return random_atlas(3, 4).with_probe(
        "dependency", {"encoder": arrays}, facts=probe_facts(), table={"encoder": table}, examples={}
    )


@pytest.fixture(scope="module")
def rows(atlas: Atlas) -> dict[str, HeadScore]:
    return {row.label: row for row in best_heads(atlas, "dependency")}


@pytest.fixture(scope="module")
def on_page(atlas: Atlas) -> dict[str, Bar]:
    [section] = [one for one in head_page(atlas, "encoder", 1, 2).sections if one.key == "relations"]
    assert [bar.label for chart in section.charts for bar in chart.bars] == ["det, dependent to head"]
    bars = [bar for chart in (*section.charts, *section.folded) for bar in chart.bars]
    return {bar.label.partition(",")[0]: bar for bar in bars}


def test_verdicts(rows: dict[str, HeadScore]) -> None:
    assert {label: row.verdict for label, row in rows.items()} == {
        "det": "above",
        "nmod": "unclear",
        "case": "unclear",
        "dep": "too few",
    }


def test_the_head_page_says_the_same(rows: dict[str, HeadScore], on_page: dict[str, Bar]) -> None:
    assert set(on_page) == {"det", "nmod", "case"}  # what has few cases is not asked
    for label, shown in on_page.items():
        assert shown.verdict == rows[label].verdict
        assert (shown.low, shown.high) == pytest.approx(rows[label].score.interval, rel=1e-4)
        assert shown.mark == pytest.approx(rows[label].baselines[0].value)


def test_findings_say_the_same(atlas: Atlas, rows: dict[str, HeadScore]) -> None:
    named = [finding for finding in hs.findings(atlas) if finding.topic == "Syntax" and finding.heads]
    [det] = named  # the others are not clearly above
    assert (det.verdict, det.interval) == ("above", rows["det"].score.interval)
    assert det.control == rows["det"].best_baseline
    assert [str(head) for head in det.heads] == ["1.2"]


@pytest.mark.slow
def test_the_report_says_the_same(atlas: Atlas, rows: dict[str, HeadScore]) -> None:
    html = render(atlas)
    words = {"above": "clearly", "unclear": "not clearly", "too few": "too few cases"}
    for label, row in rows.items():
        [cells] = re.findall(rf'<tr><th scope="row">{label}</th>(.*?)</tr>', html)
        low, high = row.score.interval or (0.0, 0.0)
        assert f"<td>{100 * low:.1f} to {high:.1%}</td>" in cells
        assert cells.endswith(f"<td>{words[row.verdict]}</td>")


@pytest.mark.slow
def test_every_medium_has_the_same_sentences(atlas: Atlas) -> None:
    found = hs.findings(atlas)
    text = (
        re.sub(r"<[^>]*>", "", render(atlas))
        .replace("\N{NO-BREAK SPACE}", " ")
        .replace("\N{MINUS SIGN}", "-")
    )
    embedded = embedded_atlas(atlas).atlas
    assert embedded is not None
    assert len(embedded.findings) == len(found) > 10
    for finding, shown in zip(found, embedded.findings, strict=True):
        assert "".join(part.text for part in shown.parts) == finding.text
        assert [part.head for part in shown.parts if part.head] == [
            str(part) for part in finding.parts if not isinstance(part, str)
        ]
        assert shown.verdict == finding.verdict
        assert finding.text.replace("'", "&#x27;").replace("\N{MINUS SIGN}", "-") in text
