"""Coreference corpora: formats told by content, files in a row, progress, and files that hold nothing."""

import gzip

import pytest
from tests.helpers.coreference import columns, conllu, litbank, written

import headscope as hs
from headscope.errors import TextError

SENTENCE = ["Mary/PROPN/2/(e1-person-1-)", "ran/VERB/0"]


def test_three_formats_in_a_row(tmp_path):
    paths = [
        written(tmp_path, conllu([SENTENCE], [SENTENCE, SENTENCE]), "a.txt"),
        written(tmp_path, columns(["He/PRP/(3)"]), "b.txt"),
        written(tmp_path, litbank(["he/(3)"]), "c.txt"),
    ]
    corpus = hs.read_coreference(*paths)
    assert corpus.name == "a.txt, b.txt, c.txt"
    assert corpus.annotator is None
    documents = list(corpus)
    assert [document.number for document in documents] == [0, 1, 2, 3]
    assert [len(document.mentions) for document in documents] == [1, 2, 1, 1]
    assert documents[3].sentences[0].where() == f"{paths[2]}:2"
    assert list(corpus) == documents


def test_documents_without_a_name_are_told_apart(tmp_path):
    text = conllu([SENTENCE], [SENTENCE]).replace("# newdoc id = text0", "# newdoc")
    text = text.replace("# newdoc id = text1", "# newdoc")
    assert [document.number for document in hs.read_coreference(written(tmp_path, text))] == [0, 1]


def test_compressed_files(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(conllu([SENTENCE]).encode()))
    assert len(list(hs.read_coreference(path))) == 1


def test_progress(tmp_path):
    paths = [written(tmp_path, conllu([SENTENCE] * 300), name) for name in ("a.txt", "b.txt")]
    corpus = hs.read_coreference(*paths)
    assert corpus.progress == 0
    seen = []
    for _ in corpus:
        seen.append(corpus.progress)
    assert seen == [pytest.approx(0.5, abs=0.01), 1.0]


def test_one_document_at_a_time(tmp_path):
    """The first document comes before the file was read to its end."""
    corpus = hs.read_coreference(written(tmp_path, conllu(*[[SENTENCE] * 20] * 200)))
    next(iter(corpus))
    assert corpus.progress is not None
    assert corpus.progress < 0.2


def test_what_was_skipped_is_counted_anew_each_time(tmp_path):
    corpus = hs.read_coreference(written(tmp_path, conllu([SENTENCE, ["He/PRON/0/(e1-person-1-"]])))
    assert list(corpus) == list(corpus)
    assert corpus.skipped.count == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "holds no sentence"),
        ("# a comment\n\n", "holds no sentence"),
        (conllu([["Mary/PROPN", "ran/VERB"]]), "marks no mention; .* Entity= in MISC"),
        (litbank(["he"]), "marks no mention"),
        ("Running text, one sentence.\n", "format .* CoNLL-U"),
    ],
)
def test_files_with_nothing_in_them(tmp_path, text, reason):
    with pytest.raises(TextError, match=rf"made\.conllu.* {reason}"):
        list(hs.read_coreference(written(tmp_path, text)))


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(TextError, match="no such file"):
        hs.read_coreference(tmp_path / "none.conllu")
    with pytest.raises(TextError, match="no file"):
        hs.read_coreference()
