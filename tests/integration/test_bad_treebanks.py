"""Bad treebanks through the real command: the good sentences count, the bad ones are named by file and line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.tiny import saved, tiny
from tests.helpers.treebanks import block, line
from typer.testing import CliRunner, Result

import headscope as hs
from headscope.cli.main import app

Probe = Callable[..., Result]

GOOD = block(("the", 2, "det"), ("cats", 3, "nsubj"), ("sat", 0, "root"))
OTHER = block(("a", 2, "det"), ("dog", 3, "nsubj"), ("saw", 0, "root"), ("it", 3, "obj"))
DOCUMENTS = "# newdoc\n" + GOOD + "# newdoc\n" + OTHER

ENHANCED = line(1, "the", "_", "_").replace("_\t_\t_\n", "_\t2:det\t_\n")

BROKEN = {
    "columns": (line(1, "the", 2, "det") + "2\tcat\t_\n", 2, "expected 10 tab-separated columns, found 3"),
    "spaces": ("1 the _ X _ _ 0 root _ _\n", 1, "expected 10 tab-separated columns, found 1"),
    "number": (line("1a", "the", 0, "root"), 1, "ID is '1a'"),
    "gap": (line(1, "the", 0, "root") + line(3, "cat", 1, "x"), 2, "word 3 where word 2 was expected"),
    "range": (line(1, "the", 0, "root") + line(2, "cat", 7, "x"), 2, "HEAD is '7'; expected 0 for the root"),
    "head": (line(1, "the", "two", "det"), 1, "HEAD is 'two'"),
    "self": (line(1, "the", 0, "root") + line(2, "cat", 2, "x"), 2, "its heads go round in a circle"),
    "circle": (line(1, "the", 2, "det") + line(2, "cat", 1, "x"), 1, "its heads go round in a circle"),
    "enhanced": (ENHANCED, 1, "no HEAD and DEPREL, only enhanced ones in DEPS; basic trees are needed"),
    "raw": (line(1, "the", "_", "_"), 1, "no HEAD and DEPREL; basic trees are needed"),
    "empty": (line("1.1", "the", "_", "_"), 1, "a sentence without words"),
    "text": ("# text = It rains.\n", 2, "a sentence with # text and no word lines"),
}


@pytest.fixture
def probe(tiny_folder: Path, place: Path, tmp_path: Path, no_log_lines: None) -> Probe:
    """`headscope probe dependency` in this process, on the tiny BERT and a treebank of this text, into `place`."""

    def run(text: str | bytes, *options: object, model: object = tiny_folder) -> Result:
        path = tmp_path / "a.conllu"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        args = ["probe", "dependency", model, "--treebank", path, *options, "-o", place / "out.nc"]
        return CliRunner().invoke(app, [str(arg) for arg in args], prog_name="headscope")

    return run


def done(result: Result, place: Path) -> dict[str, Any]:
    """What the command says in JSON, after checking that the atlas says the same."""
    assert result.exit_code == 0, result.output
    assert [path.name for path in place.iterdir()] == ["out.nc"]
    told: dict[str, Any] = json.loads(result.stdout)
    atlas = hs.open(place / "out.nc")
    assert atlas.table("dependency") == [
        {key: value for key, value in row.items() if key not in ("stack", "verdict")} for row in told["rows"]
    ]
    assert atlas.provenance["probes"]["dependency"]["skipped"] == told["skipped"]
    return told


def counts(told: dict[str, Any]) -> dict[str, int]:
    return {row["relation"]: row["cases"] + row["chosen_cases"] for row in told["rows"]}


def refused(result: Result, says: str, place: Path) -> None:
    """One line that says why, and no trace of an output."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("headscope: error: ")
    assert result.stderr.count("\n") == 1, result.stderr
    assert says in result.stderr
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("name", BROKEN)
def test_only_the_broken_sentence_is_left_out(probe: Probe, place: Path, tmp_path: Path, name: str) -> None:
    rows, at, says = BROKEN[name]
    before = "# newdoc\n" + GOOD
    told = done(probe(before + rows + "\n# newdoc\n" + OTHER, "--json"), place)
    assert told["skipped"] == 1
    assert counts(told) == {"all": 5, "det": 2, "nsubj": 2, "obj": 1}
    (note,) = [note for note in told["notes"] if " skipped: " in note]
    assert note.startswith(f"1 sentence skipped: {tmp_path}/a.conllu:{before.count(chr(10)) + at}: {says}")
    assert told["documents"] == 2
    assert told["options"]["chosen_on"] == "half of the documents of a.conllu"


