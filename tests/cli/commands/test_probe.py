import json
import os
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.helpers.tiny import tiny
from tests.helpers.treebanks import block

import headscope as hs

SENTENCES = block(
    ("the", 2, "det", "DET"),
    ("cat", 3, "nsubj", "NOUN"),
    ("saw", 0, "root", "VERB"),
    ("it", 3, "obj", "PRON"),
) + block(
    ("a", 2, "det", "DET"),
    ("dog", 3, "nsubj", "NOUN"),
    ("sat", 0, "root", "VERB"),
    (".", 3, "punct", "PUNCT"),
)
BROKEN = "1\tonly\tthree\n\n"


def document(name: str) -> str:
    return f"# newdoc id = {name}\n{SENTENCES}"


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    path = tmp_path / "dev.conllu"
    path.write_text(document("a") + document("b") + document("c") + BROKEN, encoding="utf-8")
    return path


@pytest.fixture
def roles(tmp_path: Path) -> Path:
    path = tmp_path / "roles.jsonl"
    row = {
        "sent_id": "d-1",
        "tokens": ["the", "cat", "saw", "it"],
        "predicate": 2,
        "roleset": "see.01",
        "arguments": [{"label": "ARG0", "start": 0, "end": 2}, {"label": "ARG1", "start": 3, "end": 4}],
    }
    rows = [{**row, "sent_id": f"d{number}-1"} for number in range(4)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_dependency_prints_a_table_and_says_what_was_chosen_where(
    run: Run, model: Path, treebank: Path
) -> None:
    result = run("probe", "dependency", model, "--treebank", treebank, "--full")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert "6 texts" in lines[1]
    assert "dev.conllu" in lines[2]
    assert re.findall(r"\d+", lines[3]) == ["95", "4", "10"]
    assert lines[5].split()[:4] == ["relation", "cases", "best", "head"]
    assert [line.split()[0] for line in lines[6:10]] == ["all", "det", "nsubj", "obj"]
    assert "1 sentence skipped" in result.stderr
    assert f"{treebank}:" in result.stderr


def test_rows_with_too_few_cases_are_left_to_full(run: Run, model: Path, treebank: Path) -> None:
    short = run("probe", "dependency", model, "--treebank", treebank).stdout
    assert "too few cases" not in short
    assert "--full prints " in short


def test_dependency_writes_the_contract_into_a_new_atlas(
    run: Run, model: Path, treebank: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.nc"
    result = run(
        "probe", "dependency", model, "--treebank", treebank, "--select", treebank, "-o", out, "--json"
    )
    told = json.loads(result.stdout)
    assert (told["texts"], told["skipped"], told["probe"]) == (6, 1, "dependency")
    atlas = hs.open(out)
    accuracy = atlas["dependency_accuracy"]
    assert accuracy.dims == ("relation", "direction", "layer", "head")
    assert list(accuracy["direction"].values) == ["dependent_to_head", "head_to_dependent"]
    assert dict(
        zip(atlas["dependency_count"]["relation"].values, atlas["dependency_count"].values, strict=True)
    ) == {
        "det": 6,
        "nsubj": 6,
        "obj": 3,
    }
    row = next(row for row in told["rows"] if row["relation"] == "det")
    layer, head = map(int, row["head"].split("."))
    best = accuracy.sel(relation="det", direction=row["direction"], layer=layer, head=head)
    assert row["accuracy"] == pytest.approx(best.item())  # two files: nothing is held out of the second


def test_a_probe_adds_to_an_atlas_of_the_same_model(
    run: Run, model: Path, corpus: Path, treebank: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.nc"
    analyzed = run("analyze", model, "--text", corpus, "--measures", "entropy", "--max-length", 32, "-o", out)
    assert analyzed.exit_code == 0
    before = hs.open(out)["entropy"]
    result = run("probe", "dependency", model, "--treebank", treebank, "-o", out)
    assert result.exit_code == 0, result.stderr
    assert f"added to {out}" in result.stdout
    after = hs.open(out)
    assert after["entropy"].identical(before)
    assert "dependency_accuracy" in after
    assert run("report", out, "-o", tmp_path / "r.html").exit_code == 0
    assert "nsubj" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_probe_refuses_an_atlas_of_another_model_before_it_runs(
    run: Run, model: Path, treebank: Path, tmp_path: Path
) -> None:
    out = tmp_path / "other.nc"
    hs.analyze(tiny("distilbert"), ["the cat sat on the mat"], measures=["entropy"], max_length=16).save(out)
    content = out.read_bytes()
    result = run("probe", "dependency", model, "--treebank", treebank, "-o", out)
    assert result.exit_code == 2
    assert "weights differ" in result.stderr
    assert out.read_bytes() == content


@pytest.mark.slow
def test_the_other_probes(run: Run, model: Path, treebank: Path, roles: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.nc"
    done = [
        run("probe", *asked, "-o", out, "--full")
        for asked in (
            ("relations", model, "--data", roles),
            ("features", model, "--treebank", treebank, "--against", model),
            ("coreference", model, "--data", hs.sample_path("treebank"), "--max-length", 64),
        )
    ]
    assert [one.exit_code for one in done] == [0, 0, 0], [one.stderr for one in done]
    relations, features, coreference = (one.stdout for one in done)
    assert "ARG0" in relations
    assert "negation" in features
    assert "changed most" in features
    assert "pronoun" in coreference
    assert "same word" in coreference
    atlas = hs.open(out)
    names = {
        "relation_difference",
        "feature_attention",
        "feature_change",
        "coreference_accuracy",
    }
    assert names <= set(atlas.measures)
    assert list(atlas.provenance["probes"]) == ["relations", "features", "coreference"]


def test_examples_show_a_head_at_work(run: Run, model: Path, treebank: Path, tmp_path: Path) -> None:
    asked = (
        "probe",
        "examples",
        model,
        "--treebank",
        treebank,
        "--relation",
        "nsubj",
        "--head",
        "1.2",
        "--most",
        2,
    )
    result = run(*asked, "--picture", tmp_path / "a.svg")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("head 1.2, nsubj, ")
    assert "[cat]" in result.stdout or "[dog]" in result.stdout
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert run(*("encoder:1.2" if word == "1.2" else word for word in asked)).stdout == result.stdout
    told = json.loads(run(*asked, "--json").stdout)
    for example in told["right"] + told["wrong"]:
        assert example["head"] == "1.2"
        assert (example["guess"] in example["right"]) == (example in told["right"])
        assert len(example["weights"]) == len(example["words"])


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["dependency", "MODEL"], "Missing option '--treebank'"),
        (["dependency", "--treebank", "TREEBANK"], "MODEL is missing"),
        (["dependency", "MODEL", "--treebank", "missing.conllu"], "missing.conllu: no such file"),
        (["dependency", "MODEL", "--treebank", "raw.txt"], "--annotate spacy:NAME"),
        (["dependency", "MODEL", "--treebank", "TREEBANK", "--max-length", "9999"], "max_length 9999"),
        (["dependency", "MODEL", "--treebank", "TREEBANK", "--annotate", "stanza:en"], "spacy:"),
        (["examples", "MODEL"], "give one of --treebank FILE, --coreference FILE and --roles FILE"),
        (["examples", "MODEL", "--treebank", "TREEBANK", "--relation", "iobj"], "det, nsubj, obj"),
        (["examples", "MODEL", "--treebank", "TREEBANK", "--relation", "obj", "--head", "9.9"], "no head 9.9"),
        (["examples", "MODEL", "--treebank", "TREEBANK", "--head", "1.*"], "1.* is not one head"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_told_in_one_line(
    run: Run, model: Path, treebank: Path, args: list[str], told: str
) -> None:
    places = {"MODEL": str(model), "TREEBANK": str(treebank), "raw.txt": str(treebank.with_name("raw.txt"))}
    treebank.with_name("raw.txt").write_text("It rains.\n", encoding="utf-8")
    result = run("probe", *(places.get(arg, arg) for arg in args))
    assert result.exit_code == 2
    assert told in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_new_analysis_keeps_what_probes_found(
    run: Run, model: Path, corpus: Path, treebank: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.nc"
    assert run("probe", "dependency", model, "--treebank", treebank, "-o", out, "-q").exit_code == 0
    before = hs.open(out)["dependency_accuracy"]
    again = run("analyze", model, "--text", corpus, "--measures", "entropy", "--max-length", 32, "-o", out)
    assert again.exit_code == 0, again.stderr
    assert hs.open(out)["dependency_accuracy"].identical(before)
    assert "entropy" in hs.open(out)


def test_examples_tell_what_was_skipped(run: Run, model: Path, treebank: Path) -> None:
    asked = ("probe", "examples", model, "--treebank", treebank, "--relation", "det")
    assert "1 sentence skipped" in run(*asked, "--full").stderr
    assert "1 sentence skipped" in json.loads(run(*asked, "--json").stdout)["notes"][0]
    wrong = run(*asked, "--picture", "a.jpg")
    assert (wrong.exit_code, "saved as .svg, .pdf, .png" in wrong.stderr) == (2, True)


def test_a_relation_may_not_be_called_all(run: Run, model: Path, treebank: Path) -> None:
    treebank.write_text(
        document("a") + document("b") + block(("it", 2, "all"), ("sat", 0, "root")), encoding="utf-8"
    )
    result = run("probe", "dependency", model, "--treebank", treebank)
    assert "1 sentence skipped" in result.stderr
    assert "DEPREL is 'all'" in result.stderr


def test_a_pipe_is_refused_before_anything_runs(run: Run, model: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.conllu")
    result = run("probe", "dependency", model, "--treebank", tmp_path / "pipe.conllu")
    assert result.exit_code == 2
    assert "not a regular file" in result.stderr


def test_every_probe_takes_a_limit(run: Run, model: Path, treebank: Path, roles: Path) -> None:
    for asked in (
        ("dependency", model, "--treebank", treebank),
        ("relations", model, "--data", roles),
        ("features", model, "--treebank", treebank),
        ("coreference", model, "--data", hs.sample_path("treebank"), "--max-length", 64),
    ):
        told = json.loads(run("probe", *asked, "--limit", 3, "--json").stdout)
        assert (told["texts"], told["options"]["limit"]) == (3, 3), asked
