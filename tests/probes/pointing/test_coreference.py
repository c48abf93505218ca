"""The coreference probe: windows and cases by hand, a slow reference, batches, halves, and bad input."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.helpers.coreference import conllu, written
from tests.helpers.tiny import tiny

from headscope.atlas import open_atlas
from headscope.errors import OptionError, TextError
from headscope.probes.pointing.cases import ALL, Case
from headscope.probes.pointing.coreference import (
    CoreferenceProbe,
    CoreferenceResult,
    Window,
    cases_of,
    windows,
)
from headscope.text.annotated.coreference import CoreferenceCorpus, read_coreference
from headscope.text.skipped import Skipped
from headscope.types import HeadId

# The cat saw the dogs . It sat and they sat .
FIRST = [
    "The/DET/2/(cat-x-2-",
    "cat/NOUN/3/cat)",
    "saw/VERB/0",
    "the/DET/5/(dog-x-2-",
    "dogs/NOUN/3/dog)",
    "./PUNCT/3",
]
SECOND = [
    "It/PRON/2/(cat-x-1-)",
    "sat/VERB/0",
    "and/CCONJ/5",
    "they/PRON/5/(dog-x-1-)",
    "sat/VERB/2",
    "./PUNCT/2",
]
# The red house saw it . The dogs saw the house and a mat .
THIRD = [
    "The/DET/3/(house-x-3-",
    "red/ADJ/3",
    "house/NOUN/4/house)",
    "saw/VERB/0",
    "it/PRON/4/(cat-x-1-)",
    "./PUNCT/4",
]
FOURTH = [
    "The/DET/2/(dog-x-2-",
    "dogs/NOUN/3/dog)",
    "saw/VERB/0",
    "the/DET/5/(house-x-2-",
    "house/NOUN/3/house)",
    "and/CCONJ/8",
    "a/DET/8/(mat-x-2-",
    "mat/NOUN/5/mat)",
    "./PUNCT/3",
]
DOCUMENT = [FIRST, SECOND, THIRD, FOURTH]


def corpus(folder: Path, *documents: Sequence[Sequence[str]]) -> CoreferenceCorpus:
    return read_coreference(written(folder, conllu(*documents)))


def windows_of(data: CoreferenceCorpus, words: int) -> list[Window]:
    return [window for document in data for window in windows(document, most_words=words)]


def test_windows_are_whole_sentences(tmp_path):
    data = corpus(tmp_path, DOCUMENT, [FIRST])
    assert [len(window.content) for window in windows_of(data, 128)] == [27, 6]
    assert [len(window.content) for window in windows_of(data, 12)] == [12, 6, 9, 6]
    assert [len(window.content) for window in windows_of(data, 11)] == [6, 6, 6, 9, 6]
    second = windows_of(data, 12)[1]
    assert second.content.text == "The red house saw it ."
    assert second.name == "text0-2"
    assert [window.document for window in windows_of(data, 12)] == [0, 0, 0, 1]


def test_a_sentence_longer_than_a_window_is_in_none(tmp_path):
    """And keeps its neighbours apart, so that windows are of sentences that follow each other."""
    data = corpus(tmp_path, [FIRST, THIRD, FOURTH, FIRST, SECOND], [FOURTH, FIRST])
    lengths = [len(sentence) for document in data for sentence in document.sentences]
    assert lengths == [6, 6, 9, 6, 6, 9, 6]
    too_long = Skipped("sentences")
    found = [one for document in data for one in windows(document, most_words=8, too_long=too_long)]
    assert [len(window.content) for window in found] == [6, 6, 6, 6, 6]
    found = [one for document in data for one in windows(document, most_words=12)]
    assert [len(window.content) for window in found] == [12, 9, 12, 9, 6]
    assert too_long.count == 2
    assert "9 words do not fit into a window of 8" in too_long.places[0]
    for window in windows_of(data, 8):
        heads = [window.content.words[mention.head] for mention in window.mentions]
        assert all(word in window.content.words for word in heads)
    result = CoreferenceProbe(tiny("bert"), window_words=12).fit_score(
        corpus(tmp_path, *[[FIRST, SECOND, [*FOURTH, *FOURTH[5:]]]] * 2)
    )
    assert any("2 sentences skipped" in note for note in result.source.notes)


def test_a_word_of_a_window_knows_its_line(tmp_path):
    data = corpus(tmp_path, DOCUMENT)
    (window,) = windows_of(data, 128)
    lines = written(tmp_path, conllu(DOCUMENT)).read_text().split("\n")
    for number, word in enumerate(window.content.words):
        line = int(window.where(number).rpartition(":")[2])
        assert lines[line - 1].split("\t")[1] == word


def test_entities_mentioned_once_in_the_document_are_left_out(tmp_path):
    (window,) = windows_of(corpus(tmp_path, DOCUMENT), 128)
    assert {mention.entity for mention in window.mentions} == {"cat", "dog", "house"}
    assert [window.content.words[mention.head] for mention in window.mentions] == (
        ["cat", "dogs", "It", "they", "house", "it", "dogs", "house"]
    )
    # By the document, not by the window: each of these windows has one mention of the house.
    assert [len(window.mentions) for window in windows_of(corpus(tmp_path, DOCUMENT), 12)] == [4, 2, 2]


def test_cases_by_hand(tmp_path):
    (window,) = windows_of(corpus(tmp_path, DOCUMENT), 128)
    # nearest, same head word, rules
    assert list(cases_of(window)) == [
        Case("pronoun", 6, (1,), (1, 4), (False, False, True)),
        Case("pronoun", 9, (4,), (1, 4, 6), (False, False, True)),
        Case("pronoun", 16, (1, 6), (1, 4, 6, 9, 14), (False, True, True)),
        Case("common_noun", 19, (4, 9), (1, 4, 6, 9, 14, 16), (False, True, True)),
        Case("common_noun", 22, (14,), (1, 4, 6, 9, 14, 16, 19), (False, True, True)),
    ]


def test_antecedents_are_looked_for_in_the_window(tmp_path):
    found = windows_of(corpus(tmp_path, DOCUMENT), 15)
    assert [[case.asking for case in cases_of(window)] for window in found] == [[6, 9], [10]]


def test_mentions_that_share_a_head_word(tmp_path):
    both = ["Tom/PROPN/0/(both-x-1-(tom-x-1-)", "and/CCONJ/3", "Ann/PROPN/1/(ann-x-1-)both)"]
    later = [
        "Ann/PROPN/2/(ann-x-1-)",
        "saw/VERB/0",
        "Tom/PROPN/2/(both-x-1-(tom-x-1-)",
        "and/CCONJ/5",
        "Ann/PROPN/3/both)",
    ]
    (window,) = windows_of(corpus(tmp_path, [both, later]), 128)
    cases = list(cases_of(window))
    # Ann asks, then Tom asks for himself and for the two; he is never his own candidate.
    assert [(case.asking, case.right, case.candidates) for case in cases] == [
        (3, (2,), (0, 2)),
        (5, (0,), (0, 2, 3)),
        (5, (0,), (0, 2, 3)),
    ]


def test_one_entity_asks_once_a_word(tmp_path):
    nested = [
        "Tom/PROPN/2/(tom-x-1-(tom-x-1-)",
        "there/ADV/1/tom)",
        "sat/VERB/0",
        "Tom/PROPN/3/(tom-x-1-(tom-x-1-)tom)",
    ]
    nested[0] = "Tom/PROPN/3/(tom-x-1-(tom-x-1-)"
    (window,) = windows_of(corpus(tmp_path, [nested]), 128)
    assert len(window.mentions) == 4
    assert [(case.asking, case.right) for case in cases_of(window)] == [(3, (0,))]


def slow(data: CoreferenceCorpus, words: int, head: HeadId, direction: int) -> dict[str, list[bool]]:
    """What one head gets right, in plain loops over the maps that the model itself returns."""
    model = tiny("bert")
    right: dict[str, list[bool]] = {}
    for window in windows_of(data, words):
        inputs = model.tokenizer(window.content.text, return_tensors="pt", return_offsets_mapping=True)
        offsets = inputs.pop("offset_mapping")[0].tolist()
        model.network.set_attn_implementation("eager")
        with torch.inference_mode():
            attention = model.network(**inputs, output_attentions=True).attentions[head.layer][0, head.head]
        pieces = [
            [token for token, (a, b) in enumerate(offsets) if start <= a < end and b > a]
            for start, end in window.content.spans
        ]

        def between(query: int, key: int, pieces=pieces, attention=attention) -> float:
            rows = [sum(float(attention[i, j]) for j in pieces[key]) for i in pieces[query]]
            return sum(rows) / len(rows)

        for case in cases_of(window):
            weights = {
                word: between(case.asking, word) if direction == 0 else between(word, case.asking)
                for word in case.candidates or ()
            }
            best = max(weights, key=lambda word: weights[word])
            right.setdefault(case.label, []).append(best in case.right)
    return right


@pytest.mark.parametrize(("name", "direction"), [("0.1", 0), ("1.3", 1), ("2.0", 0), ("2.2", 1)])
def test_against_plain_loops(tmp_path, name, direction):
    data = corpus(tmp_path, DOCUMENT, DOCUMENT[::-1], [*DOCUMENT[1:], FIRST])
    head = HeadId.parse(name)
    expected = slow(data, 40, head, direction)
    result = CoreferenceProbe(tiny("bert"), window_words=40).fit(data).score(data)
    arrays = result.arrays()["encoder"]
    labels = list(arrays["coreference_accuracy"].coords["mention_class"])
    assert sorted(labels) == sorted(expected)
    for row, label in enumerate(labels):
        accuracy = arrays["coreference_accuracy"].values[row, direction, head.layer, head.head]
        assert accuracy == pytest.approx(np.mean(expected[label]))
        assert arrays["coreference_count"].values[row] == len(expected[label])
    every = [one for rights in expected.values() for one in rights]
    assert arrays["coreference_overall"].values[direction, head.layer, head.head] == pytest.approx(
        np.mean(every)
    )


def same(one: CoreferenceResult, other: CoreferenceResult) -> None:
    for name, array in one.arrays()["encoder"].items():
        np.testing.assert_allclose(
            array.values, other.arrays()["encoder"][name].values, err_msg=name, atol=1e-9
        )
    assert one.source.data_hash == other.source.data_hash


def test_three_files_are_the_same_as_one(tmp_path):
    documents = [DOCUMENT, [["The/DET/2", "cat/NOUN/0"]], [*DOCUMENT, FIRST]]
    whole = read_coreference(written(tmp_path, conllu(*documents)))
    parts = read_coreference(
        *(written(tmp_path, conllu(one), f"{number}.conllu") for number, one in enumerate(documents))
    )
    first, second = (
        CoreferenceProbe(tiny("bert"), window_words=20).fit_score(data) for data in (whole, parts)
    )
    same(first, second)
    assert first.source.documents == second.source.documents == 3


def test_choosing_on_one_file_and_scoring_on_another(tmp_path):
    chosen_on = read_coreference(written(tmp_path, conllu(DOCUMENT[::-1]), "select.conllu"))
    data = corpus(tmp_path, DOCUMENT)
    probe = CoreferenceProbe(tiny("bert"), window_words=20)
    result = probe.fit(chosen_on).score(data)
    rows = {row["mention_class"]: row for row in result.table()}
    assert set(rows) == {ALL, "pronoun"}  # in windows of 20 words no noun has its antecedent
    assert rows[ALL]["cases"] == 3
    assert rows[ALL]["head"] == str(result.best().head)
    assert result.source.options["chosen_on"] == "select.conllu"
    assert result.source.options["window_words"] == 20


def test_halves_are_made_of_documents_or_of_windows(tmp_path):
    result = CoreferenceProbe(tiny("bert")).fit_score(corpus(tmp_path, DOCUMENT, DOCUMENT, DOCUMENT))
    assert result.chosen == "half of the documents of made.conllu"
    assert {row["mention_class"]: (row["cases"], row["chosen_cases"]) for row in result.table()} == {
        ALL: (10, 5),
        "pronoun": (6, 3),
        "common_noun": (4, 2),
    }
    alone = CoreferenceProbe(tiny("bert"), window_words=12).fit_score(corpus(tmp_path, [FIRST, SECOND] * 3))
    assert alone.chosen == "half of the windows of made.conllu"


def test_baselines_are_scored_where_the_head_is(tmp_path):
    scored, chosen_on = [FIRST, SECOND], [THIRD, FOURTH, FIRST]  # same head word: never; house and dogs
    row = CoreferenceProbe(tiny("bert")).fit_score(corpus(tmp_path, scored, chosen_on)).table()[0]
    assert (row["cases"], row["chosen_cases"]) == (2, 3)
    assert [row[rule] for rule in ("nearest", "head_match", "rules")] == [0, 0, 1]


def test_table_and_arrays(tmp_path):
    data = corpus(tmp_path, DOCUMENT, DOCUMENT)
    result = CoreferenceProbe(tiny("bert")).fit_score(data)
    row = result.table()[0]
    assert list(row) == [
        *("mention_class", "cases", "head", "direction", "accuracy", "low", "high"),
        *("chosen_accuracy", "chosen_cases", "interval_over", "interval_count"),
        *(f"{rule}{end}" for rule in ("nearest", "head_match", "rules") for end in ("", "_low", "_high")),
    ]
    # Of the five cases of the document: none, three and all.
    assert [row[rule] for rule in ("nearest", "head_match", "rules")] == pytest.approx([0, 0.6, 1])
    assert row["head_match_low"] < 0.6 < row["head_match_high"]
    arrays = result.arrays()["encoder"]
    accuracy = arrays["coreference_accuracy"]
    assert accuracy.dims == ("mention_class", "direction", "layer", "head")
    assert list(accuracy.coords["direction"]) == ["mention_to_antecedent", "antecedent_to_mention"]
    baseline = arrays["coreference_baseline"]
    assert baseline.dims == ("mention_class", "rule")
    assert list(baseline.coords["rule"]) == ["nearest", "head_match", "rules"]
    assert list(baseline.coords["mention_class"]) == ["pronoun", "common_noun"]
    np.testing.assert_allclose(baseline.values, [[0, 1 / 3, 1], [0, 1, 1]])
    assert arrays["coreference_count"].values.tolist() == [6, 4]


def test_into_an_atlas(tmp_path):
    result = CoreferenceProbe(tiny("bert")).fit_score(corpus(tmp_path, DOCUMENT, DOCUMENT))
    result.to_atlas().save(tmp_path / "a.nc")
    atlas = open_atlas(tmp_path / "a.nc")
    found = atlas["coreference_accuracy"]
    assert found.dims == ("mention_class", "direction", "layer", "head")
    np.testing.assert_array_equal(found, result.arrays()["encoder"]["coreference_accuracy"].values)
    assert [row["rules"] for row in atlas.table("coreference")] == [row["rules"] for row in result.table()]
    assert {example.label for example in atlas.examples("coreference")} <= {"pronoun", "common_noun"}


def test_the_head_at_work(tmp_path):
    data = corpus(tmp_path, DOCUMENT, DOCUMENT[:2])
    probe = CoreferenceProbe(tiny("bert"))
    found = probe.examples(data, "common_noun", head="1.2", direction="mention_to_antecedent")
    for example in [*found.right, *found.wrong]:
        assert example.probe == "coreference"
        assert example.words[example.asking] in ("dogs", "house")
        assert example.guess < example.asking
    with pytest.raises(OptionError, match="there is no mention_class 'noun'; there are common_noun, pronoun"):
        probe.examples(data, "noun")


def test_a_decoder_sees_no_later_words(tmp_path):
    short = [FIRST[:5], ["It/PRON/2/(cat-x-1-)", "sat/VERB/0", "on/ADP/4", "them/PRON/2/(dog-x-1-)"]]
    data = corpus(tmp_path, short, short)
    result = CoreferenceProbe(tiny("gpt2")).fit_score(data)
    overall = result.arrays()["decoder"]["coreference_overall"].values  # (direction, layer, head)
    assert overall[0].max() > 0
    assert overall[1].max() == 0


def test_windows_that_are_too_long_for_the_model_are_cut(tmp_path):
    data = corpus(tmp_path, DOCUMENT * 4, DOCUMENT)
    result = CoreferenceProbe(tiny("bert")).fit(data).score(data)
    assert result.source.texts_cut == 1
    assert any("1 of 2 windows were longer than 64 tokens" in note for note in result.source.notes)
    (long, _) = windows_of(data, 128)
    assert 5 < result.table()[0]["cases"] < len(list(cases_of(long))) + 5


def test_what_was_skipped_is_noted(tmp_path):
    broken = [*FIRST[:2], "saw/VERB/0/lost)", *FIRST[3:]]
    data = corpus(tmp_path, [broken, SECOND], [FIRST, SECOND])
    result = CoreferenceProbe(tiny("bert")).fit_score(data)
    assert result.source.skipped == 1
    assert any("1 record skipped" in note and "made.conllu:6: closes" in note for note in result.source.notes)
    assert result.table()[0]["cases"] == 2


def test_nothing_to_score(tmp_path):
    data = corpus(tmp_path, [FIRST], [FIRST])
    with pytest.raises(TextError, match="no mention has an antecedent in its window of 128 words"):
        CoreferenceProbe(tiny("bert")).fit_score(data)


def test_a_window_needs_words():
    with pytest.raises(OptionError, match="window_words is 0"):
        CoreferenceProbe(tiny("bert"), window_words=0)
