"""Entity= in CoNLL-U: CorefUD's and GUM's brackets, empty nodes, multiword tokens, and broken ones."""

from pathlib import Path
from typing import Any

import pytest
from tests.helpers.coreference import conllu, conllu_rows, written

import headscope as hs
from headscope.errors import TextError

Found = list[tuple[str, str, str, str]]


def read(folder: Path, text: str) -> tuple[Any, list[Any]]:
    """The corpus, and its documents."""
    corpus = hs.read_coreference(written(folder, text))
    return corpus, list(corpus)


def found(document: Any) -> Found:
    """Entity, words, head word and class of every mention."""
    rows = []
    for mention in document.mentions:
        forms = document.sentences[mention.sentence].forms
        text = " ".join(forms[word] for word in mention.words)
        rows.append((mention.entity, text, forms[mention.head], mention.kind))
    return rows


MARY = ["Mary/PROPN/2/(e1-person-1-)", "saw/VERB/0", "the/DET/4/(e2-animal-2-", "dog/NOUN/2/e2)"]
HER = ["Her/PRON/2/(e2-animal-2-(e1-person-1-)", "dog/NOUN/3/e2)", "slept/VERB/0"]


def test_mentions_of_two_sentences(tmp_path):
    corpus, documents = read(tmp_path, conllu([MARY, HER]))
    assert len(documents) == 1
    assert found(documents[0]) == [
        ("e1", "Mary", "Mary", "proper_noun"),
        ("e2", "the dog", "dog", "common_noun"),
        ("e2", "Her dog", "dog", "common_noun"),
        ("e1", "Her", "Her", "pronoun"),
    ]
    assert documents[0].name == "text0"
    assert documents[0].sentences[1].name == "text0-1"
    assert documents[0].sentences[1].content.text == "Her dog slept"
    assert corpus.skipped.count == 0


def test_several_brackets_on_one_word_as_gum_writes_them(tmp_path):
    fields = "# global.Entity = GRP-etype-infstat-salience-centering-minspan-link-identity"
    sentence = [
        "old/ADJ/2/(6-abstract-new-nnnnn-cf3-2,4-sgl(7-abstract-new-nnnss-cf6-2-coref(3-x-giv:act-s-cf1-1-coref-A_B)",
        "rules/NOUN/0/7)6)",
    ]
    _, documents = read(tmp_path, conllu([sentence], fields=fields))
    assert {row[:2] for row in found(documents[0])} == {("6", "old rules"), ("7", "old rules"), ("3", "old")}


def test_the_entity_need_not_be_the_first_field(tmp_path):
    fields = "# global.Entity = entity-GRP-infstat"
    sentence = ["The/DET/2/(animal-4-new", "dog/NOUN/3/animal-4)", "ran/VERB/0", "it/PRON/3/(animal-4-giv)"]
    other = ["A/DET/2/(animal-5-new", "cat/NOUN/0/5)"]  # a closing bracket that names the entity alone
    corpus, documents = read(tmp_path, conllu([sentence, other], fields=fields))
    assert [row[:2] for row in found(documents[0])] == [("4", "The dog"), ("4", "it"), ("5", "A cat")]
    assert corpus.skipped.count == 0


def test_a_discontinuous_mention_is_joined(tmp_path):
    sentence = [
        "old/ADJ/5/(e1[1/2]-x-1-)",
        "and/CCONJ/3",
        "new/ADJ/1/(e2-x-1-",
        "big/ADJ/5",
        "men/NOUN/0/e2)(e1[2/2]-x-1-)",
    ]
    sentence = [word.replace("[1/2]", "[1@2]").replace("[2/2]", "[2@2]") for word in sentence]
    text = conllu([sentence]).replace("@", "/")
    corpus, documents = read(tmp_path, text)
    assert found(documents[0]) == [
        ("e1", "old men", "men", "common_noun"),
        ("e2", "new big men", "new", "common_noun"),
    ]
    assert corpus.skipped.count == 0


def test_the_head_is_the_first_word_that_hangs_outside(tmp_path):
    # lake of (Mary and John): both conjuncts are marked, Mary hangs on "lake" outside.
    sentence = ["lake/NOUN/0", "of/ADP/3", "Mary/PROPN/1/(e1-x-1-", "and/CCONJ/5", "John/PROPN/3/e1)"]
    _, documents = read(tmp_path, conllu([sentence]))
    assert found(documents[0]) == [("e1", "Mary and John", "Mary", "proper_noun")]


def test_empty_nodes_are_no_words(tmp_path):
    rows = conllu_rows(["went/VERB/0", "home/NOUN/1/e2)", "he/PRON/1/(e1-x-1-)"])
    empty = "\t".join(["1.1", "he", *["_"] * 7, "Entity=(e1-x-1-)(e2-x-1-"])
    rows.insert(1, empty)
    corpus, documents = read(tmp_path, "\n".join([*rows, ""]) + "\n")
    # e2 opens on the empty node and goes on to a word; the mention that is nothing but an empty node is told.
    assert [row[:2] for row in found(documents[0])] == [("e2", "home"), ("e1", "he")]
    assert corpus.skipped.count == 1
    assert corpus.skipped.places[0].endswith("made.conllu:2: a mention of entity 'e1' that holds no word")


def test_brackets_on_a_multiword_token_are_told(tmp_path):
    rows = conllu_rows(["do/AUX/0", "n't/PART/1", "he/PRON/1/(e1-x-1-)"])
    rows.insert(0, "\t".join(["1-2", "don't", *["_"] * 7, "Entity=(e2-x-1-)"]))
    corpus, documents = read(tmp_path, "\n".join([*rows, ""]) + "\n")
    assert documents[0].sentences[0].content.text == "don't he"
    assert [row[:2] for row in found(documents[0])] == [("e1", "he")]
    assert corpus.skipped.count == 1
    assert "made.conllu:1: Entity= on a multiword token" in corpus.skipped.places[0]


def test_a_broken_sentence_costs_only_itself(tmp_path):
    wrong_columns = conllu([MARY, HER]).replace("slept\tslept\tVERB", "slept\tVERB")
    corpus, documents = read(tmp_path, wrong_columns)
    assert [row[0] for row in found(documents[0])] == ["e1", "e2"]
    assert "made.conllu:12: expected 10 tab-separated columns" in corpus.skipped.places[0]
    circle = conllu([MARY, ["He/PRON/2/(e1-x-1-)", "saw/VERB/1"]])
    corpus, documents = read(tmp_path, circle)
    assert len(documents[0].mentions) == 2
    assert "go round in a circle" in corpus.skipped.places[0]


def test_documents_begin_at_newdoc_and_their_brackets_end_there(tmp_path):
    open_end = ["Mary/PROPN/2/(e1-person-1-", "saw/VERB/0"]
    other_end = [
        "She/PRON/2/e1)",
        "ran/VERB/0",
    ]  # closes nothing: what is open belongs to the document before
    corpus, documents = read(tmp_path, conllu([open_end], [HER, MARY, other_end]))
    assert [(document.number, document.name) for document in documents] == [(0, "text0"), (1, "text1")]
    assert [len(document.mentions) for document in documents] == [0, 4]
    assert corpus.skipped.count == 2


def test_nothing_but_broken_mentions_raises(tmp_path):
    with pytest.raises(TextError, match=r"1 were skipped, .*:4: opens"):
        read(tmp_path, conllu([["Mary/PROPN/0/(e1-person-1-", "saw/VERB/1"]]))