def test_all_of_them_at_once_are_counted_and_the_first_few_named(probe: Probe, place: Path) -> None:
    text = "".join(rows + "\n" + GOOD for rows, _, _ in BROKEN.values())
    result = probe(text, "--json")
    told = done(result, place)
    assert told["skipped"] == len(BROKEN)
    assert counts(told) == {"all": 24, "det": 12, "nsubj": 12}
    (note,) = [note for note in told["notes"] if " skipped: " in note]
    assert note.startswith("12 sentences skipped: ")
    assert note.count("a.conllu:") == 5
    assert note.endswith("; ...")


def test_the_number_skipped_is_printed(probe: Probe) -> None:
    result = probe(DOCUMENTS + BROKEN["circle"][0])
    assert result.exit_code == 0
    assert "1 sentence skipped" in result.output
    assert "its heads go round in a circle" in " ".join(result.output.split())


def test_the_number_skipped_of_the_file_chosen_on_is_printed(
    probe: Probe, tmp_path: Path, place: Path
) -> None:
    select = tmp_path / "select.conllu"
    select.write_text(DOCUMENTS + BROKEN["circle"][0], encoding="utf-8")
    told = done(probe(DOCUMENTS, "--select", select, "--json"), place)
    (note,) = [note for note in told["notes"] if " skipped: " in note]
    assert note.startswith("in select.conllu: 1 sentence skipped: ")
    assert told["skipped"] == 0


@pytest.mark.parametrize("name", BROKEN)
def test_nothing_usable_is_refused(probe: Probe, place: Path, name: str) -> None:
    rows, at, says = BROKEN[name]
    result = probe((rows + "\n") * 3)
    refused(result, f"a.conllu:{at}: {says}", place)
    assert "none of its sentences can be used, 3 were skipped" in result.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "a.conllu holds no sentence; give a CoNLL-U file with trees"),
        ("# newdoc\n\n", "a.conllu holds no sentence"),
        (b"\x00\x01\x02", "binary file"),
        (GOOD.encode() + b"\xff\xfe\n", "invalid UTF-8"),
        (block(("cat", 0, "root")) * 3, "a.conllu has no case to score"),
        (block(("!", 2, "punct"), ("cat", 0, "root")) * 3, "a.conllu has no case to score"),
    ],
)
def test_files_there_is_nothing_in(probe: Probe, place: Path, text: str | bytes, says: str) -> None:
    refused(probe(text), says, place)


def test_a_missing_file_is_told_before_anything_runs(probe: Probe, place: Path, tmp_path: Path) -> None:
    refused(probe(DOCUMENTS, "--select", tmp_path / "none.conllu"), "none.conllu: no such file", place)


def test_multiword_tokens_and_empty_nodes_are_no_harm(probe: Probe, place: Path) -> None:
    rows = (
        line(1, "it", 3, "nsubj")
        + line("2-3", "don't", "_", "_")
        + line(2, "do", 3, "aux")
        + line(3, "n't", 0, "root")
        + line("3.1", "HIDDEN", "_", "_")
        + "\n"
    )
    told = done(probe(GOOD + rows + GOOD, "--json"), place)
    assert told["skipped"] == 0
    assert counts(told) == {"all": 6, "det": 2, "nsubj": 3, "aux": 1}


