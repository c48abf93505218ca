import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headscope import read_pairs, read_text
from headscope.errors import TextError
from headscope.text import as_corpus
from headscope.text.items import Item, Sentence, TextPair

CONTENTS: dict[str, tuple[str, list[Item]]] = {
    "a.txt": ("One.\n\nTwo.\n", [Sentence("One.", 0), Sentence("Two.", 1)]),
    "README": ("One.\n\nTwo.\n", [Sentence("One.", 0), Sentence("Two.", 1)]),
    "a.jsonl": ('{"text": "One."}\n{"text": "Two."}\n', [Sentence("One.", 0), Sentence("Two.", 1)]),
    "a.tsv": ("One.\tTwo.\n", [TextPair("One.", "Two.")]),
    "a.conllu": (
        "# newdoc\n1\tOne.\t_\t_\t_\t_\t_\t_\t_\t_\n\n# newdoc\n1\tTwo.\t_\t_\t_\t_\t_\t_\t_\t_\n",
        [Sentence("One.", 0), Sentence("Two.", 1)],
    ),
}


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("name", CONTENTS)
def test_the_ending_chooses_the_reader(tmp_path: Path, name: str, compressed: bool) -> None:
    text, expected = CONTENTS[name]
    for spelled in (name, name.upper()):
        path = tmp_path / (spelled + ".gz" if compressed else spelled)
        write(path, gzip.compress(text.encode()) if compressed else text)
        corpus = read_text(str(path))
        assert list(corpus) == expected
        assert list(corpus) == expected  # and again
        assert (corpus.name, corpus.paths) == (path.name, (path,))


def test_documents_of_several_files_do_not_collide(tmp_path: Path) -> None:
    names = ["a.txt", "a.tsv", "a.jsonl", "a.conllu", "README"]
    corpus = read_text(*(write(tmp_path / name, CONTENTS[name][0]) for name in names))
    items = list(corpus)
    assert [item.document for item in items if isinstance(item, Sentence)] == list(range(8))
    assert items[2] == TextPair("One.", "Two.")
    assert corpus.name == "a.txt, a.tsv, a.jsonl and 2 more"
    assert repr(corpus) == "Corpus('a.txt, a.tsv, a.jsonl and 2 more')"


def test_two_iterations_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    corpus = read_text(write(tmp_path / "a.txt", "One.\n\nTwo.\n"))
    assert [(a, b) for a in corpus for b in corpus] == [(a, b) for a in list(corpus) for b in list(corpus)]


def test_faithful_drops_the_unended_document_of_each_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "One.\n\nTwo.\n")
    other = write(tmp_path / "b.txt", "Three.\n\nFour.")
    corpus = read_text(path, other)
    assert list(corpus.items(faithful=True)) == [Sentence("One.", 0), Sentence("Three.", 1)]
    assert len(list(corpus)) == 4


def test_missing_files_are_told_at_once(tmp_path: Path) -> None:
    here = write(tmp_path / "a.txt", "One.")
    with pytest.raises(TextError, match=r"b\.txt: no such file"):
        read_text(here, tmp_path / "b.txt")
    with pytest.raises(TextError, match="is a directory"):
        read_pairs(tmp_path)
    with pytest.raises(TextError, match=r"b\.tsv: no such file"):
        read_pairs(tmp_path / "b.tsv")
    with pytest.raises(TextError, match="given no file"):
        read_text()


@pytest.mark.parametrize(
    "text",
    [b"", b" \n\t\n\n", "\ufeff\n\u200b".encode(), gzip.compress(b"")],
    ids=["no bytes", "white space", "invisible", "gzip"],
)
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.tsv", "a.conllu"])
def test_a_file_with_nothing_in_it_is_an_error(tmp_path: Path, name: str, text: bytes) -> None:
    if name != "a.txt" and "\u200b".encode() in text:
        text = "\ufeff\n".encode()  # the other formats call it a wrong line
    corpus = read_text(write(tmp_path / "full.txt", "One."), write(tmp_path / name, text))
    items = iter(corpus)
    assert next(items) == Sentence("One.", 0)
    with pytest.raises(TextError, match=f"{name} is empty"):
        next(items)


def test_a_binary_file(tmp_path: Path) -> None:
    corpus = read_text(write(tmp_path / "a.jsonl", b"\x89PNG\0"))
    with pytest.raises(TextError, match=r"a\.jsonl: binary file"):
        list(corpus)


@pytest.mark.parametrize("compressed", [False, True])
def test_progress_is_the_share_of_all_bytes(tmp_path: Path, compressed: bool) -> None:
    text = "".join(f"Line {number} of the text.\n" for number in range(5000)).encode()
    data = gzip.compress(text) if compressed else text
    corpus = read_text(write(tmp_path / "a.txt", data), write(tmp_path / "b.txt", data))
    assert corpus.progress is None
    shares = [progress_of(corpus) for _ in corpus]
    assert shares == sorted(shares)
    assert 0 < shares[0] <= 0.5
    assert shares[4999] == pytest.approx(0.5, abs=0.01)
    assert len(set(shares)) >= 12
    assert progress_of(corpus) == 1.0
    iter(corpus)
    assert progress_of(corpus) == 0.0


