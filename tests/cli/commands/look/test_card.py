"""The card command: an atlas as it is, a model after a small analysis, a picture or page where one is wanted."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.planted import looking

from headscope.cli.tables.card import arrow_lines
from headscope.facts.card import NOTHING
from headscope.facts.sentences import Look, Sentence


@pytest.fixture
def atlas(tmp_path: Path) -> Path:
    path = tmp_path / "atlas.nc"
    looking(0.9).save(path)
    return path


def test_a_model_of_random_weights_claims_nothing(
    run: Run, model: Path, corpus: Path, tmp_path: Path
) -> None:
    picture = tmp_path / "card.svg"
    result = run("card", model, "1.2", "--text", corpus, "-o", picture)
    assert result.exit_code == 0, result.stderr
    title, first, *_ = result.stdout.splitlines()
    assert (title, first.strip()) == (f"Head 1.2 of {model.name}", NOTHING)
    assert "a small analysis runs first, on the files given" in result.stderr
    assert picture.read_text(encoding="utf-8").count(NOTHING) == 1
    told = json.loads(run("card", model, "1.2", "--text", corpus, "--json").stdout)
    assert (told["finds"], told["looks"]) == ([], [])
    assert told["picture"]["words"]


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "html"])
def test_files(run: Run, atlas: Path, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"card.{ending}"
    result = run("card", atlas, "1.2", "-o", path)
    assert result.exit_code == 0, result.stderr
    assert f"written to {path}" in result.stdout
    if ending in ("svg", "html"):
        assert "Looks at the previous token: 90.0%, evenly 2.0%." in path.read_text(encoding="utf-8")
    assert path.stat().st_size > 1000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("ATLAS 1.2 -o card.txt", "-o card.txt: a card is written as .png, .svg, .pdf or .html"),
        ("ATLAS 1.2 --text x.txt", "--text and --treebank are for a model"),
        ("ATLAS 9.0", "there is no head 9.0"),
        ("ATLAS decoder:1.2", "decoder"),
        ("ATLAS x", "'x'"),
        ("MODEL x", "'x'"),
        ("nowhere.nc 1.2", "nowhere.nc"),
    ],
)
def test_what_is_refused(run: Run, atlas: Path, model: Path, words: str, message: str) -> None:
    given = [{"ATLAS": str(atlas), "MODEL": str(model)}.get(word, word) for word in words.split()]
    result = run("card", *given)
    assert result.exit_code != 0
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_head_that_is_not_there_is_told_before_the_probe_runs(
    run: Run, model: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.probes.DependencyProbe.fit_score", None)
    result = run("card", model, "9.0", "--text", corpus)
    assert "there is no head 9.0" in result.stderr


def back(words: str, look: Look, room: int = 80) -> list[str]:
    return arrow_lines(Sentence(tuple(words.split()), (look,)), room)


def test_arrows() -> None:
    assert back("She bought an old house", Look(4, 1, 0.9)) == [
        "She bought an old house",
        "      ▲──── 90% ────┘",
    ]
    assert back("She bought an old house", Look(1, 4, 0.9))[1] == "      └──── 90% ────▲"
    assert back("a b", Look(1, 0, 0.9)) == ["a b", "▲─┘ 90%"]
    assert back("a b", Look(1, 1, 0.9)) == ["a b", "  ▲ 90% to itself"]
    assert back("猫 が 寝る", Look(2, 0, 0.95)) == ["猫 が 寝る", "▲ 95% ─┘"]


def test_a_long_sentence_keeps_what_the_arrow_joins() -> None:
    words = " ".join(f"w{number}" for number in range(60))
    line, arrow = back(words, Look(50, 4, 0.9), room=40)
    assert len(line) <= 40
    assert {"w4", "w50", "…"} <= set(line.split())
    assert line[arrow.index("▲")] in "w4"
    assert line[arrow.index("┘")] in "w50"
