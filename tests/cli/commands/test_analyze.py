import json
import warnings
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.helpers.tiny import saved, tiny

import headscope as hs
from headscope.errors import HeadscopeWarning

FEW = ("--max-length", "32", "--measures", "entropy,offset_attention")


def error_of(result) -> str:
    """The one line on standard error."""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("headscope: error: ")
    return lines[0]


def test_writes_the_atlas_that_python_gives(run: Run, model: Path, corpus: Path, tmp_path: Path) -> None:
    result = run("analyze", model, "--text", corpus, *FEW, "-o", tmp_path / "out.nc")
    assert result.exit_code == 0, result.stderr
    written = hs.open(tmp_path / "out.nc")
    expected = hs.analyze(
        hs.load(model), hs.read_text(corpus), max_length=32, measures=["entropy", "offset_attention"]
    )
    assert written.measures == expected.measures
    for name in expected.measures:
        assert written[name].equals(expected[name])
    assert written.typical("1.2") == expected.typical("1.2") != []


def test_quotes_nothing_when_told_so(run: Run, model: Path, corpus: Path, tmp_path: Path) -> None:
    result = run("analyze", model, "--text", corpus, *FEW, "--sentences", 0, "-o", tmp_path / "out.nc")
    assert result.exit_code == 0, result.stderr
    assert hs.open(tmp_path / "out.nc").typical("1.2") == []
    assert b"typical" not in (tmp_path / "out.nc").read_bytes()