def progress_of(corpus: Any) -> float:
    assert corpus.progress is not None
    return float(corpus.progress)


def test_progress_is_unknown_for_texts_in_memory() -> None:
    corpus = as_corpus(["One."])
    list(corpus)
    assert corpus.progress is None


def test_pairs_that_are_none_are_told_at_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "one column\nOne.\tTwo.\n")
    with pytest.raises(TextError, match=r"a\.tsv:1"):
        read_pairs(path)  # not only when it is read


def test_read_pairs_chooses_between_two_formats(tmp_path: Path) -> None:
    line = '{"text_a": "One.", "text_b": "Two."}'
    expected = [TextPair("One.", "Two.")]
    assert list(read_pairs(write(tmp_path / "a.jsonl", line))) == expected
    assert list(read_pairs(write(tmp_path / "a.jsonl.gz", gzip.compress(line.encode())))) == expected
    for name in ("a.tsv", "a.txt", "a.conllu"):
        assert list(read_pairs(write(tmp_path / name, "One.\tTwo.\n"))) == expected
    with pytest.raises(TextError, match="text_a"):
        list(read_pairs(write(tmp_path / "b.jsonl", '{"text": "One."}')))


def test_as_corpus_takes_a_corpus_a_text_or_a_pair(tmp_path: Path) -> None:
    corpus = read_text(write(tmp_path / "a.txt", "One."))
    assert as_corpus(corpus) is corpus
    one = as_corpus("One. Two.\n\nThree.")
    assert list(one) == [Sentence("One.", 0), Sentence("Two.", 0), Sentence("Three.", 0)]
    assert (one.name, one.paths) == ("text", ())
    assert list(as_corpus(TextPair("a", "b"))) == [TextPair("a", "b")]


def test_as_corpus_takes_texts_and_pairs_and_can_be_read_again() -> None:
    corpus = as_corpus(
        ["One. Two.", ("a", "b"), "", ("c", None), TextPair("d", " "), ("e\x07", "f\x07"), "Three."]
    )
    expected: list[Item] = [
        Sentence("One.", 0),
        Sentence("Two.", 0),
        TextPair("a", "b"),
        TextPair("c"),
        TextPair("d"),
        TextPair("e ", "f "),
        Sentence("Three.", 2),
    ]
    assert list(corpus) == expected
    assert list(corpus) == expected
    assert corpus.name == "texts"
    assert list(as_corpus(("One.", "Two."))) == [Sentence("One.", 0), Sentence("Two.", 1)]


def test_a_generator_is_read_lazily_and_only_once() -> None:
    def texts() -> Iterator[str]:
        yield "One."
        raise RuntimeError("asked for more than was needed")

    corpus = as_corpus(texts())
    assert next(iter(corpus)) == Sentence("One.", 0)
    with pytest.raises(TextError, match=r"generator .* as_corpus\(list\(texts\)\)"):
        iter(corpus)


def test_an_iterable_that_is_no_iterator_can_be_read_again() -> None:
    class Texts:
        def __iter__(self) -> Iterator[str]:
            return iter(["One."])

    corpus = as_corpus(Texts())
    assert list(corpus) == list(corpus) == [Sentence("One.", 0)]


@pytest.mark.parametrize("texts", [5, None, b"bytes", {"text": "One."}, Path("a.txt")])
def test_what_holds_no_texts_is_refused(texts: Any) -> None:
    with pytest.raises(TextError, match=f"got {type(texts).__name__}") as caught:
        as_corpus(texts)
    assert ("read_text" in str(caught.value)) == isinstance(texts, Path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (5, "text 1 is of type int"),
        (b"bytes", "text 1 is of type bytes"),
        (["a", "b"], "text 1 is of type list"),
        (("a", "b", "c"), "text 1 is of type tuple"),
        (("a", 5), "text 1 is a pair of str and int"),
        ((None, "a"), "text 1 is a pair of NoneType and str"),
        (TextPair(5, "a"), "text 1 is a pair of int and str"),  # type: ignore[arg-type]
        ((" ", "a"), "text 1 is a pair with an empty first text"),
    ],
)
def test_bad_elements_are_refused(text: Any, problem: str) -> None:
    items = iter(as_corpus(["One.", text]))
    assert next(items) == Sentence("One.", 0)
    with pytest.raises(TextError, match=problem):
        next(items)


@pytest.mark.parametrize("texts", ["", " \n", [], ["", "\n\n"]])
def test_texts_with_nothing_in_them_are_an_error(texts: Iterable[str]) -> None:
    with pytest.raises(TextError, match="empty"):
        list(as_corpus(texts))


def test_the_name_of_a_file_is_not_taken_for_a_text(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "One.")
    with pytest.raises(TextError, match="is the name of a file, not a text"):
        as_corpus(str(path))
