"""Treebanks: trees as the file has them, the text as it was written, and broken sentences left out by name."""

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.treebanks import as_file, block, line, random_sentences

import headscope as hs
from headscope.errors import TextError

ROOT = -1
"""In place of a root's head."""
GOOD = block(("the", 2, "det", "DET"), ("cat", 3, "nsubj", "NOUN"), ("sat", 0, "root", "VERB"))
OTHER = block(("it", 2, "nsubj"), ("was", 0, "root"))


def write(folder: Path, text: str, name: str = "a.conllu") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def read(folder: Path, text: str) -> tuple[list[Any], Any]:
    """The sentences, and the treebank."""
    treebank = hs.read_treebank(write(folder, text))
    return list(treebank), treebank


def test_a_sentence_with_all_its_columns(tmp_path: Path) -> None:
    rows = (
        "1\tDogs\tdog\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t2:nsubj\tEntity=(e1)\n"
        "2\trun\trun\tVERB\tVBP\t_\t0\troot\t0:root\tSpaceAfter=No\n"
        "3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t2:punct\t_\n"
    )
    (one,), treebank = read(tmp_path, "\n# newdoc id = a\n# sent_id = s-1\n# text = Dogs run.\n" + rows)
    assert one.content.text == "Dogs run."
    assert one.forms == tuple(one.content.words) == ("Dogs", "run", ".")
    assert one.upos == ("NOUN", "VERB", "PUNCT")
    assert one.xpos == ("NNS", "VBP", ".")
    assert one.features == ("Number=Plur", "_", "_")
    assert one.heads == (1, ROOT, 1)
    assert one.relations == ("nsubj", "root", "punct")
    assert (one.name, one.document, one.line, one.lines) == ("s-1", 0, 2, (5, 6, 7))
    assert len(one) == 3
    assert one.where().endswith("a.conllu:2")
    assert one.where(2).endswith("a.conllu:7")
    assert treebank.annotator is None
    assert treebank.name == "a.conllu"
    assert repr(treebank) == "Treebank('a.conllu')"


def test_the_name_of_a_sentence(tmp_path: Path) -> None:
    found, _ = read(tmp_path, "# sent_id =  weblog-1 \n" + GOOD + "# sent_id_old = 3\n" + OTHER)
    assert [one.name for one in found] == ["weblog-1", ""]


# The text that the model is shown


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        # The words of a multiword token spell it: they stand together, as in the text.
        ([("1-2", "don't"), ("1", "do"), ("2", "n't"), ("3", "go")], "don't go"),
        ([("1", "I"), ("2-3", "cannot"), ("2", "can"), ("3", "not"), ("4", "go")], "I cannot go"),
        ([("1-3", "gonnado"), ("1", "gon"), ("2", "na"), ("3", "do"), ("4", "it")], "gonnado it"),
        # They do not: the model is shown the words.
        ([("1-2", "du"), ("1", "de"), ("2", "le"), ("3", "vin")], "de le vin"),
        # The last one of the sentence, and one after the other.
        ([("1-2", "ab"), ("1", "a"), ("2", "b"), ("3-4", "cd"), ("3", "c"), ("4", "d")], "ab cd"),
        # A range that leaves the sentence or goes backwards means nothing.
        ([("1", "a"), ("2-9", "b"), ("2", "b"), ("3", "c")], "a b c"),
        ([("1", "a"), ("3-2", "x"), ("2", "b"), ("3", "c")], "a b c"),
        # Empty nodes are no words of the text.
        ([("0.1", "X"), ("1", "a"), ("1.1", "HIDDEN"), ("2", "b"), ("2.1", "HIDDEN")], "a b"),
    ],
)
def test_multiword_tokens_and_empty_nodes(tmp_path: Path, rows: list[tuple[str, str]], text: str) -> None:
    lines = [
        line(number, form, "_" if not number.isdecimal() else 0 if number == "1" else 1, "x")
        for number, form in rows
    ]
    (one,), treebank = read(tmp_path, "".join(lines))
    assert one.content.text == text
    assert one.forms == tuple(form for number, form in rows if number.isdecimal())
    assert one.content.words == list(one.forms)
    assert one.lines == tuple(place for place, (number, _) in enumerate(rows, start=1) if number.isdecimal())
    assert not treebank.skipped.count