def test_a_new_analysis_quotes_its_own_corpus(run: Run, model: Path, corpus: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("A dog saw a cat in the house.\n", encoding="utf-8")
    for text in (corpus, other):
        result = run("analyze", model, "--text", text, *FEW, "-o", tmp_path / "out.nc")
        assert result.exit_code == 0, result.stderr
    shown = {one.words[1:-2] for one in hs.open(tmp_path / "out.nc").typical("1.2")}
    assert shown == {("A", "dog", "saw", "a", "cat", "in", "the", "house")}


def test_ends_with_a_summary(run: Run, model: Path, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.nc"
    result = run("analyze", model, "--text", corpus, "--max-length", 32, "-o", out)
    facts = hs.open(out).provenance
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"{out}: {model} on {facts['texts']} texts, {facts['tokens']:,} tokens, ")
    assert 4 <= len(lines) - 2 <= 9  # one line a subject, and an empty one
    assert lines[-1] == f"Next: headscope show {out}   or   headscope report {out}"
    assert result.stderr == ""


@pytest.mark.parametrize("spelling", [("--text", "A", "B"), ("--text", "A", "--text", "B")])
def test_takes_several_files(
    run: Run, model: Path, corpus: Path, tmp_path: Path, spelling: tuple[str, ...]
) -> None:
    other = tmp_path / "other.txt"
    other.write_text("A dog saw a cat.\n", encoding="utf-8")
    files = {"A": corpus, "B": other}
    args = [files.get(word, word) for word in spelling]
    result = run("analyze", model, *args, *FEW, "-o", tmp_path / "out.nc")
    assert result.exit_code == 0, result.stderr
    assert hs.open(tmp_path / "out.nc").provenance["corpus"] == "corpus.txt, other.txt"


def test_takes_pairs(run: Run, model: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("the cat sat\ta dog\nit was red\tthe mat\n", encoding="utf-8")
    result = run("analyze", model, "--pairs", pairs, *FEW, "--limit", 1, "-o", tmp_path / "out.nc")
    assert result.exit_code == 0, result.stderr
    assert hs.open(tmp_path / "out.nc").provenance["texts"] == 1


def test_passes_every_option_on(
    run: Run, model: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, object] = {}
    load, analyze = hs.load, hs.analyze
    monkeypatch.setattr(hs, "load", lambda name, **options: given.update(options) or load(name))
    monkeypatch.setattr(
        hs, "analyze", lambda *args, **options: given.update(options) or analyze(*args, **options)
    )
    options = (
        "--limit 2 --max-length 32 --measures entropy --faithful --batch-size 3 --device cpu --dtype float32 "
        "--sentences 7 --weigh looked --distances none --no-kernels --profile"
    )
    more = "--revision main --allow-pickle --quiet"
    result = run(
        "analyze", model, "--text", corpus, *options.split(), *more.split(), "-o", tmp_path / "out.nc"
    )
    assert result.exit_code == 0, result.stderr
    assert given == {
        "revision": "main",
        "device": "cpu",
        "dtype": "float32",
        "allow_pickle": True,
        "measures": ["entropy"],
        "max_length": 32,
        "limit": 2,
        "batch_size": 3,
        "faithful": True,
        "weigh": "looked",
        "distances": "none",
        "sentences": 7,
        "kernels": False,
        "bits": None,
        "device_map": None,
        "start_token": True,
        "tower": None,
        "profile": True,
        "progress": False,
    }


def test_help_names_every_measure(run: Run) -> None:
    words = run("analyze", "--help").stdout.replace(",", " ").replace(".", " ").split()
    assert set(hs.MEASURES.names()) <= set(words)


def test_quiet_prints_nothing(run: Run, model: Path, tmp_path: Path) -> None:
    text = tmp_path / "foreign.txt"
    text.write_text("שלום עולם\n", encoding="utf-8")
    result = run("analyze", model, "--text", text, *FEW, "-q", "-o", tmp_path / "out.nc")
    assert (result.exit_code, result.output) == (0, "")


def test_json_is_one_object(run: Run, model: Path, tmp_path: Path) -> None:
    text = tmp_path / "foreign.txt"
    text.write_text("שלום עולם\n", encoding="utf-8")
    out = tmp_path / "out.nc"
    result = run("analyze", model, "--text", text, *FEW, "--json", "-o", out)
    assert (result.exit_code, result.stderr) == (0, "")
    told = json.loads(result.stdout)
    assert list(told) == [
        "headscope",
        "command",
        "output",
        "notes",
        "model",
        "texts",
        "tokens",
        "texts_cut",
        "measures",
        "duration",
    ]
    facts = hs.open(out).provenance
    assert told["output"] == str(out)
    assert told["model"] == str(model)
    assert (told["texts"], told["tokens"]) == (facts["texts"], facts["tokens"])
    names = ["entropy", "offset_attention"]
    assert told["measures"] == [*names, *(f"{name}_moved" for name in names)]
    assert len(told["notes"]) == 1
    assert "unknown" in told["notes"][0]


def test_own_warnings_become_notes_and_others_vanish(
    run: Run, model: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = hs.load

    def noisy(*args: object, **options: object) -> hs.Model:
        warnings.warn("two\nlines", HeadscopeWarning, stacklevel=1)
        warnings.warn("not ours", FutureWarning, stacklevel=1)
        return load(*args, **options)

    monkeypatch.setattr(hs, "load", noisy)
    result = run("analyze", model, "--text", corpus, *FEW, "-o", tmp_path / "out.nc")
    assert result.exit_code == 0
    assert result.stderr == "note: two lines\n"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("MODEL", "-o", "OUT"), "as --text FILE..., as --pairs FILE or as --dataset NAME"),
        (
            ("MODEL", "--text", "CORPUS", "--pairs", "CORPUS", "-o", "OUT"),
            "as --text FILE..., as --pairs FILE or as --dataset NAME",
        ),
        (("MODEL", "--text", "CORPUS"), "Missing option '--output' / '-o'"),
        (("MODEL", "--text"), "'--text' requires an argument"),
        (("--text", "CORPUS", "MODEL", "-o", "OUT"), "MODEL is missing; it comes first"),
        (
            ("MODEL", "--text", "CORPUS", "-o", "OUT", "--measures", "nonsense"),
            "no measure called 'nonsense'",
        ),
        (("MODEL", "--text", "CORPUS", "-o", "OUT", "--measures", ","), "no measure was asked for"),
        (("MODEL", "--text", "CORPUS", "-o", "OUT", "--batch-size", "0"), "neither auto nor a whole number"),
        (("MODEL", "--text", "CORPUS", "-o", "OUT", "--limit", "0"), "'--limit'"),
        (
            ("MODEL", "--text", "CORPUS", "-o", "OUT", "--dtype", "int4"),
            "'int4' is not one of 'auto', 'float32'",
        ),
        (("MODEL", "--text", "CORPUS", "-o", "OUT", "--device", "toaster"), "'toaster' is not a device"),
        (("MODEL", "--text", "CORPUS", "-o", "OUT", "--colour"), "No such option: --colour"),
        (("MODEL", "--text", "MISSING", "-o", "OUT"), "missing.txt: no such file"),
        (("MODEL", "--text", "CORPUS", "-o", "CORPUS"), "is one of the inputs"),
        (("MODEL", "--pairs", "CORPUS", "-o", "CORPUS"), "is one of the inputs"),
    ],
)
def test_a_bad_argument_is_one_line_and_exit_code_2(
    *, run: Run, model: Path, corpus: Path, tmp_path: Path, args: tuple[str, ...], says: str
) -> None:
    names = {
        "MODEL": model,
        "CORPUS": corpus,
        "OUT": tmp_path / "out.nc",
        "MISSING": tmp_path / "missing.txt",
    }
    before = corpus.read_bytes()
    result = run("analyze", *(names.get(arg, arg) for arg in args))
    assert says in error_of(result)
    assert result.exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.txt"]
    assert corpus.read_bytes() == before


