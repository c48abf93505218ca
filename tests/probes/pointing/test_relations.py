"""The relations probe against slow loops over the model's own maps, in halves, and in an atlas."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student_t
from tests.helpers.relations import Array, cluster_error, eager_words, made_up, slow
from tests.helpers.tiny import plain, tiny
from tests.helpers.treebanks import leave_one_out

import headscope as hs
from headscope.errors import OptionError, TextError
from headscope.probes.halves import SCORE, SELECT
from headscope.probes.pointing.relations import Filters, RelationsProbe, Sifted, distance
from headscope.text.annotated.roles import Argument, Predicate, read_roles
from headscope.text.words import WordText


@pytest.mark.parametrize("architecture", ["bert", "gpt2"])
def test_against_a_slow_loop(tmp_path: Path, architecture: str) -> None:
    path = made_up(tmp_path, rows=24, longest=10 if architecture == "gpt2" else 14)
    probe = RelationsProbe(plain(architecture), core_only=False, batch_size=5)
    result = probe.fit_score(read_roles(path))
    (arrays,) = result.arrays().values()
    roles = list(arrays["relation_count"].coords["role"])
    assert set(roles) == {"ARG0", "ARG1", "ARGM-TMP"}
    assert arrays["relation_attention"].dims == ("role", "direction", "layer", "head")
    assert arrays["relation_attention"].coords["direction"] == (
        "predicate_to_argument",
        "argument_to_predicate",
    )
    uncompared = 0
    for place, label in enumerate(roles):
        expected = slow(path, architecture, label)
        assert arrays["relation_count"].values[place] == len(expected.attention)
        assert arrays["relation_compared"].values[place] == len(expected.difference)
        uncompared += len(expected.attention) - len(expected.difference)
        check(arrays, "relation_attention", place, expected.attention, expected.sentences)
        check(arrays, "relation_control", place, expected.control, expected.compared)
        check(arrays, "relation_difference", place, expected.difference, expected.compared)
    assert uncompared  # the made-up file has pairs that fill their sentence
    expected = slow(path, architecture, "all")
    check(arrays, "relation_overall_difference", (), expected.difference, expected.compared)
    check(arrays, "relation_overall_attention", (), expected.attention, expected.sentences)
    check(arrays, "relation_overall_control", (), expected.control, expected.compared)


def test_errors_are_over_documents_where_ten_have_pairs(tmp_path: Path) -> None:
    path = made_up(tmp_path, rows=60)  # in documents of four sentences
    result = RelationsProbe(tiny("bert"), core_only=False, batch_size=9).fit_score(read_roles(path))
    (arrays,) = result.arrays().values()
    for place, label in enumerate(arrays["relation_documents"].coords["role"]):
        expected = slow(path, "bert", str(label))
        documents = np.array([int(name[1:].split("-")[0]) for name in expected.compared])
        assert arrays["relation_documents"].values[place] == len(set(documents)) >= 10
        errors = leave_one_out(np.array(expected.difference), documents)
        np.testing.assert_allclose(arrays["relation_difference_stderr"].values[place], errors, atol=2e-6)


def test_faithful_asks_the_first_piece(tmp_path: Path) -> None:
    path = made_up(tmp_path, rows=8)
    result = RelationsProbe(tiny("bert"), core_only=False, faithful=True).fit_score(read_roles(path))
    expected = slow(path, "bert", "all", first_piece=True)
    (arrays,) = result.arrays().values()
    check(arrays, "relation_overall_difference", (), expected.difference, expected.compared)
    mean = np.mean(slow(path, "bert", "all").difference, axis=0)
    assert np.abs(arrays["relation_overall_difference"].values - mean).max() > 1e-3


def check(arrays: Any, name: str, place: Any, values: list[Array], sentences: list[str]) -> None:
    np.testing.assert_allclose(arrays[name].values[place], np.mean(values, axis=0), atol=2e-6)
    error = cluster_error(values, sentences)
    np.testing.assert_allclose(arrays[f"{name}_stderr"].values[place], error, atol=2e-6)


def test_paper_filters() -> None:
    model = tiny("bert")
    assert RelationsProbe(model).filters == Filters(None, None, None, core_only=True)
    assert RelationsProbe(model, paper_filters=True).filters == Filters(12, 3, 2)
    assert RelationsProbe(model, paper_filters=True, max_words=20).filters == Filters(20, 3, 2)
    for wrong in (0, -1, 1.5):
        with pytest.raises(OptionError, match="max_argument must be a whole number from 1"):
            RelationsProbe(model, max_argument=wrong)


def test_the_best_head_is_chosen_apart_from_where_it_is_scored(tmp_path: Path) -> None:
    corpus = read_roles(made_up(tmp_path))
    probe = RelationsProbe(tiny("bert"))
    tally = next(iter(probe.fit_score(corpus).tallies.values()))
    row = {row["role"]: row for row in probe.fit_score(corpus).table()}["ARG0"]
    chosen_on = tally.scores[SELECT].mean("ARG0")
    scored = tally.scores[SCORE]
    place = np.unravel_index(chosen_on.argmax(), chosen_on.shape)
    assert row["head"] == f"{place[1]}.{place[2]}"
    assert row["direction"] == ("predicate_to_argument", "argument_to_predicate")[place[0]]
    assert row["chosen_difference"] == pytest.approx(chosen_on.max())
    assert row["difference"] == pytest.approx(scored.mean("ARG0")[place])
    assert row["difference"] < scored.mean("ARG0").max()  # another head is better where it is scored
    half = scored.stderr("ARG0")[place] * student_t.ppf(0.975, scored.sampling("ARG0").effective - 1)
    assert (row["low"], row["high"]) == pytest.approx((row["difference"] - half, row["difference"] + half))
    assert row["attention"] == pytest.approx(tally.means["attention"][SCORE].mean("ARG0")[place])
    assert row["control"] == pytest.approx(tally.means["control"][SCORE].mean("ARG0")[place])
    assert row["cases"] + row["chosen_cases"] <= len(slow(corpus.paths[0], "bert", "ARG0").attention)


def test_fit_on_one_file_and_score_on_another(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    train, dev = made_up(tmp_path, seed=1), made_up(tmp_path / "other", seed=2, rows=16)
    probe = RelationsProbe(tiny("bert"))
    with pytest.raises(OptionError, match="nothing is chosen yet"):
        probe.score(read_roles(dev))
    result = probe.fit(read_roles(train)).score(read_roles(dev))
    expected, chosen_on = slow(dev, "bert", "ARG1"), slow(train, "bert", "ARG1")
    row = {row["role"]: row for row in result.table()}["ARG1"]
    assert (row["cases"], row["compared"]) == (len(expected.attention), len(expected.difference))
    assert row["chosen_cases"] == len(chosen_on.difference)
    best = np.mean(chosen_on.difference, axis=0)
    place = np.unravel_index(best.argmax(), best.shape)
    assert row["head"] == f"{place[1]}.{place[2]}"
    assert row["difference"] == pytest.approx(np.mean(expected.difference, axis=0)[place], abs=1e-6)
    (arrays,) = result.arrays().values()
    assert arrays["relation_count"].values.sum() == len(slow(dev, "bert", "ARG0").attention) + row["cases"]
    role = list(arrays["relation_count"].coords["role"]).index("ARG1")
    check(arrays, "relation_difference", role, expected.difference, expected.compared)
    assert result.source.options["chosen_on"] == train.name


def test_the_hash_is_of_the_data_not_of_its_place(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    here, there = made_up(tmp_path, rows=6), made_up(tmp_path / "other", rows=6)
    probe = RelationsProbe(tiny("bert"))
    first = probe.fit_score(read_roles(here)).source.data_hash
    assert probe.fit_score(read_roles(there)).source.data_hash == first
    there.write_text(there.read_text().replace("ARG0", "ARG5"))
    assert probe.fit_score(read_roles(there)).source.data_hash != first


def test_what_an_atlas_holds(tmp_path: Path) -> None:
    result = RelationsProbe(tiny("bert")).fit_score(read_roles(made_up(tmp_path)))
    atlas = result.to_atlas()
    assert atlas["relation_difference"].dims == ("role", "direction", "layer", "head")
    assert set(atlas.stack("encoder")) >= {"relation_count", "relation_control_stderr", "relation_attention"}
    assert {example.label for example in atlas.examples("relations")} <= {"ARG0", "ARG1"}
    facts = atlas.provenance["probes"]["relations"]
    assert facts["options"]["core_only"] is True
    assert facts["texts"] == result.source.texts


def test_examples_show_the_strongest_pairs(tmp_path: Path) -> None:
    path = made_up(tmp_path)
    probe = RelationsProbe(tiny("bert"))
    found = probe.examples(read_roles(path), "ARG1", head="1.2", direction="argument_to_predicate", most=3)
    right: dict[str, float] = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        words = eager_words("bert", row["tokens"])[1, 2]
        for argument in row["arguments"]:
            received = words[:, row["predicate"]].copy()
            received[row["predicate"]] = -1
            if argument["label"] == "ARG1" and argument["start"] <= received.argmax() < argument["end"]:
                right[row["sent_id"]] = max(right.get(row["sent_id"], 0), received.max())
    best = sorted(right.values(), reverse=True)[:3]
    assert [one.confidence for one in found.right] == pytest.approx(best, abs=1e-6)
    for one in found.right:
        assert one.guess in one.right
        assert (one.probe, one.label, str(one.head)) == ("relations", "ARG1", "1.2")
    assert all(one.guess not in one.right for one in found.wrong)


def test_the_example_of_a_result_is_the_best_of_its_head(tmp_path: Path) -> None:
    corpus = read_roles(made_up(tmp_path, rows=40))
    probe = RelationsProbe(tiny("bert"))
    result = probe.fit_score(corpus)
    examples = {one.label: one for one in result.examples["encoder"]}
    assert set(examples) == {"ARG0", "ARG1"}
    for label, one in examples.items():
        choice = result.best(label)
        assert choice is not None
        assert (one.head, one.direction) == (choice.head, result.directions[choice.direction])
        # Among the sentences that are scored and easy to read, none is surer.
        number = choice.direction, choice.head.layer, choice.head.head
        rows = result.tallies["encoder"].exemplars.rows
        best = rows.tables[0][rows.keys[label]][number]
        assert one.confidence == pytest.approx(float(best), abs=1e-6)
        assert one.is_right


def notes(path: Path, architecture: str = "bert", **options: Any) -> list[str]:
    return list(RelationsProbe(tiny(architecture), **options).fit_score(read_roles(path)).source.notes)


def test_notes(tmp_path: Path) -> None:
    path = made_up(tmp_path)
    path.write_text(path.read_text() + "broken\n")
    found = "\n".join(notes(path))
    assert "1 annotation skipped: " in found
    assert f"{path}:" in found
    assert "chosen on half of the documents of made-up.jsonl" in found
    assert "scored pairs have no control" in found
    assert "looks back" not in found
    assert "the model only looks back" in "\n".join(notes(path, "gpt2"))
    assert "pairs are left out" not in "\n".join(notes(path, core_only=False))


def test_rare_roles_are_named(tmp_path: Path) -> None:
    path = made_up(tmp_path)
    row = {"tokens": ["the", "cat", "sat", "on", "it"], "predicate": 2}
    path.write_text(
        path.read_text() + json.dumps({**row, "arguments": [{"label": "ARG4", "start": 0, "end": 1}]}) + "\n"
    )
    lines = len(path.read_text().splitlines())
    assert any(f"ARG4 (1, {path}:{lines})" in note for note in notes(path))
    result = RelationsProbe(tiny("bert")).fit_score(read_roles(path))
    rare = {row["role"]: row for row in result.table()}["ARG4"]
    # It is in one half only: either nothing was chosen or nothing is scored.
    assert rare["difference"] is None
    assert (rare["head"] is None) == (rare["cases"] == 1)


def test_one_sentence_has_no_interval(tmp_path: Path) -> None:
    rows = [
        {"tokens": ["the", "cat", "sat", "on", "it"], "predicate": 2},
        {"tokens": ["a", "dog", "saw", "the", "mat"], "predicate": 2},
    ]
    path = tmp_path / "two.jsonl"
    arguments = [{"label": "ARG0", "start": 0, "end": 2}]
    path.write_text("".join(json.dumps({**row, "arguments": arguments}) + "\n" for row in rows))
    result = RelationsProbe(tiny("bert")).fit_score(read_roles(path))
    row = result.table()[1]
    assert (row["cases"], row["chosen_cases"], row["low"], row["high"]) == (1, 1, None, None)
    assert row["difference"] is not None
    assert "half of the sentences" in result.source.notes[0]


def test_nothing_left_to_score(tmp_path: Path) -> None:
    path = made_up(tmp_path)
    with pytest.raises(TextError, match=r"no case to score: .* pairs are left out, .* at most 1 words"):
        RelationsProbe(tiny("bert"), max_words=1).fit_score(read_roles(path))


def test_sentences_longer_than_the_model(tmp_path: Path) -> None:
    words = ["the", "cat", "saw"] * 40
    arguments = [{"label": "ARG0", "start": 1, "end": 2}, {"label": "ARG1", "start": 100, "end": 101}]
    row = {"tokens": words, "predicate": 2, "arguments": arguments}
    path = tmp_path / "long.jsonl"
    path.write_text(f"{json.dumps(row)}\n{json.dumps({**row, 'sent_id': 'b'})}\n")
    result = RelationsProbe(tiny("bert")).fit_score(read_roles(path))
    assert [row["role"] for row in result.table()] == ["all", "ARG0"]
    assert result.source.texts_cut == 2
    assert any("cut after a whole word" in note for note in result.source.notes)


def test_the_sample() -> None:
    corpus = read_roles(hs.sample_path("roles"))
    probe = RelationsProbe(tiny("bert"))
    result = probe.fit_score(corpus)
    rows = [json.loads(line) for line in hs.sample_path("roles").read_text(encoding="utf-8").splitlines()]
    labels = [argument["label"] for row in rows for argument in row["arguments"]]
    modifiers = sum("ARGM" in label for label in labels)
    assert any(f"{modifiers} of {len(labels)} pairs are left out" in note for note in result.source.notes)
    table = result.table()
    assert table[0]["role"] == "all"
    assert table[0]["cases"] == sum(row["cases"] for row in table[1:]) > 100


ARGUMENTS = [{"label": "ARG0", "start": 0, "end": 1}, {"label": "ARGM-LOC", "start": 0, "end": 1}]


def predicate_of(length: int, words: tuple[int, ...]) -> Predicate:
    return Predicate(WordText.of(["w"] * length), words, (), "", "", 0, "x", 1)


def test_distance() -> None:
    one = predicate_of(9, (4,))
    assert distance(one, Argument("X", 5, 7)) == 1
    assert distance(one, Argument("X", 0, 4)) == 1
    assert distance(one, Argument("X", 0, 2)) == 3
    assert distance(one, Argument("X", 7, 9)) == 3
    assert distance(predicate_of(9, (2, 6)), Argument("X", 4, 5)) == 2


def test_filters() -> None:
    one = predicate_of(12, (4,))
    near, far, long = Argument("X", 5, 6, True), Argument("X", 6, 9, True), Argument("X", 6, 10, True)
    keep = Filters(max_words=12, max_argument=3, min_distance=2).keep
    assert [keep(one, argument) for argument in (near, far, long)] == [False, True, False]
    assert not Filters(max_words=11).keep(one, far)
    assert Filters().keep(one, long)
    assert not Filters().keep(one, Argument("X", 6, 7, False))
    assert Filters().keep(one, Argument("X", 6, 7, None))
    assert Filters(core_only=False).keep(one, Argument("X", 6, 7, False))


def test_sentences_are_shown_once(tmp_path: Path) -> None:
    rows = [
        {"sent_id": "a-1", "tokens": ["the", "cat", "sat"], "predicate": 2},
        {"sent_id": "a-1", "tokens": ["the", "cat", "sat"], "predicate": 1},
        {"sent_id": "a-2", "tokens": ["the", "cat", "sat"], "predicate": 2},
        {"sent_id": "b-1", "tokens": ["a", "dog", "saw"], "predicate": 2},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({**row, "arguments": ARGUMENTS}) + "\n" for row in rows))
    sifted = Sifted(Filters())
    found = list(sifted.texts(read_roles(path)))
    assert [(one.name, len(one.cases), one.where(one.cases[0].asking)) for one in found] == [
        ("a-1", 2, f"{path}:1"),
        ("a-2", 1, f"{path}:3"),
        ("b-1", 1, f"{path}:4"),
    ]
    assert [pair.where for pair in found[0].cases]
    assert (
        [found[0].where(word) for word in (2, 1)] == [f"{path}:1", f"{path}:2"] == [f"{path}:1", f"{path}:2"]
    )
    assert (sifted.read, sifted.left_out) == (8, 4)
    result = RelationsProbe(tiny("bert")).fit_score(read_roles(path))
    assert (result.source.texts, result.source.documents) == (3, 2)
    assert any(
        "4 of 8 pairs are left out: what counts are core roles" in note for note in result.source.notes
    )