def test_space_after_a_multiword_token_is_its_own(tmp_path: Path) -> None:
    rows = (
        line("1-2", "don't", "_", "_", misc="SpaceAfter=No")
        + line(1, "do", 0, "root", misc="SpaceAfter=No")
        + line(2, "n't", 1, "advmod")
        + line(3, "!", 1, "punct")
    )
    (one,), _ = read(tmp_path, rows)
    assert one.content.text == "don't!"
    (one,), _ = read(tmp_path, rows.replace("don't", "dont"))  # not spelled by its words
    assert one.content.text == "do n't!"


def test_the_text_is_made_of_the_words_not_of_the_comment(tmp_path: Path) -> None:
    (one,), _ = read(tmp_path, "# text = Something else.\n" + GOOD)
    assert one.content.text == "the cat sat"


# Documents


def test_documents_are_numbered_through_all_files(tmp_path: Path) -> None:
    first = write(tmp_path, GOOD + "# newdoc\n" + GOOD + OTHER + "# newdoc id = x\n" + GOOD)
    second = write(tmp_path, OTHER + "# newdoc\n" + GOOD, "b.conllu")
    treebank = hs.read_treebank(first, second)
    assert [one.document for one in treebank] == [0, 1, 1, 2, 3, 4]
    assert treebank.name == "a.conllu, b.conllu"
    assert [one.path for one in treebank] == [str(first)] * 4 + [str(second)] * 2