def test_the_output_is_checked_before_the_model_is_loaded(
    run: Run, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hs, "load", lambda *args, **options: pytest.fail("loaded"))
    result = run("analyze", "demo", "--text", corpus, "-o", tmp_path / "missing" / "out.nc")
    assert "there is no folder" in error_of(result)


def test_replaces_an_atlas_of_the_same_name(run: Run, model: Path, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.nc"
    out.write_bytes(b"\x89HDF\r\n\x1a\nold")
    assert run("analyze", model, "--text", corpus, *FEW, "-o", out).exit_code == 0
    assert "entropy" in hs.open(out)


def test_a_failed_run_leaves_the_old_atlas(run: Run, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.nc"
    out.write_bytes(b"\x89HDF\r\n\x1a\nold")
    (tmp_path / "empty.txt").touch()
    assert run("analyze", model, "--text", tmp_path / "empty.txt", *FEW, "-o", out).exit_code == 2
    assert out.read_bytes().endswith(b"old")


def test_a_file_that_is_no_atlas_is_not_replaced(run: Run, model: Path, corpus: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.tsv"
    notes.write_text("mine", encoding="utf-8")
    result = run("analyze", model, "--text", corpus, "--max-length", 32, "-o", notes)
    assert result.exit_code == 2
    assert "already exists and is not an atlas" in result.stderr
    assert notes.read_text(encoding="utf-8") == "mine"
    for _ in range(2):  # an atlas, and an atlas in place of an atlas
        options = ("--max-length", 32, "--measures", "entropy", "-o", tmp_path / "a.nc")
        assert run("analyze", model, "--text", corpus, *options).exit_code == 0


def test_a_model_that_shows_no_values_is_told_of(run: Run, corpus: Path, tmp_path: Path) -> None:
    folder, out = tmp_path / "xlnet", tmp_path / "out.nc"
    saved(tiny("xlnet"), folder)
    asked = ("analyze", folder, "--text", corpus, "--limit", 2, "--max-length", 32, "-o", out)
    told = json.loads(run(*asked, "--measures", "entropy", "--json").stdout)
    assert any("can tell where its heads look, not what they move" in note for note in told["notes"])
    assert told["measures"] == ["entropy"]
    refused = run(*asked, "--weigh", "moved")
    assert refused.exit_code != 0
    assert "give --weigh looked" in refused.stderr


def test_a_profile_is_printed_and_in_the_json(run: Run, model: Path, corpus: Path, tmp_path: Path) -> None:
    given = (
        "analyze",
        model,
        "--text",
        corpus,
        *FEW,
        "--sentences",
        0,
        "--profile",
        "-o",
        tmp_path / "out.nc",
    )
    printed = run(*given).stdout
    assert "tokens/s" in printed
    assert "time spent on" in printed
    assert "offset_attention" in printed
    told = json.loads(run(*given, "--json").stdout)
    assert {part["part"] for part in told["profile"]["parts"]} > {"entropy", "offset_attention"}
