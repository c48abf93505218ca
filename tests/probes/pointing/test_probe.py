"""The probe over heads that point, as a user meets it: what it tells, what it refuses, heads at work."""

from pathlib import Path

import numpy as np
import pytest
from tests.helpers.tiny import tiny
from tests.helpers.treebanks import (
    Plain,
    SlowCase,
    as_file,
    block,
    line,
    of_label,
    random_sentences,
    right,
    slow_cases,
    treebank,
)

from headscope.atlas import Example
from headscope.errors import OptionError, TextError
from headscope.probes.pointing.cases import ALL
from headscope.probes.pointing.dependency import DependencyProbe
from headscope.text.annotated.treebank import Treebank, read_treebank
from headscope.types import HeadId

DIRECTIONS = ("dependent_to_head", "head_to_dependent")
DOCUMENTS = random_sentences(24, seed=7, documents=5)
SELECTION = random_sentences(14, seed=8, documents=2)
GOOD = block(("the", 2, "det"), ("cats", 3, "nsubj"), ("sat", 0, "root"))
OTHER = block(("a", 2, "det"), ("dog", 3, "nsubj"), ("saw", 0, "root"), ("it", 3, "obj"))


@pytest.fixture
def whole(tmp_path: Path) -> Treebank:
    return treebank(tmp_path, as_file(DOCUMENTS))


@pytest.fixture
def other(tmp_path: Path) -> Treebank:
    return treebank(tmp_path, as_file(SELECTION), "select.conllu")


# What a user is told


def test_where_the_numbers_come_from(whole: Treebank) -> None:
    source = DependencyProbe(tiny("bert"), max_length=40).fit_score(whole).source
    assert (source.data, source.texts, source.documents, source.texts_cut) == ("a.conllu", 24, 5, 0)
    assert (source.skipped, source.annotator) == (0, None)
    assert source.tokens == sum(
        2 + sum(2 if form.endswith("s") and form not in ("was",) else 1 for form in one.forms)
        for one in DOCUMENTS
    )
    assert source.options == {
        "chosen_on": "half of the documents of a.conllu",
        "chosen_on_hash": f"sha256:{source.data_hash}",
        "max_length": 40,
        "faithful": False,
        "base_relations": False,
    }
    assert source.notes[0] == (
        "best heads and offsets were chosen on half of the documents of a.conllu and scored on the other half; "
        "give a second file (--select) to choose on"
    )
    assert len(source.data_hash) == 64


def test_choosing_on_a_copy_of_what_is_scored_is_told(tmp_path: Path) -> None:
    copy = tmp_path / "copy.conllu"
    copy.write_text(GOOD + OTHER, encoding="utf-8")
    scored = treebank(tmp_path, GOOD + OTHER)
    flattered = DependencyProbe(tiny("bert")).fit(read_treebank(copy)).score(scored).source
    assert "chosen on the same texts they are scored on" in flattered.notes[0]
    copy.write_text(OTHER + GOOD, encoding="utf-8")
    honest = DependencyProbe(tiny("bert")).fit(read_treebank(copy)).score(scored).source
    assert not any("very texts" in note for note in honest.notes)
    assert honest.options["chosen_on_hash"] != f"sha256:{honest.data_hash}"


def test_the_digest_is_of_words_and_trees(tmp_path: Path) -> None:
    def digest(text: str) -> str:
        return DependencyProbe(tiny("bert")).fit_score(treebank(tmp_path, text)).source.data_hash

    assert digest(GOOD + OTHER) == digest("# comment\n" + GOOD + "\n" + OTHER)
    assert len({digest(GOOD + OTHER), digest(OTHER + GOOD), digest(GOOD.replace("det", "amod") + OTHER)}) == 3
    assert digest(GOOD + OTHER) != digest(GOOD.replace("cats", "cat") + OTHER)


def test_one_document_is_split_by_sentences_and_says_so(tmp_path: Path) -> None:
    result = DependencyProbe(tiny("bert")).fit_score(treebank(tmp_path, GOOD + OTHER + GOOD))
    assert result.source.options["chosen_on"] == "half of the sentences of a.conllu"
    rows = {row["relation"]: row for row in result.table()}
    assert {name: (row["cases"], row["chosen_cases"]) for name, row in rows.items()} == {
        ALL: (4, 3),
        "det": (2, 1),
        "nsubj": (2, 1),
        "obj": (0, 1),
    }