BROKEN = {
    "columns": "1\tthe\n",
    "number": line("x", "the", 0, "root"),
    "circle": block(("a", 2, "x"), ("b", 1, "x")).rstrip("\n") + "\n",
    "words": "# text = Nothing here.\n",
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_sentence_leaves_the_numbering_alone(tmp_path: Path, broken: str) -> None:
    for text, numbers in (
        (("# newdoc\n" + GOOD) * 2 + broken + "\n" + GOOD, [0, 1, 1]),
        ("# newdoc\n" + GOOD + "# newdoc\n" + broken + "\n" + OTHER, [0, 1]),
        ("# newdoc\n" + broken + "\n" + GOOD + "# newdoc\n" + OTHER, [0, 1]),
    ):
        found, treebank = read(tmp_path, text)
        assert [one.document for one in found] == numbers
        assert treebank.skipped.count == 1


def test_a_document_of_broken_trees_only_keeps_its_number(tmp_path: Path) -> None:
    text = "".join("# newdoc\n" + part for part in (GOOD, BROKEN["circle"] + "\n", OTHER))
    found, _ = read(tmp_path, text)
    assert [one.document for one in found] in ([0, 1], [0, 2])
    assert found[0].document != found[1].document


# Broken sentences


@pytest.mark.parametrize(
    ("rows", "at", "says"),
    [
        (
            line(1, "a", 0, "root") + line(2, "b", 3, "x"),
            2,
            "HEAD is '3'",
        ),
        (line(1, "a", -1, "root"), 1, "HEAD is '-1'"),
        (line(1, "a", "one", "root"), 1, "HEAD is 'one'"),
        (line(1, "a", "٣", "root"), 1, "HEAD is '٣'"),
        (line(1, "a", "9" * 5000, "root"), 1, "HEAD is '99999999999999999999'"),
        (line(1, "a", 1, "root"), 1, "circle"),
        (line(1, "a", 0, "root") + line(2, "b", 2, "x"), 2, "circle"),
        (
            line(1, "a", 0, "root") + line(2, "b", 3, "x") + line(3, "c", 4, "x") + line(4, "d", 2, "x"),
            2,
            "circle",
        ),
        (line(1, "a", "_", "_").replace("_\t_\t_\n", "_\t1:x\t_\n"), 1, "DEPS"),
        (line(1, "a", "_", "_"), 1, "no HEAD and DEPREL"),
        (line(1, "a", 0, "_"), 1, "no HEAD and DEPREL"),
        (line(1, "a", 0, "root") + line(3, "b", 1, "x"), 2, "word 3 where word 2"),
        (line(0, "a", 0, "root"), 1, "word 0 where word 1"),
        (line(1, "a", 0, "root") + line(1, "b", 1, "x"), 2, "word 1 where word 2"),
        (line("1.1", "a", 0, "root"), 1, "a sentence without words"),
        (line("1-2", "ab", "_", "_"), 1, "a sentence without words"),
        (line(1, "a", 0, "root") + "2\tb\n", 2, "10 tab-separated columns, found 2"),
        (line(1, "a", 0, "root") + line("2b", "b", 1, "x"), 2, "ID is '2b'"),
        ("# text = It rains.\n", 2, "no word lines"),
    ],
)
def test_only_the_broken_sentence_is_skipped(tmp_path: Path, rows: str, at: int, says: str) -> None:
    found, treebank = read(tmp_path, GOOD + rows + "\n" + OTHER)
    assert [one.forms for one in found] == [("the", "cat", "sat"), ("it", "was")]
    assert found[1].line == 4 + rows.count("\n") + 2
    assert treebank.skipped.count == 1
    (place,) = treebank.skipped.places
    assert re.search(rf"a\.conllu:{4 + at}: ", place)
    assert says in place
    assert "\n" not in place
    assert len(place) < 300


@pytest.mark.parametrize(
    ("text", "documents", "lines"),
    [
        # Told once, by its first broken line; what comes after it counts.
        (GOOD + "# sent_id = x\n1\ta\n2\tb\n" + line(3, "c", 0, "root") + "\n" + OTHER, [0, 0], [6]),
        ("# newdoc\nbroken\n\n" + GOOD + "# newdoc\n" + OTHER, [0, 1], [2]),
        (GOOD + "broken\n# newdoc\n\n" + OTHER, [0, 1], [5]),
        (GOOD + "# c\n" + line(1, "a", 0, "root") + "broken", [0], [7]),
        (GOOD + "# newdoc\n# text = It rains.\n\n" + OTHER + "# text = End.", [0, 1], [7, 11]),
        ("# text = It rains.\nbroken\n\n" + GOOD, [0], [2]),
    ],
    ids=["two lines", "begins a document", "a document in it", "the last", "without words", "with a text"],
)
def test_a_broken_sentence_is_told_once_and_may_begin_a_document(
    tmp_path: Path, text: str, documents: list[int], lines: list[int]
) -> None:
    found, treebank = read(tmp_path, text)
    assert [one.document for one in found] == documents
    assert [int(place.split(":")[1]) for place in treebank.skipped.places] == lines


def test_two_roots_are_a_forest_that_can_be_used(tmp_path: Path) -> None:
    (one,), treebank = read(tmp_path, block(("a", 0, "root"), ("b", 0, "root"), ("c", 2, "x")))
    assert one.heads == (ROOT, ROOT, 1)
    assert not treebank.skipped.count


def test_random_heads_are_trees_or_told(tmp_path: Path) -> None:
    """Against the obvious check: from every word, so many steps up as there are words must end at the root."""
    trees = as_file(random_sentences(40, seed=1)).split("\n\n")[:-1]
    for number, text in enumerate(trees):
        rows = [row.split("\t") for row in text.split("\n") if not row.startswith("#")]
        for row in rows[:: 1 + number % 3]:
            row[6] = str((int(row[6]) * 7 + number) % (len(rows) + 1))
        up = {int(row[0]): int(row[6]) for row in rows}
        ends = []
        for word in up:
            for _ in up:
                word = up.get(word, 0)  # noqa: PLW2901 - climbing
            ends.append(word)
        found, treebank = read(tmp_path, "\n".join("\t".join(row) for row in rows) + "\n\n" + GOOD)
        assert len(found) == (1 if any(ends) else 2)
        assert treebank.skipped.count == int(any(ends))


# Whole files


def test_nothing_usable_is_an_error(tmp_path: Path) -> None:
    circle = BROKEN["circle"] + "\n"
    with pytest.raises(
        TextError,
        match=r"a\.conllu: .* 3 were skipped, .*a\.conllu:1: ",
    ):
        read(tmp_path, circle * 3)
    with pytest.raises(TextError, match="DEPS"):
        read(tmp_path, line(1, "a", "_", "_").replace("_\t_\t_\n", "_\t0:root\t_\n") + "\n")


@pytest.mark.parametrize("text", ["", "\n\n", "# newdoc\n\n# global.columns = ID\n"])
def test_a_file_without_sentences_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(TextError, match=r"a\.conllu holds no sentence"):
        read(tmp_path, text)


def test_one_good_file_is_enough(tmp_path: Path) -> None:
    bad = write(tmp_path, BROKEN["circle"])
    good = write(tmp_path, GOOD, "b.conllu")
    treebank = hs.read_treebank(bad, good)
    assert len(list(treebank)) == 1
    assert treebank.skipped.count == 1


def test_missing_files_are_told_at_once(tmp_path: Path) -> None:
    good = write(tmp_path, GOOD)
    with pytest.raises(TextError, match=r"b\.conllu: no such file"):
        hs.read_treebank(good, tmp_path / "b.conllu")
    with pytest.raises(TextError, match="read_treebank was given no file"):
        hs.read_treebank()
    with pytest.raises(TextError, match="is a directory"):
        hs.read_treebank(tmp_path)


def test_a_treebank_can_be_read_again_and_counts_afresh(tmp_path: Path) -> None:
    treebank = hs.read_treebank(write(tmp_path, GOOD + BROKEN["circle"] + "\n" + OTHER))
    first = list(treebank)
    assert list(treebank) == first
    assert treebank.skipped.count == 1
    assert next(iter(treebank)) == first[0]
    assert treebank.skipped.count == 0  # nothing was skipped up to here


def test_compressed_files(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu.gz"
    path.write_bytes(gzip.compress((GOOD + OTHER).encode()))
    assert [one.forms for one in hs.read_treebank(path)] == [("the", "cat", "sat"), ("it", "was")]


def test_progress_goes_from_nothing_to_all(tmp_path: Path) -> None:
    files = [write(tmp_path, GOOD * 800, f"{name}.conllu") for name in "ab"]
    treebank = hs.read_treebank(*files)
    assert treebank.progress == 0
    shares = [treebank.progress for _ in treebank]
    assert all(share is not None for share in shares)
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.2
    assert treebank.progress == 1
    next(iter(treebank))
    assert treebank.progress is not None
    assert treebank.progress < 0.2


def test_a_file_name_that_breaks_lines_is_shown_on_one(tmp_path: Path) -> None:
    treebank = hs.read_treebank(write(tmp_path, GOOD + BROKEN["circle"], "odd\nname.conllu"))
    assert all("\n" not in one.where() for one in treebank)
    assert "\n" not in treebank.skipped.places[0]


def test_the_sample_treebank_is_whole() -> None:
    treebank = hs.read_treebank(hs.sample_path("treebank"))
    sentences = list(treebank)
    assert not treebank.skipped.count
    assert len({one.document for one in sentences}) > 1
    for one in sentences:
        assert one.content.words == list(one.forms)
        assert one.heads.count(ROOT) == 1
        assert one.relations[one.heads.index(ROOT)] == "root"
