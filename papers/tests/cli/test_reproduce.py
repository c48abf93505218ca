import io
import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from papers.tests.reproduce.sweeps import facts, row, with_sweeps
from rich.console import Console
from tests.cli.conftest import Run
from tests.helpers.atlases import empty_atlas, probe_facts, proper_nouns, random_atlas, with_dependency
from tests.helpers.tasks import headed, questions_file
from tests.helpers.tiny import saved
from tests.helpers.treebanks import as_file, random_sentences

import headscope as hs
from headscope.cli.page import Page
from headscope.errors import OptionError
from headscope_papers.cli.show import print_reproduction
from headscope_papers.reproduce import clark2019, guan2020, vig2019
from headscope_papers.reproduce.kovaleva2019 import kovaleva2019


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    path = tmp_path / "dev.conllu"
    path.write_text(as_file(random_sentences(12, seed=3, documents=4)), encoding="utf-8")
    return path


def test_clark2019_of_a_model(run: Run, model: Path, corpus: Path, treebank: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.nc"
    asked = ("reproduce", "clark2019", model, "--text", corpus, "--treebank", treebank, "--max-length", 32)
    result = run(*asked, "--limit", 2, "-o", out, "--full")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    name = hs.open(out).provenance["model"]
    assert lines[0].startswith("Clark, Khandelwal, Levy and Manning 2019")
    published = "  published: bert-base, 12 layers x 12 heads; 1,000 Wikipedia segments of at most 128 tokens"
    assert any(line.startswith(published) for line in lines)
    assert f"  ours:      {name}, 3 layers x 4 heads; corpus.txt, 2 texts" in lines
    determiner = next(line.split() for line in lines if line.startswith("det "))
    assert determiner[:6] == ["det", "94.3", "%", "8-11", "=", "7.10"]
    assert "  left out: table 2 needs --coreference FILE, or an atlas with that probe" in lines
    assert any("left out: figure 3 needs --text FILE and a model with" in line for line in lines)
    assert any("not a failure to reproduce the paper" in line for line in lines)
    assert lines[-1] == f"written to {out}; next: headscope report {out}"
    # The atlas that was kept gives the same figures again, without any data.
    told = json.loads(run("reproduce", "clark2019", out, "--json").stdout)
    again = json.loads(run(*asked, "--limit", 2, "--json").stdout)
    assert told["sections"] == again["sections"]
    assert (told["output"], told["paper"], told["model"]) == (None, "clark2019", name)


def test_clark2019_takes_the_gradient_of_so_many_examples(run: Run, corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    saved(headed("bert", "mlm"), folder)
    asked = ("reproduce", "clark2019", folder, "--text", corpus, "--max-length", 32, "--examples", 2)
    told = json.loads(run(*asked, "--json").stdout)
    gradient = next(section for section in told["sections"] if section["key"] == "gradient")
    assert gradient["ours"]["data"] == "corpus.txt, 2 texts; loss of masked tokens"
    assert gradient["covers"] == ["figure 3"]
    assert [drawing["title"] for drawing in gradient["drawings"]] == ["Gradient by layer"]
    lines = run(*asked, "--full").stdout.splitlines()
    shown = next(line for line in lines if line.startswith("[SEP], later layers"))
    assert " 0.000 nats" not in shown  # gradients are small


def test_guan2020_of_an_atlas(run: Run, atlas_path: Path, tmp_path: Path) -> None:
    result = run("reproduce", "guan2020", atlas_path, "--k", 3, "--seed", 1, "--full")
    assert result.exit_code == 0, result.stderr
    assert "Shares of the kinds of heads, k = 3\n" in result.stdout
    assert "26.04 %" in result.stdout
    assert "left out: table 2 needs --task NAME and --data FILE" in result.stdout
    assert "left out: table 3 needs --task NAME and --data FILE" in result.stdout
    told = json.loads(run("reproduce", "guan2020", atlas_path, "--k", 3, "--seed", 1, "--json").stdout)
    assert [section["key"] for section in told["sections"]] == [
        "examples", "shares", "stability", "number", "map", "features", "layers", "effects", "masks",
    ]  # fmt: skip
    with warnings.catch_warnings(action="ignore"):
        expected = hs.head_types(hs.open(atlas_path), k=3, seed=1).shares
    shares = {row["quantity"]: row["ours"] for row in told["sections"][1]["rows"]}
    assert {name: one["value"] for name, one in shares.items() if one} == pytest.approx(expected)
    assert run("reproduce", "guan2020", atlas_path, "--quiet").output == ""


def test_guan2020_keeps_the_kinds(run: Run, model: Path, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.nc"
    asked = ("reproduce", "guan2020", model, "--text", corpus, "--max-length", 32, "--seed", 5, "-o", out)
    assert run(*asked).exit_code == 0
    assert "head_type" in hs.open(out)
    assert hs.open(out).provenance["probes"]["types"]["stacks"]["encoder"]["seed"] == 5
    again = run(*asked)
    assert (again.exit_code, "already exists; choose a new name" in again.stderr) == (2, True)


@pytest.mark.slow
def test_guan2020_of_several_models(run: Run, model: Path, corpus: Path, tmp_path: Path) -> None:
    tuned, data, out = tmp_path / "tuned", questions_file(tmp_path / "questions.json"), tmp_path / "out.nc"
    saved(headed("bert", "qa"), tuned)
    result = run(
        "reproduce", "guan2020", model, "--against", tuned, "--against", model, "--text", corpus, "--k", 2,
        "--max-length", 32, "--task", "qa", "--data", data, "--examples", 3, "-o", out, "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    others = [tmp_path / "out-against.nc", tmp_path / "out-against-2.nc"]
    assert [hs.open(path).provenance["model"] for path in others] == told["against"]
    assert "pairs-of-types" in hs.open(others[0]).provenance["probes"]["ablation"]["sweeps"]
    assert "ablation" not in hs.open(out).provenance["probes"]
    again = run("reproduce", "guan2020", out, "--against", *others, "--k", 2, "--json")
    assert json.loads(again.stdout)["sections"] == told["sections"]
    refused = run("reproduce", "guan2020", model, "--against", out, "--text", corpus)
    assert (refused.exit_code, "must both be models, or both" in refused.stderr) == (2, True)


@pytest.mark.slow
def test_kovaleva2019_of_two_models(run: Run, model: Path, corpus: Path, tmp_path: Path) -> None:
    tuned, data, out = tmp_path / "tuned", questions_file(tmp_path / "questions.json"), tmp_path / "out.nc"
    saved(headed("bert", "qa"), tuned)
    asked: tuple[object, ...] = (
        "reproduce",
        "kovaleva2019",
        model,
        "--against",
        tuned,
        "--text",
        corpus,
        "--limit",
        2,
    )
    asked += ("--max-length", 32, "--task", "qa", "--data", data, "--examples", 3, "-o", out)
    result = run(*asked, "--full")
    assert result.exit_code == 0, result.stderr
    second = tmp_path / "out-against.nc"
    lines = result.stdout.splitlines()
    assert lines[0].startswith("Kovaleva, Romanov, Rogers and Rumshisky 2019")
    assert f"The atlases of --against are in {second}." in lines
    assert lines[-1] == f"written to {out}; next: headscope report {out}"
    assert any(line.startswith("first layer") and "+3.2 points" in line for line in lines)
    told = json.loads(run("reproduce", "kovaleva2019", out, "--against", second, "--json").stdout)
    by_key = {section["key"]: section for section in told["sections"]}
    assert [key for key, section in by_key.items() if section["needs"]] == ["roles", "features", "cls_query"]
    assert by_key["disabled_layers"]["ours"]["data"] == "questions.json, 3 questions, f1"
    assert by_key["change"]["ours"]["data"] == "questions.json, 3 texts"
    assert (told["output"], told["output_against"]) == (None, [])
    again = run(*asked)
    assert (again.exit_code, "already exists; choose a new name" in again.stderr) == (2, True)


@pytest.mark.slow
def test_kovaleva2019_of_several_models_and_tasks(run: Run, model: Path, tmp_path: Path) -> None:
    folders = [tmp_path / "answering", tmp_path / "deciding"]
    for folder, kind in zip(folders, ("qa", "classification"), strict=True):
        saved(headed("bert", kind), folder)
    labels = tmp_path / "labels.tsv"
    labels.write_text("the cat sat\t1\na dog saw it\t0\nit was red\t1\n", encoding="utf-8")
    out = tmp_path / "out.nc"
    result = run(
        "reproduce", "kovaleva2019", model, "--against", folders[0], "--against", folders[1], "--max-length", 32,
        "--task", "classification", "--data", labels, "--task", "qa", "--data",
        questions_file(tmp_path / "questions.json"), "--examples", 2, "-o", out, "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    others = [tmp_path / "out-against.nc", tmp_path / "out-against-2.nc"]
    assert (told["output"], told["output_against"]) == (str(out), list(map(str, others)))
    tasks = [hs.open(path).provenance["probes"]["ablation"]["sweeps"]["heads"]["task"] for path in others]
    assert tasks == ["qa", "classification"]
    again = run("reproduce", "kovaleva2019", out, "--against", *others, "--json")
    assert json.loads(again.stdout)["sections"] == told["sections"]


def test_vig2019_of_a_model(run: Run, model: Path, corpus: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "out.nc", tmp_path / "page.md"
    asked = ("reproduce", "vig2019", model, "--text", corpus, "--max-length", 32, "-o", out, "--page", page)
    result = run(*asked, "--full")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    header = next(line for line in lines if line.startswith("pattern "))
    assert header.split()[-1] == "same?"
    assert any(
        line.startswith("  finding: a head gives most of its attention to the pattern: ") for line in lines
    )
    assert any(line.startswith("not covered: use case: model bias: ") for line in lines)
    assert "(Deconstructing BERT, part 1)" in result.stdout
    assert f"{page}: all tables and figures; open it in a browser" in lines
    assert page.read_text(encoding="utf-8").startswith("# Published figures and ours\n")
    told = json.loads(run("reproduce", "vig2019", out, "--json").stdout)
    verdicts = [row["verdict"]["agreement"] for row in told["sections"][0]["rows"] if row["verdict"]]
    shown = [line.split()[-1] for line in lines if line[:2] in {f"{number} " for number in range(1, 7)}]
    words = {"same": "yes", "different": "no", "unclear": "unclear"}
    assert [word for word in shown if word in words.values()] == [words[verdict] for verdict in verdicts]


@pytest.mark.slow
def test_all_papers_on_one_page(run: Run, model: Path, corpus: Path, treebank: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "out.nc", tmp_path / "page.html"
    asked = ("reproduce", "all", model, "--against", model, "--text", corpus, "--treebank", treebank)
    asked += ("--limit", 3, "--max-length", 32, "--page", page)
    result = run(*asked, "-o", out)
    assert result.exit_code == 0, result.stderr
    assert "\nkovaleva2019: patterns, " in result.stderr
    for name in ("Clark, Khandelwal", "Guan, Leng", "Kovaleva, Romanov", "Vig 2019"):
        assert f"\n{name}" in f"\n{result.stdout}"
    second = tmp_path / "out-against.nc"
    assert result.stdout.splitlines()[-3:] == [
        f"{page}: all tables and figures; open it in a browser",
        f"The atlases of --against are in {second}.",
        f"written to {out}; next: headscope report {out}",
    ]
    assert page.read_text(encoding="utf-8").lower().startswith("<!doctype html>")
    plain = tmp_path / "page.md"
    plain.write_text("# Published figures and ours\n", encoding="utf-8")  # a page may be replaced
    told = json.loads(run("reproduce", "all", out, "--against", second, "--page", plain, "--json").stdout)
    assert [paper["paper"] for paper in told["papers"]] == [
        "clark2019", "kovaleva2019", "vig2019", "guan2020", "kobayashi2020",
    ]  # fmt: skip
    assert (told["page"], told["output"], told["output_against"]) == (str(plain), None, [])
    out.unlink()  # its companion is still there
    again = run(*asked, "-o", out)
    assert (again.exit_code, "out-against.nc already exists" in again.stderr) == (2, True)


def test_all_says_when_the_sample_is_read(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def stop(*_: object, material: Any, **__: object) -> None:
        seen.append(material)
        raise OptionError("far enough")

    monkeypatch.setattr("headscope_papers.reproduce.everything.reproduce_all", stop)
    result = run("reproduce", "all", model, "--page", tmp_path / "page.html")
    assert "no data given: reading the sample that comes with headscope\n" in result.stderr
    assert seen[0].is_empty


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (
            ["kovaleva2019", "MODEL", "--task", "qa", "mlm", "--data", "CORPUS"],
            "2 tasks (qa, mlm), and --data names corpus.txt; give each --task one --data FILE",
        ),
        (
            ["kovaleva2019", "MODEL", "--task", "vision", "--data", "CORPUS"],
            "no task called 'vision'; choose from qa, ",
        ),
        (["kovaleva2019", "MODEL", "--text", "CORPUS", "--task", "qa"], "--task needs --data FILE too"),
        (["vig2019", "MODEL"], "give text (--text FILE), or an atlas in place of the model"),
        (["vig2019", "MODEL", "--text", "CORPUS", "--pairs", "CORPUS"], "one of the two"),
        (["vig2019", "MODEL", "--text", "CORPUS", "--page", "x.pdf"], "must end in .html or .md"),
        (["vig2019", "MODEL", "--text", "CORPUS", "--page", "CORPUS"], "must end in .html or .md"),
        (["all", "ATLAS", "--text", "CORPUS"], "is an atlas, which holds results and no model"),
        (["all", "MODEL", "--against", "ATLAS"], "must both be models, or both be .nc files"),
        (["all", "MODEL", "--train", "TREEBANK"], "--train needs --test FILE too"),
        (["all", "MODEL", "--task", "qa"], "--task needs --data FILE too"),
        (["all", "MODEL", "--task", "chess", "--data", "CORPUS"], "no task called 'chess'; choose from qa, "),
        (
            ["all", "MODEL", "--task", "qa", "--task", "lm", "--data", "CORPUS"],
            "give each --task one --data FILE",
        ),
        (["clark2019", "MODEL"], "give at least one of text, treebank, coreference, train (--text FILE)"),
        (["guan2020", "MODEL"], "give text (--text FILE), or an atlas in place of the model"),
        (["guan2020", "ATLAS", "--text", "CORPUS"], "is an atlas, which holds results and no model"),
        (["guan2020", "ATLAS", "-o", "ATLAS"], "is one of the inputs"),
        (["guan2020", "missing.nc"], "missing.nc cannot be opened"),
        (["guan2020", "MODEL", "--text", "missing.txt"], "missing.txt: no such file"),
        (["clark2019", "MODEL", "--train", "TREEBANK"], "--train needs --test FILE too"),
        (["clark2019", "MODEL", "--choose", "TREEBANK"], "--choose needs --treebank FILE too"),
        (["clark2019", "MODEL", "--treebank", "CORPUS"], "does not look like a treebank"),
        (["clark2019", "--text", "CORPUS"], "MODEL is missing"),
        (["kovaleva2019", "MODEL"], "give at least one of text, treebank, roles, tasks (--text FILE)"),
        (["kovaleva2019", "MODEL", "--text", "CORPUS", "--pairs", "CORPUS"], "one of the two"),
        (["kovaleva2019", "MODEL", "--data", "CORPUS"], "--data needs --task NAME too"),
        (["kovaleva2019", "MODEL", "--text", "CORPUS", "--examples", "3"], "--examples needs --task NAME"),
        (["kovaleva2019", "MODEL", "--text", "CORPUS", "--against", "ATLAS"], "must both be models, or both"),
        (["kovaleva2019", "ATLAS"], "has nothing that Kovaleva et al. 2019 measured"),
        (["guan2020", "MODEL", "--text", "CORPUS", "--task", "qa"], "--task needs --data FILE too"),
        (["guan2020", "MODEL", "--task", "qa", "--data", "CORPUS"], "give text (--text FILE)"),
    ],
)
def test_what_cannot_work_is_told_in_one_line(
    *,
    run: Run,
    model: Path,
    corpus: Path,
    treebank: Path,
    atlas_path: Path,
    args: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    places = {"MODEL": model, "CORPUS": corpus, "TREEBANK": treebank, "ATLAS": atlas_path}
    result = run("reproduce", *(places.get(arg, arg) for arg in args))
    assert result.exit_code == 2
    assert told in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_the_group_prints_its_help(run: Run) -> None:
    told = run("reproduce").stdout
    assert "\n  clark2019 " in told
    assert "\n  guan2020 " in told
    assert "\n  kovaleva2019 " in told
    assert "\n  vig2019 " in told
    assert "\n  all " in told


@pytest.mark.parametrize("width", [80, 120])
def test_tables_fit_a_terminal(width: int) -> None:
    page = io.StringIO()
    mention = proper_nouns(1234)
    probed = with_dependency(random_atlas(24, 4), layers=24).with_probe(
        "coreference",
        {"encoder": {}},
        facts=probe_facts(),
        table={"encoder": [mention]},
        examples={},
    )
    answer = Page(Console(file=page, width=width, highlight=False, markup=False), full=True)
    disabled = with_sweeps(
        empty_atlas(),
        {"heads": (facts("heads", "zero"), [row("heads", f"0.{n}", n / 10, sure=n == 3) for n in range(4)])},
    )
    masked = row("sentence-masks", "all but dense&vertical: no attention between sentences", -12.3)
    swept = with_sweeps(
        empty_atlas(),
        {
            "types": (facts("types", "zero"), []),
            "sentence-masks": (facts("sentence-masks", "masked"), [masked]),
        },
    )
    for result in (
        clark2019(probed),
        guan2020(probed),
        guan2020(swept),
        kovaleva2019(disabled),
        vig2019(probed),
    ):
        print_reproduction(answer, result)
    answer.finish([])
    assert "…" not in page.getvalue()
    assert max(map(len, page.getvalue().splitlines())) <= width
    assert "layers 1, 3, 6, 7" in page.getvalue()  # beside its figure or below the table, never lost
    assert "8-11 = 7.10" in page.getvalue()