def test_relations_seen_once_or_on_one_side_only(tmp_path: Path) -> None:
    text = GOOD + OTHER + GOOD.replace("det", "amod")
    result = DependencyProbe(tiny("bert")).fit_score(treebank(tmp_path, text))
    rows = {row["relation"]: row for row in result.table()}
    assert (rows["obj"]["accuracy"], rows["obj"]["cases"], rows["obj"]["chosen_cases"]) == (None, 0, 1)
    assert rows["obj"]["head"] is not None
    assert (rows["amod"]["head"], rows["amod"]["cases"], rows["amod"]["chosen_cases"]) == (None, 1, 0)
    assert rows["amod"]["offset"] is rows["amod"]["offset_accuracy"] is None
    (note,) = [note for note in result.source.notes if "fewer than 30" in note]
    assert note.startswith("fewer than 30 cases, too few to say much: amod (1, ")
    assert "a.conllu:10), det (2, " in note
    assert "obj (1, " in note
    errors = result.arrays()["encoder"]["dependency_accuracy_stderr"]
    assert np.isnan(errors.values[errors.coords["relation"].index("obj")]).all()


def test_relations_with_thirty_cases_are_not_rare(tmp_path: Path) -> None:
    result = DependencyProbe(tiny("bert")).fit_score(treebank(tmp_path, GOOD * 30))
    assert not any("fewer than" in note for note in result.source.notes)
    result = DependencyProbe(tiny("bert")).fit_score(treebank(tmp_path, GOOD * 29))
    assert any("det (29, " in note for note in result.source.notes)


def test_rare_in_what_was_scored_is_rare(tmp_path: Path) -> None:
    many, few = treebank(tmp_path, GOOD * 30, "many.conllu"), treebank(tmp_path, GOOD, "few.conllu")
    result = DependencyProbe(tiny("bert")).fit(many).score(few)
    assert any("det (1, " in note and "few.conllu:1)" in note for note in result.source.notes)


@pytest.mark.parametrize("chosen_on", [False, True])
def test_what_was_skipped_is_told_of_both_files(tmp_path: Path, chosen_on: bool) -> None:
    broken = GOOD + block(("the", 1, "det")) + block(("cat", 2, "x"), ("\u200b", 0, "root")) + GOOD
    long = block(("cat", 0, "root"), *[("the", 1, "det")] * 80)
    bad = treebank(tmp_path, broken + long, "bad.conllu")
    good = treebank(tmp_path, GOOD, "good.conllu")
    probe = DependencyProbe(tiny("bert"))
    result = probe.fit(bad).score(good) if chosen_on else probe.fit(good).score(bad)
    before = "in bad.conllu: " if chosen_on else ""
    notes = [note for note in result.source.notes if "fewer" not in note]
    assert [note.replace(str(tmp_path), "") for note in notes] == [
        f"{before}1 sentence skipped: /bad.conllu:5: its heads go round in a circle and never reach a root",
        f"{before}1 case skipped: /bad.conllu:8: the tokenizer has no token for the word '\\u200b' alone",
        f"{before}1 of 4 sentences were longer than 64 tokens and were cut after a whole word",
    ]
    assert result.source.skipped == (0 if chosen_on else 1)


def test_words_that_share_a_piece_are_told(tmp_path: Path) -> None:
    """ca + t are one piece: the first word has it, the second one nothing."""
    rows = line("1-2", "cat", "_", "_") + line(1, "ca", 0, "root") + line(2, "t", 1, "advmod") + "\n"
    result = DependencyProbe(tiny("bert")).fit_score(treebank(tmp_path, GOOD + rows + GOOD))
    (note,) = [note for note in result.source.notes if " skipped: " in note]
    assert note.startswith("1 case skipped: ")
    assert note.endswith("a.conllu:7: the tokenizer has no token for the word 't' alone")


def test_cut_sentences_still_count_what_is_left(tmp_path: Path) -> None:
    long = block(
        ("the", 2, "det"), ("cat", 0, "root"), ("it", 2, "obj"), ("red", 5, "amod"), ("cats", 2, "obl")
    )
    result = DependencyProbe(tiny("bert"), max_length=6).fit_score(treebank(tmp_path, long * 2))
    counts = result.arrays()["encoder"]["dependency_count"]
    assert dict(zip(counts.coords["relation"], counts.values.tolist(), strict=True)) == {"det": 2, "obj": 2}
    assert result.source.texts_cut == 2
    assert not any(" skipped: " in note for note in result.source.notes)