def test_words_that_come_to_nothing_are_named(probe: Probe, place: Path, tmp_path: Path) -> None:
    """A zero-width space alone is dropped by BERT's tokenizer: inside, at the end, and as all of a sentence."""
    nothing = "\u200b"
    inside = block((nothing, 2, "x"), ("cat", 0, "root"), ("the", 2, "det"))
    end = block(("cat", 0, "root"), ("the", 1, "det"), (nothing, 1, "x"))
    alone = block((nothing, 2, "x"), (nothing, 0, "root"))
    told = done(probe(GOOD + inside + end + alone + GOOD, "--json", "--batch-size", 1), place)
    (note,) = [note for note in told["notes"] if " skipped: " in note]
    assert note.startswith("3 cases skipped: ")
    for number in (5, 11, 13):
        assert (
            f"{tmp_path}/a.conllu:{number}: the tokenizer has no token for the word '\\u200b' alone" in note
        )
    assert counts(told) == {"all": 6, "det": 4, "nsubj": 2}
    assert told["skipped"] == 0  # the sentences were used


def test_sentences_that_are_too_long_are_cut_and_counted(probe: Probe, place: Path) -> None:
    long = block(("cat", 0, "root"), *[("the", 1, "det")] * 200)
    endless = block(("x" * 90, 0, "root"), ("the", 1, "det"))
    told = done(probe(long + endless + GOOD * 2, "--json"), place)
    assert told["texts_cut"] == 2
    assert counts(told) == {"all": 65, "det": 63, "nsubj": 2}  # 62 pieces fit between [CLS] and [SEP]
    assert any("2 of 4 sentences were longer than 64 tokens" in note for note in told["notes"])
    assert not any(" skipped: " in note for note in told["notes"])


def test_a_relation_seen_once_is_named(probe: Probe, place: Path, tmp_path: Path) -> None:
    told = done(probe(GOOD * 32 + OTHER, "--json"), place)
    (note,) = [note for note in told["notes"] if "fewer than 30 cases" in note]
    assert note.endswith(f"obj (1, {tmp_path}/a.conllu:132)")


def test_one_sentence_alone_can_be_scored_but_not_chosen_on(probe: Probe, place: Path) -> None:
    told = done(probe(GOOD, "--json"), place)
    assert [(row["head"], row["accuracy"], row["cases"]) for row in told["rows"]] == [
        (None, None, 2),
        (None, None, 1),
        (None, None, 1),
    ]
    assert hs.open(place / "out.nc").examples("dependency") == []


@pytest.mark.parametrize("batch_size", ["1", "auto"])
def test_a_sentence_that_comes_to_no_token_at_all(
    probe: Probe, place: Path, tmp_path: Path, batch_size: str
) -> None:
    """Byte-level tokenizers add no special tokens, and a model cannot be given nothing."""
    folder = tmp_path / "gpt2"
    saved(tiny("gpt2"), folder)
    empty = block(("", 0, "root")) + block(("x" * 100, 0, "root"), ("the", 1, "det"))
    told = done(probe(GOOD + empty + OTHER, "--json", "--batch-size", batch_size, model=folder), place)
    assert counts(told) == {"all": 5, "det": 2, "nsubj": 2, "obj": 1}
    assert (told["texts"], told["texts_cut"]) == (4, 1)


def test_an_atlas_of_another_model_is_left_alone(probe: Probe, place: Path, tmp_path: Path) -> None:
    saved(tiny("roberta"), tmp_path / "roberta")
    assert probe(DOCUMENTS).exit_code == 0
    before = (place / "out.nc").read_bytes()
    result = probe(DOCUMENTS, model=tmp_path / "roberta")
    assert result.exit_code == 2
    assert "whose weights differ" in result.stderr
    assert (place / "out.nc").read_bytes() == before


def test_probing_again_replaces_the_probe_and_keeps_the_rest(
    probe: Probe, place: Path, tiny_folder: Path
) -> None:
    atlas = hs.analyze(tiny_folder, ["the cat sat"], measures=["entropy"], max_length=64)
    atlas.save(place / "out.nc")
    for text in (DOCUMENTS, DOCUMENTS + GOOD):
        told = done(probe(text, "--json"), place)
    assert told["texts"] == 3
    kept = hs.open(place / "out.nc")
    assert kept["entropy"].identical(atlas["entropy"])
    assert kept.provenance["probes"]["dependency"]["texts"] == 3
