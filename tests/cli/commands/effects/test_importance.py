"""`headscope importance`: what it prints, writes and says when something is wrong."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Refused, Run
from tests.helpers.tasks import headed, questions_file
from tests.helpers.tiny import saved

import headscope as hs


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT that predicts masked tokens."""
    path = tmp_path_factory.mktemp("models") / "tiny-mlm"
    saved(headed("bert", "mlm"), path)
    return path


def test_it_prints_gradients_and_heads_and_writes_the_atlas(
    run: Run, folder: Path, corpus: Path, tmp_path: Path
) -> None:
    output = tmp_path / "atlas.nc"
    asked = ("importance", folder, "--task", "mlm", "--data", corpus, "--max-length", 32, "-o", output)
    result = run(*asked, "--full")
    assert result.exit_code == 0, result.stderr
    atlas = hs.open(output)
    importance = atlas["head_importance"].values
    best = np.unravel_index(importance.argmax(), importance.shape)
    lines = result.stdout.splitlines()
    assert any(line.startswith(f"{best[0]}.{best[1]} ") for line in lines)
    assert f"written to {output}" in result.stdout
    assert "Spearman" not in result.stdout


def test_json_has_all_and_nothing_else_is_printed(run: Run, folder: Path, corpus: Path) -> None:
    result = run(
        "importance", folder, "--task", "mlm", "--data", corpus, "--max-length", 32, "--limit", 2, "--json"
    )
    told = json.loads(result.stdout)
    assert result.stderr == ""
    assert told["texts"] == 2
    assert told["options"]["task"] == "mlm"
    assert len(told["heads"]) == 12
    assert [row["layer"] for row in told["layers"]] == [0, 1, 2]
    assert told["layers"][0]["sep"]["gradient"] > 0
    assert told["loss"] > 0
    assert told["agreement"] == []
    assert told["output"] is None
    quiet = run("importance", folder, "--task", "mlm", "--data", corpus, "--max-length", 32, "-q")
    assert (quiet.exit_code, quiet.stdout, quiet.stderr) == (0, "", "")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:. independent texts cannot make")
def test_ablations_in_the_atlas_are_compared(run: Run, folder: Path, corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "atlas.nc"
    options = ("importance", folder, "--task", "mlm", "--data", corpus, "--max-length", 32, "-o", output)
    assert run(*options, "-q").exit_code == 0
    model = hs.with_head(str(folder), "masked-lm")
    swept = hs.ablate(model, hs.task_for("mlm", corpus, model)).to_atlas(hs.open(output))
    arrays = swept.found_by("ablation")
    change = arrays["encoder"]["ablation_change"]
    importance = swept["head_importance"].values[..., None]
    arrays["encoder"]["ablation_change"] = replace(change, values=np.repeat(importance, 2, axis=-1))
    facts = swept.provenance["probes"]["ablation"]
    swept.with_probe("ablation", arrays, facts=facts, table={}, examples={}).save(output)
    result = run(*options)
    assert (
        "removing heads one by one does to loss (how much worse it gets) correlate by 1.00" in result.stdout
    )
    assert f"added to {output}" in result.stdout
    told, *_ = json.loads(run(*options, "--json").stdout)["agreement"]
    assert (told["metric"], told["heads"]) == ("loss", 12)
    assert told["rho"] == pytest.approx(1)
    assert "ablation_change" in hs.open(output)
    page = tmp_path / "page.html"
    assert run("report", output, "-o", page).exit_code == 0
    assert "correlate by 1.00" in page.read_text()


def test_what_is_wrong_is_said_in_one_line(
    refused: Refused, model: Path, folder: Path, corpus: Path, tmp_path: Path
) -> None:
    said = partial(refused, "importance")
    assert "no question-answering head" in said(
        folder, "--task", "qa", "--data", questions_file(tmp_path / "q.json")
    )
    assert "no masked-language-model head" in said(model, "--task", "mlm", "--data", corpus)
    assert "missing.txt" in said(folder, "--task", "mlm", "--data", tmp_path / "missing.txt")
    assert "no folder" in said(folder, "--task", "mlm", "--data", corpus, "-o", tmp_path / "no" / "a.nc")
    assert "--task" in said(folder, "--task", "poetry", "--data", corpus)
    assert "--data" in said(folder, "--task", "mlm")
    assert "max_length 100 is more than the 64 tokens" in said(
        folder, "--task", "mlm", "--data", corpus, "--max-length", 100
    )
