"""`headscope compare`: tables, JSON, the atlas, and clear words where two models cannot be compared."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.helpers.tiny import saved, tiny

import headscope as hs


@pytest.mark.slow
def test_tables_and_an_atlas_of_the_second_model(
    run: Run, model: Path, other: Path, corpus: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.nc"
    result = run("compare", model, other, "--text", corpus, "--max-length", 32, "-o", out, "--full")
    assert result.exit_code == 0, result.stderr
    assert f"written to {out}" in result.stdout
    atlas = hs.open(out)
    assert atlas.provenance["model"] == str(other)
    assert atlas.provenance["probes"]["compare"]["options"]["against"] == str(model)
    again = run("compare", model, other, "--text", corpus, "--max-length", 32, "-o", out)
    assert f"added to {out}" in again.stdout
    assert (
        run("compare", other, model, "--text", corpus, "-q", "-o", out).exit_code == 2
    )  # of another model now


def test_json_has_every_number(run: Run, model: Path, other: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("the cat sat\ta dog\nit was red\tthe mat was blue\na house\t\n", encoding="utf-8")
    options = ["--max-length", 32, "--limit", 2, "--treebank", hs.sample_path("treebank"), "--json"]
    told = json.loads(run("compare", model, other, "--pairs", pairs, *options).stdout)
    assert (told["model_a"], told["model_b"], told["texts"]) == (str(model), str(other), 2)
    assert told["model_a_weights_hash"] == f"sha256:{tiny('bert').weights_hash}"
    found = told["stacks"]["encoder"]
    assert len(found["heads"]) == 12
    assert len(found["layers"]) == 3
    assert found["layers"][0]["weights_query"] == pytest.approx(0.5, abs=1e-4)
    assert {row["matrix"] for row in found["control"]} == {"query", "key", "value", "output", "all"}
    assert sum(map(sum, found["kinds"]["transitions"])) == 12
    assert {row["measure"] for row in found["measures"]} >= {"entropy", "role_attention", "named_patterns"}
    assert {row["feature"] for row in found["features"]} >= {"noun", "verb", "negation"}


@pytest.mark.slow
def test_the_report_has_a_section_and_findings(
    run: Run, model: Path, other: Path, corpus: Path, tmp_path: Path
) -> None:
    out, page = tmp_path / "out.nc", tmp_path / "page.html"
    assert run("compare", model, other, "--text", corpus, "--max-length", 32, "-q", "-o", out).exit_code == 0
    assert run("report", out, "-o", page).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert 'id="encoder-compare"' in text
    assert 'id="encoder-probe-compare"' not in text
    shown = run("show", out)
    assert shown.exit_code == 0
    assert "attention_cosine" in shown.stdout


def test_errors_are_one_line(run: Run, model: Path, other: Path, corpus: Path, tmp_path: Path) -> None:
    neither = run("compare", model, other)
    assert neither.exit_code == 2
    assert "as --text FILE..., as --pairs FILE or as --dataset NAME" in neither.stderr
    missing = run("compare", "--text", corpus, model)
    assert missing.exit_code == 2
    assert "they come first: headscope compare MODEL_A MODEL_B" in missing.stderr
    shape = tmp_path / "bart"
    saved(tiny("bart"), shape)
    differs = run("compare", model, shape, "--text", corpus)
    assert differs.exit_code == 2
    assert "differ in shape" in differs.stderr
    assert len(differs.stderr.strip().splitlines()) == 1
