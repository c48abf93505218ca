"""CoNLL-2012 columns and LitBank: documents and parts, brackets, signs, spaces, and broken lines."""

from pathlib import Path
from typing import Any

import pytest
from tests.helpers.coreference import columns, litbank, written

import headscope as hs
from headscope.errors import TextError


def read(folder: Path, text: str) -> tuple[Any, list[Any]]:
    """The corpus, and its documents."""
    corpus = hs.read_coreference(written(folder, text, "made.conll"))
    return corpus, list(corpus)


def found(document: Any) -> list[tuple[str, str, str, str]]:
    rows = []
    for mention in document.mentions:
        forms = document.sentences[mention.sentence].forms
        text = " ".join(forms[word] for word in mention.words)
        rows.append((mention.entity, text, forms[mention.head], mention.kind))
    return rows


def test_conll_2012(tmp_path):
    text = columns(
        ["The/DT/(3|(12", "town/NN/12)", "'s/POS", "mayor/NN/3)", "smiled/VBD", "./."],
        ["He/PRP/(3)", "likes/VBZ", "Boston/NNP/(7)", "./."],
    )
    corpus, documents = read(tmp_path, text)
    assert len(documents) == 1
    assert documents[0].name == "bc/made/up_01"
    assert found(documents[0]) == [
        ("3", "The town 's mayor", "mayor", "common_noun"),
        ("12", "The town", "town", "common_noun"),
        ("3", "He", "He", "pronoun"),
        ("7", "Boston", "Boston", "proper_noun"),
    ]
    assert documents[0].sentences[0].heads is None
    assert corpus.skipped.count == 0


def test_columns_for_predicates_may_differ_from_sentence_to_sentence(tmp_path):
    lines = columns(["He/PRP/(3)"], ["It/PRP/(4)"]).split("\n")
    lines[1] = lines[1].replace("*   (3)", "*   (V*)   (ARG0*)   (3)")
    corpus, documents = read(tmp_path, "\n".join(lines))
    assert [row[0] for row in found(documents[0])] == ["3", "4"]
    assert corpus.skipped.count == 0


def test_litbank(tmp_path):
    text = litbank(
        ["Alice/(0)", "saw", "a/(1", "thin", ",", "old", "man/1)", "."],
        ["“", "Man/(2)", "is", "mortal", ",", "”", "said", "he/(1)", "to", "Alice/(0)", "."],
    )
    corpus, documents = read(tmp_path, text)
    assert found(documents[0]) == [
        ("0", "Alice", "Alice", "proper_noun"),  # it begins the sentence, but the next one shows it is a name
        ("1", "a thin , old man", "man", "common_noun"),
        ("2", "Man", "Man", "common_noun"),
        ("1", "he", "he", "pronoun"),
        ("0", "Alice", "Alice", "proper_noun"),
    ]
    assert documents[0].sentences[1].content.text == "“Man is mortal,” said he to Alice."
    assert documents[0].sentences[1].content.words[1] == "Man"
    assert corpus.skipped.count == 0


def test_heads_come_from_tags_where_there_are_any(tmp_path):
    _, documents = read(tmp_path, columns(["the/DT/(1", "dog/NN", "barking/VBG", "loudly/RB/1)"]))
    assert found(documents[0])[0][2] == "dog"
    _, documents = read(tmp_path, litbank(["the/(1", "dog", "in", "the", "garden/1)"]))
    assert found(documents[0])[0][2] == "dog"


def test_parts_of_a_document_share_its_number(tmp_path):
    one = columns(["He/PRP/(3)"], part="000") + columns(["It/PRP/(3)"], part="001")
    two = columns(["She/PRP/(1)"], name="bc/made/up_02")
    _, documents = read(tmp_path, one + two)
    assert [document.number for document in documents] == [0, 0, 1]


def test_a_document_without_its_frame(tmp_path):
    lines = columns(["He/PRP/(3)", "ran/VBD"]).split("\n")
    _, documents = read(tmp_path, "\n".join(lines[1:-2]))
    assert found(documents[0]) == [("3", "He", "He", "pronoun")]


def test_a_missing_blank_line_at_the_end(tmp_path):
    lines = columns(["He/PRP/(3)"]).split("\n")
    assert lines.pop(2) == ""
    _, documents = read(tmp_path, "\n".join(lines) + columns(["It/PRP/(3)"], name="other"))
    assert [document.name for document in documents] == ["bc/made/up_01", "other"]
    assert [len(document.sentences) for document in documents] == [1, 1]
    assert found(documents[0]) == [("3", "He", "He", "pronoun")]


@pytest.mark.parametrize(
    ("mark", "line", "reason"),
    [
        ("(9", 3, "opens a mention of entity '9'"),
        ("9)", 3, "closes a mention of entity '9'"),
        ("9", 3, "'9' in the last column"),
        ("(9))", 3, "'(9))' in the last column"),
    ],
)
def test_a_broken_bracket_costs_only_itself(tmp_path, mark, line, reason):
    corpus, documents = read(
        tmp_path, columns(["He/PRP/(3)", f"ran/VBD/{mark}", "it/PRP/(4)"], ["He/PRP/(3)"])
    )
    assert [row[0] for row in found(documents[0])] == ["3", "4", "3"]
    assert corpus.skipped.count == 1
    assert f"made.conll:{line}: {reason}" in corpus.skipped.places[0]


def test_wrong_columns_cost_the_sentence(tmp_path):
    lines = columns(["He/PRP/(3)", "ran/VBD"], ["It/PRP/(4)"]).split("\n")
    lines[2] = lines[2].replace("Speaker_1", "")
    corpus, documents = read(tmp_path, "\n".join(lines))
    assert [row[0] for row in found(documents[0])] == ["4"]
    assert "made.conll:3: expected 12 columns, found 11" in corpus.skipped.places[0]
    lines[2] = lines[2].replace("*   -   -", "*   -   -   (V*)   (V*)")
    corpus, _ = read(tmp_path, "\n".join(lines))
    assert "made.conll:3: expected 12 columns, found 13" in corpus.skipped.places[0]
    no_word = litbank(["/(1)"], ["he/(1)"])
    corpus, documents = read(tmp_path, no_word)
    assert [row[0] for row in found(documents[0])] == ["1"]
    assert "made.conll:2: column 4, the word, is empty" in corpus.skipped.places[0]


def test_lines_without_end_raise(tmp_path):
    with pytest.raises(TextError, match=r"made\.conll:10001: .* more than 10000 lines"):
        read(tmp_path, columns(["he/PRP/(1)"] * 10_001))


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["He", "did", "n't", ",", "I", "'m", "sure", "."], "He didn't, I'm sure."),
        (['"', "Yes", ",", '"', "he", "said", ":", '"', "No", '"'], '"Yes," he said: "No"'),
        (["a", "(", "b", ")", "$", "5", "%"], "a (b) $5%"),
        (["the", "boys", "'", "hats"], "the boys' hats"),
    ],
)
def test_spaces(tmp_path, words, text):
    _, documents = read(tmp_path, litbank([*words, "he/(1)"]))
    content = documents[0].sentences[0].content
    assert content.text == f"{text} he"
    assert content.words == [*words, "he"]


def test_signs_are_written_as_texts_write_them(tmp_path):
    rows = columns(["-LRB-/-LRB-", "he/PRP/(1)", "-RRB-/-RRB-", "``/``", "so/RB", "''/''", "@./."])
    _, documents = read(tmp_path, rows.replace("@", "/"))
    assert documents[0].sentences[0].content.text == '(he) "so".'