# What it refuses


def test_nothing_is_scored_before_something_is_chosen(whole: Treebank) -> None:
    with pytest.raises(OptionError, match=r"call fit\(data\) first, or fit_score\(data\)"):
        DependencyProbe(tiny("bert")).score(whole)


def test_a_file_without_cases(tmp_path: Path, whole: Treebank) -> None:
    roots = treebank(tmp_path, block(("cat", 0, "root")) * 4, "roots.conllu")
    probe = DependencyProbe(tiny("bert"))
    with pytest.raises(TextError, match=r"roots\.conllu has no case to score: give a file"):
        probe.fit_score(roots)
    with pytest.raises(TextError, match=r"roots\.conllu has no case to score"):
        probe.fit(whole).score(roots)
    with pytest.raises(TextError, match=r"roots\.conllu has no case to choose on"):
        probe.fit(roots)


def test_a_fit_that_failed_is_none(tmp_path: Path, whole: Treebank) -> None:
    broken = treebank(tmp_path, block(("cat", 1, "root")), "broken.conllu")
    probe = DependencyProbe(tiny("bert"))
    with pytest.raises(TextError, match="none of its sentences can be used"):
        probe.fit(broken)
    with pytest.raises(OptionError, match="nothing is chosen yet"):
        probe.score(whole)


def test_a_stack_that_is_not_there(whole: Treebank) -> None:
    result = DependencyProbe(tiny("t5")).fit_score(whole)
    with pytest.raises(OptionError, match="not probed in a stack 'cross'; choose from encoder, decoder"):
        result.table(stack="cross")
    assert result.table() == result.table(stack="encoder") != result.table(stack="decoder")


def test_a_model_by_its_folder(tiny_folder: Path, whole: Treebank) -> None:
    assert DependencyProbe(tiny_folder).fit_score(whole).table() == (
        DependencyProbe(tiny("bert")).fit_score(whole).table()
    )


# Heads at work


def surest(
    cases: list[SlowCase], label: str, cell: tuple[int, int, int], *, right: bool
) -> list[tuple[int, int]]:
    """(text, word) of every text's surest case of this kind, the surest first."""
    ranked = sorted(
        (-case.confidence[cell], case.text, case.word)
        for case in of_label(cases, label)
        if case.right[cell] == right and case.confidence[cell] > 0
    )
    texts = [text for _, text, _ in ranked]
    return [(text, word) for place, (_, text, word) in enumerate(ranked) if text not in texts[:place]]


def places(examples: list[Example]) -> list[tuple[str, int]]:
    return [(example.name, example.asking) for example in examples]


@pytest.mark.parametrize(("stack", "head", "way"), [("encoder", "1.2", 0), ("decoder", "0.3", 1)])
def test_the_surest_cases_of_a_head(whole: Treebank, stack: str, head: str, way: int) -> None:
    found = DependencyProbe(tiny("t5")).examples(
        whole,
        "det",
        head=head,
        direction=DIRECTIONS[way],
        stack=stack,
        most=3,  # type: ignore[arg-type]
    )
    sentences = list(whole)
    layer, number = map(int, head.split("."))
    cases = slow_cases("t5", DOCUMENTS)[stack]
    for examples, is_right in ((found.right, True), (found.wrong, False)):
        expected = surest(cases, "det", (way, layer, number), right=is_right)[:3]
        assert places(examples) == [(sentences[text].where(), word) for text, word in expected]
        assert all(one.is_right == is_right and one.head == HeadId(layer, number) for one in examples)


def test_examples_are_named_by_their_id_in_the_file(tmp_path: Path) -> None:
    data = treebank(tmp_path, "# sent_id = s-1\n" + GOOD + OTHER)
    found = DependencyProbe(tiny("bert")).examples(data, head="0.0", direction=DIRECTIONS[0])
    names = {one.name for one in (*found.right, *found.wrong)}
    assert {name.rpartition("/")[2] for name in names} == {"s-1", "a.conllu:6"}


