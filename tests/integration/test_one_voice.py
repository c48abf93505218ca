"""One probe and one card, on the command line, in --json, report, head page and notebook: the same words everywhere."""

import json
import re
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest
from tests.helpers.atlas_views import bars_of
from tests.planted import looking
from typer.testing import CliRunner

import headscope as hs
from headscope.atlas import Atlas, Typical
from headscope.cli.main import app
from headscope.facts.analyses.probes import best_heads
from headscope.facts.card import Card
from headscope.facts.cells import VERDICTS
from headscope.facts.description import direction_name
from headscope.pages.head.page import head_page
from headscope.pages.looking import card_lines
from headscope.pages.shapes.views import Embedded
from headscope.report.card import write_card
from headscope.report.page import render
from headscope.types import HeadId

Verdicts = dict[str, str]
"""By relation, what is said of its best head."""


@dataclass(frozen=True)
class Told:
    """What was printed, and the atlas that was written."""

    table: str
    rows: list[dict[str, object]]
    atlas: Atlas


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, tiny_folder: Path) -> Told:
    """The dependency probe on one file, chosen on the same, so that head pages and tables are of the same cases."""
    folder = tmp_path_factory.mktemp("voice")
    treebank = hs.sample_path("treebank")
    asked = ["probe", "dependency", tiny_folder, "--treebank", treebank, "--select", treebank]
    out = folder / "atlas.nc"
    table, as_json = (
        CliRunner().invoke(app, [str(word) for word in (*asked, *more)])
        for more in (["-o", out, "--full"], ["--json"])
    )
    assert (table.exit_code, as_json.exit_code) == (0, 0), table.stderr + as_json.stderr
    return Told(table.stdout, json.loads(as_json.stdout)["rows"], hs.open(out))


@pytest.fixture(scope="module")
def verdicts(told: Told) -> Verdicts:
    """What the facts say."""
    found = {row.label: row.verdict for row in best_heads(told.atlas, "dependency")}
    assert len(set(found.values())) > 1  # or the test would not see a mix-up
    return dict(found)


def test_the_command_line_says_so(told: Told, verdicts: Verdicts) -> None:
    lines = told.table.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("relation"))
    shown = {line.split()[0]: re.split(r"\s{2,}", line)[-1] for line in lines[start + 1 :] if line.strip()}
    assert {label: shown[label] for label in verdicts} == {
        label: VERDICTS[verdict] for label, verdict in verdicts.items()
    }


def test_json_says_so(told: Told, verdicts: Verdicts) -> None:
    assert {row["relation"]: row["verdict"] for row in told.rows} == verdicts


def test_the_report_says_so(told: Told, verdicts: Verdicts) -> None:
    html = render(told.atlas)
    section = html[html.index('id="encoder-probe-dependency"') :]
    for label, verdict in verdicts.items():
        rows = re.findall(rf'<th scope="row">{re.escape(label)}</th>(.*?)</tr>', section, flags=re.DOTALL)
        cells = re.findall(r"<td>(.*?)</td>", rows[0], flags=re.DOTALL)
        assert unescape(re.sub(r"<[^>]*>", "", cells[-1])).strip() == VERDICTS[verdict], label


def test_head_pages_and_the_notebook_say_so(told: Told, verdicts: Verdicts) -> None:
    views = pytest.importorskip("headscope.widget.views")
    pages = Embedded.model_validate_json(views.AtlasView(told.atlas).about).head_pages
    compared = 0
    for row in told.rows:
        layer, head = map(int, str(row["head"]).split("."))
        on_page = {
            bar.label: bar for bar in bars_of(head_page(told.atlas, "encoder", layer, head), "relations")
        }
        in_notebook = {bar.label: bar for bar in bars_of(pages[f"encoder/{layer}/{head}"], "relations")}
        label = f"{row['relation']}, {direction_name(row['direction'])}"
        if label in on_page:  # what is above no rule, or has few cases, is not shown there
            compared += 1
            assert on_page[label].verdict == in_notebook[label].verdict == verdicts[str(row["relation"])]
            assert on_page[label].value == pytest.approx(row["accuracy"])
            assert (on_page[label].low, on_page[label].high) == pytest.approx(
                (row["low"], row["high"]), rel=1e-4
            )
    assert compared


@pytest.fixture
def carded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Card]:
    """An atlas of which head 1.2 does something, and its card."""
    monkeypatch.setattr("headscope.facts.card.used_sentence", lambda *given: "The model uses it.")
    typical = Typical(HeadId(1, 2), ("The", "red", "cat"), None, (0, 0, 1), (0.2, 0.9, 0.8), 0.95)
    path = tmp_path / "atlas.nc"
    looking(0.9, explained_share=0.8, typical=[typical]).save(path)
    card = hs.card(hs.open(path), "1.2")
    assert len(card.sentences) == 3
    return path, card


@pytest.mark.parametrize("command", ["card", "head"])
def test_a_card_is_the_same_sentences_on_the_command_line(
    carded: tuple[Path, Card], command: str, no_log_lines: None
) -> None:
    path, card = carded
    shown, as_json = (
        CliRunner().invoke(app, [command, str(path), "encoder:1.2", *more]).stdout
        for more in ([], ["--json"])
    )
    lines = [line.strip() for line in shown.splitlines()]
    assert lines[: len(card.sentences) + 1] == [card.title, *card.sentences]
    assert json.loads(as_json)["sentences"] == card.sentences
    assert json.loads(as_json)["picture"]["said"] == "“red” gives “The” 90% of its attention."


def test_a_card_is_the_same_sentences_on_pages(carded: tuple[Path, Card]) -> None:
    path, card = carded
    atlas = hs.open(path)
    views = pytest.importorskip("headscope.widget.views")
    embedded = Embedded.model_validate_json(views.AtlasView(atlas).about).head_pages["encoder/1/2"]
    for page in (head_page(atlas, "encoder", 1, 2), embedded):
        assert [line.text for line in page.card] + [page.without] * bool(page.without) == card.sentences
    assert card_lines(atlas)["encoder"][5] == card.text
    assert unescape(render(atlas)).count(card.text) == 1
    file = write_card(card, path.with_suffix(".html")).read_text(encoding="utf-8")
    for html in (file, card._repr_html_()):
        assert [unescape(text) for text in re.findall(r"<li>(.*?)</li>", html)] == card.sentences
