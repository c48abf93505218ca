"""Choosing on one half and scoring on the other."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.helpers.treebanks import as_file, block, random_sentences

from headscope.probes import halves
from headscope.probes.halves import SCORE, SELECT, Turns
from headscope.text.annotated.treebank import ParsedSentence, read_treebank

GOOD = block(("the", 2, "det"), ("cat", 0, "root"))
CIRCLE = block(("the", 2, "det"), ("cat", 1, "obj"))


Sentences = Turns[ParsedSentence]


def turns(sentences: Iterable[ParsedSentence]) -> Sentences:
    return Turns(sentences, kind="sentence")


def dealt(split: Sentences) -> list[tuple[int, int]]:
    return [(sentence.document, half) for sentence, half, _ in split]


def halves_of(sentences: Iterable[ParsedSentence]) -> list[int]:
    return [half for _, half, _ in turns(sentences)]


@pytest.fixture
def sentences(tmp_path: Path) -> list[ParsedSentence]:
    """Ten sentences in four documents: 3, 2, 3, 2."""
    (tmp_path / "a.conllu").write_text(as_file(random_sentences(10, seed=0, documents=4)), encoding="utf-8")
    return list(read_treebank(tmp_path / "a.conllu"))


def test_every_other_document(sentences: list[ParsedSentence]) -> None:
    split = turns(sentences)
    assert [(sentence, number) for sentence, _, number in split] == [
        (sentence, number) for number, sentence in enumerate(sentences)
    ]
    assert split.unit == "document"
    by_document = dict(dealt(split))
    assert by_document == {0: SCORE, 1: SELECT, 2: SCORE, 3: SELECT}
    assert set(dealt(split)) == set(by_document.items())  # no document is on both sides


def test_every_other_sentence_of_one_document(sentences: list[ParsedSentence]) -> None:
    split = turns(sentences[:3])
    assert [half for _, half, _ in split] == [SCORE, SELECT, SCORE]
    assert split.unit == "sentence"


def test_two_documents_of_one_sentence(sentences: list[ParsedSentence]) -> None:
    split = turns(sentences[2:4])
    assert [half for _, half, _ in split] == [SCORE, SELECT]
    assert split.unit == "document"


def test_nothing_to_deal_out() -> None:
    assert list(turns([])) == []


def test_documents_that_were_skipped_take_no_turn(tmp_path: Path) -> None:
    """The second document is broken: the third must be chosen on, or nothing would be."""
    path = tmp_path / "a.conllu"
    path.write_text("# newdoc\n" + GOOD + "# newdoc\n" + CIRCLE + ("# newdoc\n" + GOOD) * 2, encoding="utf-8")
    assert halves_of(read_treebank(path)) == [SCORE, SELECT, SCORE]


def test_sentences_can_be_dealt_out_again(sentences: list[ParsedSentence]) -> None:
    split = turns(sentences)
    assert list(split) == list(split)


def test_only_so_many_sentences_are_looked_at_for_a_second_document(
    sentences: list[ParsedSentence], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = 0

    def stream() -> object:
        nonlocal read
        for sentence in sentences:
            read += 1
            yield sentence

    monkeypatch.setattr(halves, "LOOK_AHEAD", 3)
    split = turns(stream())  # type: ignore[arg-type]
    first = next(iter(split))
    assert (read, split.unit, first[1]) == (3, "sentence", SCORE)
    assert halves_of(sentences) == [SCORE, SELECT] * 5
    monkeypatch.setattr(halves, "LOOK_AHEAD", 4)
    assert dict(dealt(turns(sentences))) == {0: SCORE, 1: SELECT, 2: SCORE, 3: SELECT}


def test_a_document_is_not_read_to_its_end_first(sentences: list[ParsedSentence]) -> None:
    stream = iter(sentences)
    next(iter(turns(stream)))
    assert len(list(stream)) == 6  # three of the first document and one of the second were read
