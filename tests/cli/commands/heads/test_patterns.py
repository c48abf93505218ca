"""`headscope patterns`: shares of five patterns, by model, data set, layer and head."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Run

import headscope as hs
from headscope.kinds.patterns import PATTERNS


def test_one_model_gets_a_table_by_layer(run: Run, model: Path, corpus: Path) -> None:
    result = run("patterns", model, "--text", corpus, "--max-length", 32)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[3].split()[-5:] == list(PATTERNS)
    assert [line.split()[0] for line in lines[-5:-2]] == ["0", "1", "2"]


def test_several_models_and_files_make_one_table(run: Run, model: Path, corpus: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("The dog saw a red mat. It was the house of the cat.\n")
    told = json.loads(
        run("patterns", model, model, "--text", corpus, other, "--max-length", 32, "--json").stdout
    )
    rows = told["results"]
    assert [row["data"] for row in rows] == ["corpus.txt", "other.txt"] * 2
    for row in rows:
        assert sum(row["shares"].values()) == pytest.approx(1)
        assert len(row["layers"]) == 3
    assert rows[0]["shares"] == rows[2]["shares"]


def test_shares_are_the_means_of_the_heads(run: Run, model: Path, corpus: Path, tmp_path: Path) -> None:
    atlas_path = tmp_path / "atlas.nc"
    told = json.loads(
        run("patterns", model, "--text", corpus, "--max-length", 32, "-o", atlas_path, "--json").stdout
    )
    atlas = hs.open(atlas_path)
    heads = atlas["pattern_share"]
    np.testing.assert_allclose(list(told["results"][0]["shares"].values()), heads.mean(("layer", "head")))
    np.testing.assert_allclose(atlas["pattern_share_layer"], heads.mean("head"), atol=1e-12)
    assert atlas.provenance["probes"]["patterns"]["data"] == "corpus.txt"
    assert 'id="encoder-patterns"' in _report(run, atlas_path, tmp_path)


def _report(run: Run, atlas: Path, folder: Path) -> str:
    page = folder / "page.html"
    assert run("report", atlas, "-o", page).exit_code == 0
    return page.read_text()


@pytest.mark.slow
def test_it_is_added_to_an_atlas_of_the_same_model(
    run: Run, model: Path, corpus: Path, tmp_path: Path
) -> None:
    path = tmp_path / "atlas.nc"
    assert run("analyze", model, "--text", corpus, "--max-length", 32, "-o", path, "-q").exit_code == 0
    result = run("patterns", model, "--text", corpus, "--max-length", 32, "-o", path)
    assert "added to" in result.stdout
    assert {"entropy", "pattern_share"} <= set(hs.open(path).measures)
    assert "Of all attention maps" in _report(run, path, tmp_path)


def test_an_output_for_several_is_refused(run: Run, model: Path, corpus: Path, tmp_path: Path) -> None:
    result = run("patterns", model, model, "--text", corpus, "-o", tmp_path / "atlas.nc")
    assert result.exit_code == 2
    assert "one model on one file" in result.stderr