def test_the_best_head_is_looked_for_where_none_is_named(whole: Treebank, other: Treebank) -> None:
    probe = DependencyProbe(tiny("bert")).fit(other)
    best = slow_cases("bert", SELECTION)["encoder"]
    shares = right(of_label(best, "det")).mean(0)
    way, layer, head = np.unravel_index(shares.argmax(), shares.shape)
    found = probe.examples(whole, "det").right[0]
    assert (found.head, found.direction) == (HeadId(int(layer), int(head)), DIRECTIONS[way])
    # Of one direction, and of one head, only the other is looked for.
    layer, head = np.unravel_index(shares[1 - way].argmax(), shares.shape[1:])
    found = probe.examples(whole, "det", direction=DIRECTIONS[1 - way]).right[0]
    assert (found.head, found.direction) == (HeadId(int(layer), int(head)), DIRECTIONS[1 - way])
    found = probe.examples(whole, "det", head=HeadId(2, 1)).wrong[0]
    assert (found.head, found.direction) == (HeadId(2, 1), DIRECTIONS[int(shares[:, 2, 1].argmax())])


def test_without_a_fit_the_best_head_is_that_of_the_same_data(whole: Treebank) -> None:
    shares = right(slow_cases("bert", DOCUMENTS)["encoder"]).mean(0)
    _, layer, head = np.unravel_index(shares.argmax(), shares.shape)
    assert DependencyProbe(tiny("bert")).examples(whole).right[0].head == HeadId(int(layer), int(head))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"label": "none"}, "there is no relation 'none'; there are advmod, det, "),
        ({"direction": "up"}, "'up' is no direction; choose from dependent_to_head, head_to_dependent"),
        ({"head": "x"}, "'x' is not a head"),
        ({"head": "3.0"}, "there is no head 3.0: the encoder of tiny-bert has 3 layers of 4 heads"),
        ({"head": "0.4", "direction": DIRECTIONS[0]}, "there is no head 0.4"),
        ({"stack": "decoder"}, "tiny-bert has no stack 'decoder' to probe; choose from encoder"),
        ({"most": 0}, "most must be at least 1, not 0"),
    ],
)
def test_bad_questions(whole: Treebank, options: dict[str, str], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        DependencyProbe(tiny("bert")).examples(whole, **options)  # type: ignore[arg-type]


def test_a_label_without_cases_in_this_file(whole: Treebank) -> None:
    with pytest.raises(TextError, match="has no case of 'none'"):
        DependencyProbe(tiny("bert")).examples(whole, "none", head="0.0", direction=DIRECTIONS[0])


def with_short_ones() -> list[Plain]:
    """Sentences too short to be shown for choice, with a relation that only they have, and others'."""
    sentences = random_sentences(40, seed=2, documents=5, longest=7)
    for one in sentences:
        asking = [word for word, head in enumerate(one.heads) if head >= 0]
        if len(one.forms) < 5 and asking:
            one.relations[asking[0]] = "short"
    return sentences


@pytest.mark.parametrize("given", [DOCUMENTS, with_short_ones()], ids=["all kinds", "many short"])
def test_the_example_of_every_relation_is_its_best_heads_surest(given: list[Plain], tmp_path: Path) -> None:
    """Found again in a second pass; no sentence here is too long to read, and those of five words come first."""
    data = treebank(tmp_path, as_file(given))
    result = DependencyProbe(tiny("bert")).fit_score(data)
    sentences = list(data)
    cases = [case for case in slow_cases("bert", given)["encoder"] if given[case.text].document % 2 == 0]
    shown = {example.label: example for example in result.examples["encoder"]}
    assert len(shown) == len(result.examples["encoder"])
    for label in result.labels("encoder"):
        choice = result.best(label)
        assert choice is not None
        cell = (choice.direction, choice.head.layer, choice.head.head)
        ranked = surest(cases, label, cell, right=True)
        ranked.sort(key=lambda place: len(sentences[place[0]]) < 5)  # stable: the surest readable one first
        if not ranked:
            assert label not in shown
            continue
        text, word = ranked[0]
        one = shown[label]
        assert (one.name, one.asking) == (sentences[text].where(), word)
        assert (one.head, one.direction) == (choice.head, DIRECTIONS[choice.direction])
        assert one.is_right


def test_predictions_are_the_guesses_of_the_best_head(whole: Treebank) -> None:
    cases = slow_cases("bert", DOCUMENTS)["encoder"]
    found = DependencyProbe(tiny("bert"), batch_size=3).predict(whole, head="2.1", direction=DIRECTIONS[1])
    expected: list[dict[int, int]] = [{} for _ in DOCUMENTS]
    for case in cases:
        expected[case.text][case.word] = int(case.guess[1, 2, 1])
    assert found == expected
