"""`headscope ablate`: what it prints, what it writes, and what it refuses."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Run
from tests.helpers.tasks import headed, questions_file
from tests.helpers.tiny import saved

import headscope as hs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that answers questions, on disk."""
    place = tmp_path_factory.mktemp("models") / "tiny-qa"
    model = headed("bert", "qa")
    return saved(model, place)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return questions_file(tmp_path / "questions.json")


def test_layers_are_printed_and_written(run: Run, folder: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.nc"
    result = run("ablate", folder, "--task", "qa", "--data", data, "--sweep", "layers", "-o", out)
    assert result.exit_code == 0, result.stderr
    assert re.search(
        r"5 examples of questions.json \(3 independent texts\), answering questions", result.stdout
    )
    assert re.search(r"^layer 2 +4 ", result.stdout, re.MULTILINE)
    warning = "3 independent texts cannot make any of 3 edits significant, whatever they do: that takes 7"
    assert (result.stdout.count(warning), result.stderr.count(warning)) == (1, 0)
    assert "Significant changes" not in result.stdout
    assert f"written to {out}; next: headscope report {out}" in result.stdout
    assert hs.open(out)["layer_change"].shape == (3, 3)
    again = run("ablate", folder, "--task", "qa", "--data", data, "--sweep", "heads", "-o", out)
    assert again.exit_code == 0, again.stderr
    assert "the 10 of 12" not in again.stdout
    assert f"added to {out}" in again.stdout
    assert {"layer_change", "ablation_change"} <= set(hs.open(out))


def test_json_has_the_baseline_and_one_entry_for_every_edit(run: Run, folder: Path, data: Path) -> None:
    asked = (folder, "--task", "qa", "--data", data, "--sweep", "heads")
    result = run("ablate", *asked, "--edit", "uniform", "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    model = headed("bert", "qa")
    task = hs.task_for("qa", data, model)
    assert told["baseline"] == pytest.approx(task.evaluate(model).values)
    assert set(told["baseline"]) == {"em", "f1", "loss"}
    assert (told["task"], told["sweep"], told["edit"], told["examples"]) == ("qa", "heads", "uniform", 5)
    assert [edit["name"] for edit in told["edits"]] == [f"{i // 4}.{i % 4}" for i in range(12)]
    entry = told["edits"][5]
    assert entry["heads"] == ["1.1"]
    with hs.edit(model, "1.1", how="uniform"):
        assert entry["values"] == pytest.approx(task.evaluate(model).values, abs=1e-4)
    assert entry["change"]["f1"] == pytest.approx(entry["values"]["f1"] - told["baseline"]["f1"])
    for key in ("interval", "p", "adjusted_p", "significant"):
        assert set(entry[key]) == {"em", "f1", "loss"}


ARRAYS = {
    "types": "type_change",
    "pairs-of-types": "type_pair_change",
    "sentence-masks": "sentence_mask_change",
    "cumulative": "pruning_curve",
}


@pytest.mark.slow
@pytest.mark.parametrize("sweep", list(ARRAYS))
def test_the_other_sweeps(run: Run, folder: Path, data: Path, tmp_path: Path, sweep: str) -> None:
    out = tmp_path / "a.nc"
    options = ("--steps", 2, "--random-orders", 2) if sweep == "cumulative" else ()
    args = ("ablate", folder, "--task", "qa", "--data", data, "--sweep", sweep, *options, "-o", out)
    result = run(*args, "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert len(told["edits"]) == {"cumulative": 4}.get(sweep, len(told["edits"]))
    assert np.isfinite(hs.open(out)[ARRAYS[sweep]].values).all()
    shown = run(*args)
    assert shown.exit_code == 0, shown.stderr
    assert ("Kinds of heads, sorted on the task's own inputs: " in shown.stdout) == (sweep != "cumulative")
    assert ("gradient importance on the same examples, least first" in shown.stdout) == (
        sweep == "cumulative"
    )
    page = run("report", out, "-o", tmp_path / "a.html")
    assert page.exit_code == 0, page.stderr
    assert 'id="encoder-ablation"' in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_as_many_kinds_as_asked_for(run: Run, folder: Path, data: Path) -> None:
    result = run("ablate", folder, "--task", "qa", "--data", data, "--sweep", "types", "--k", 2, "--json")
    assert result.exit_code == 0, result.stderr
    assert len(json.loads(result.stdout)["types"]) == 2


def test_quiet_says_nothing(run: Run, folder: Path, data: Path, tmp_path: Path) -> None:
    asked = (folder, "--task", "qa", "--data", data, "--sweep", "layers")
    result = run("ablate", *asked, "-q", "-o", tmp_path / "a.nc")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_what_is_refused_is_one_line(run: Run, folder: Path, data: Path, tmp_path: Path) -> None:
    labelled = tmp_path / "l.tsv"
    labelled.write_text("the cat\t1\n")
    for args, code, words in (
        (("--task", "mlm", "--data", labelled, "--stride", 4), 2, "--stride is for --task qa"),
        (("--task", "classification", "--data", labelled), 2, "has no classification head"),
        (("--task", "qa", "--data", tmp_path / "none.json"), 2, "none.json"),
        (("--task", "qa", "--data", data, "--renormalise"), 2, "--renormalise is for --sweep sentence-masks"),
        (
            ("--task", "qa", "--data", data, "--sweep", "sentence-masks", "--edit", "mean"),
            2,
            "sentence-masks does not use it",
        ),
        (
            ("--task", "qa", "--data", data, "--sweep", "layers", "--steps", 3),
            2,
            "--steps is for --sweep cumulative",
        ),
        (("--task", "qa", "--data", data, "--order", "random"), 2, "heads does not use it"),
        (("--task", "qa", "--data", data, "--k", 3), 2, "--k is for --sweep types or"),
        (("--task", "chess", "--data", data), 2, "chess"),
        (("--task", "qa", "--data", data, "-o", tmp_path / "no" / "a.nc"), 2, "there is no folder"),
    ):
        result = run("ablate", folder, *args)
        assert result.exit_code == code, (args, result.stderr)
        assert words in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1


def test_an_atlas_of_another_model_is_refused(run: Run, folder: Path, data: Path, atlas_path: Path) -> None:
    result = run("ablate", folder, "--task", "qa", "--data", data, "--sweep", "types", "--atlas", atlas_path)
    assert result.exit_code == 2
    assert "weights differ" in result.stderr
