"""The dependency probe, end to end, against loops over the attention that models themselves return."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.helpers.tiny import BUILDERS, plain, tiny
from tests.helpers.treebanks import (
    Plain,
    SlowCase,
    as_file,
    block,
    cluster_error,
    leave_one_out,
    of_label,
    random_sentences,
    right,
    slow_cases,
    treebank,
)

import headscope as hs
from headscope.models import wrap
from headscope.probes.pointing.cases import ALL
from headscope.probes.pointing.dependency import OFFSETS, DependencyProbe, DependencyResult
from headscope.stats.intervals import share_interval
from headscope.text.annotated.treebank import Treebank, read_treebank

DIRECTIONS = ("dependent_to_head", "head_to_dependent")
DOCUMENTS = random_sentences(24, seed=7, documents=5)
SELECTION = random_sentences(14, seed=8, documents=2)


@pytest.fixture
def whole(tmp_path: Path) -> Treebank:
    return treebank(tmp_path, as_file(DOCUMENTS))


@pytest.fixture
def other(tmp_path: Path) -> Treebank:
    return treebank(tmp_path, as_file(SELECTION), "select.conllu")


def offsets_right(cases: list[SlowCase]) -> NDArray[np.float64]:
    return np.array([[float(case.head - case.word == offset) for offset in OFFSETS] for case in cases])


def labels_of(cases: list[SlowCase]) -> list[str]:
    """The most frequent first, equals by name."""
    names = [case.label for case in cases]
    return sorted(set(names), key=lambda name: (-names.count(name), name))


def assert_arrays(result: DependencyResult, stack: str, cases: list[SlowCase]) -> None:
    """All arrays, from nothing but the right or wrong of every case."""
    arrays = result.arrays()[stack]
    labels = labels_of(cases)
    accuracy = arrays["dependency_accuracy"]
    assert accuracy.dims == ("relation", "direction", "layer", "head")
    assert accuracy.coords["relation"] == labels
    assert accuracy.coords["direction"] == DIRECTIONS
    assert arrays["dependency_count"].dims == ("relation",)
    assert arrays["dependency_count"].values.tolist() == [len(of_label(cases, label)) for label in labels]
    assert arrays["dependency_baseline"].dims == ("relation", "offset")
    assert tuple(arrays["dependency_baseline"].coords["offset"]) == OFFSETS
    for number, label in enumerate(labels):
        own = of_label(cases, label)
        texts = np.array([case.text for case in own])
        for name, values in (("accuracy", right(own)), ("baseline", offsets_right(own))):
            np.testing.assert_allclose(arrays[f"dependency_{name}"].values[number], values.mean(0))
            errors = arrays[f"dependency_{name}_stderr"].values[number]
            if len(set(texts)) > 1:
                np.testing.assert_allclose(errors, cluster_error(values, texts), atol=1e-12)
            else:
                assert np.isnan(errors).all()
    texts = np.array([case.text for case in cases])
    np.testing.assert_allclose(arrays["dependency_overall"].values, right(cases).mean(0))
    np.testing.assert_allclose(
        arrays["dependency_overall_stderr"].values, cluster_error(right(cases), texts), atol=1e-12
    )


def assert_table(
    result: DependencyResult, stack: str, chosen: list[SlowCase], scored: list[SlowCase], labels: list[str]
) -> None:
    """Every row: chosen on some cases, scored on others."""
    rows = result.table(stack=stack)
    assert [row["relation"] for row in rows] == [ALL, *labels]
    for row in rows:
        on, for_it = of_label(chosen, row["relation"]), of_label(scored, row["relation"])
        assert (row["cases"], row["chosen_cases"]) == (len(for_it), len(on))
        if not on:
            assert row["head"] is row["direction"] is row["accuracy"] is row["offset"] is None
            continue
        shares = right(on).mean(0)
        direction, layer, head = np.unravel_index(shares.argmax(), shares.shape)
        assert (row["head"], row["direction"]) == (f"{layer}.{head}", DIRECTIONS[direction])
        assert row["chosen_accuracy"] == pytest.approx(shares.max())
        offset = int(offsets_right(on).mean(0).argmax())
        assert row["offset"] == OFFSETS[offset]
        if not for_it:
            assert row["accuracy"] is row["low"] is row["high"] is row["offset_accuracy"] is None
            continue
        found = (row["accuracy"], row["low"], row["high"])
        assert_share(found, right(for_it)[:, direction, layer, head], for_it)
        found = (row["offset_accuracy"], row["offset_low"], row["offset_high"])
        assert_share(found, offsets_right(for_it)[:, offset], for_it)


def assert_share(found: tuple[object, ...], values: NDArray[np.float64], cases: list[SlowCase]) -> None:
    """A share and the ends of its interval."""
    texts = np.array([case.text for case in cases])
    error = float(cluster_error(values, texts)) if len(set(texts)) > 1 else float("nan")
    ends = share_interval(float(values.mean()), error, len(values), len(set(texts)))
    assert found == pytest.approx((values.mean(), *ends))


# Against the slow way


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "t5", "deberta"])
def test_one_file_split_by_documents(architecture: str, whole: Treebank) -> None:
    result = DependencyProbe(plain(architecture), batch_size=5).fit_score(whole)
    assert isinstance(result, DependencyResult)
    slow = slow_cases(architecture, DOCUMENTS)
    assert list(result.arrays()) == list(slow)
    for stack, cases in slow.items():
        assert_arrays(result, stack, cases)
        scored = [case for case in cases if DOCUMENTS[case.text].document % 2 == 0]
        chosen = [case for case in cases if DOCUMENTS[case.text].document % 2 == 1]
        assert_table(result, stack, chosen, scored, labels_of(cases))


def test_errors_are_over_documents_where_ten_have_cases(tmp_path: Path) -> None:
    """Sentences of one document lie in several batches; a relation in few documents keeps the error over sentences."""
    sentences = random_sentences(60, seed=9, documents=15)
    for number in (0, 20):  # two documents have a relation of their own
        place = next(i for i, head in enumerate(sentences[number].heads) if head >= 0)
        sentences[number].relations[place] = "rare"
        sentences[number].upos[place] = "X"
    result = DependencyProbe(tiny("bert"), batch_size=7).fit_score(treebank(tmp_path, as_file(sentences)))
    cases = slow_cases("bert", sentences)["encoder"]
    arrays = result.arrays()["encoder"]
    counts = dict(zip(labels_of(cases), arrays["dependency_documents"].values.tolist(), strict=True))
    assert counts["rare"] == 2
    for number, label in enumerate(labels_of(cases)):
        own = of_label(cases, label)
        documents = np.array([sentences[case.text].document for case in own])
        assert counts[label] == len(set(documents))
        errors = arrays["dependency_accuracy_stderr"].values[number]
        if len(set(documents)) >= 10:
            np.testing.assert_allclose(errors, leave_one_out(right(own), documents), atol=1e-12)
    whole = np.array([sentences[case.text].document for case in cases])
    np.testing.assert_allclose(
        arrays["dependency_overall_stderr"].values, leave_one_out(right(cases), whole), atol=1e-12
    )


def test_a_row_says_what_its_interval_is_over(tmp_path: Path) -> None:
    sentences = random_sentences(80, seed=9, documents=20)
    place = next(i for i, head in enumerate(sentences[0].heads) if head >= 0)
    sentences[0].relations[place] = sentences[70].relations[0] = "rare"
    chosen_on = treebank(tmp_path, as_file(sentences), "train.conllu")
    scored = treebank(tmp_path, as_file(sentences))
    result = DependencyProbe(tiny("bert")).fit(chosen_on).score(scored)
    rows = {row["relation"]: row for row in result.table()}
    assert (rows[ALL]["interval_over"], rows[ALL]["interval_count"]) == ("documents", 20)
    assert rows["rare"]["interval_over"] == "sentences"
    cases = slow_cases("bert", sentences)["encoder"]
    documents = np.array([sentences[case.text].document for case in cases])
    sizes = np.bincount(documents)
    values = right(cases)
    place = np.unravel_index(values.mean(0).argmax(), values.shape[1:])
    error = leave_one_out(values, documents)[place]
    ends = share_interval(
        values.mean(0)[place], error, len(cases), sizes.sum() ** 2 / float((sizes**2).sum())
    )
    assert (rows[ALL]["low"], rows[ALL]["high"]) == pytest.approx(ends)
    told = "over 20 documents; over sentences where fewer than 10 documents have cases: rare"
    assert result.intervals() == told
    atlas = result.to_atlas()
    assert atlas.provenance["probes"]["dependency"]["intervals"] == told
    assert atlas.table("dependency")[0]["interval_over"] == "documents"


def test_few_documents_are_told(whole: Treebank) -> None:
    result = DependencyProbe(tiny("bert")).fit_score(whole)
    sentences = result.table()[0]["interval_count"]
    assert result.intervals() == f"over {sentences} sentences, as fewer than 10 documents have cases"


def test_the_best_on_one_half_is_not_the_best_on_the_other() -> None:
    """Or the test above would not see on which half heads and offsets are chosen."""
    cases = slow_cases("bert", DOCUMENTS)["encoder"]
    for values in (right, offsets_right):
        best = [
            [
                values([case for case in of_label(cases, label) if DOCUMENTS[case.text].document % 2 == half])
                .mean(0)
                .argmax()
                for label in ("det", "obj", "advmod", ALL)
            ]
            for half in (0, 1)
        ]
        assert best[0] != best[1]


def test_chosen_on_one_file_and_scored_on_another(whole: Treebank, other: Treebank) -> None:
    result = DependencyProbe(tiny("bert")).fit(other).score(whole)
    assert isinstance(result, DependencyResult)
    scored = slow_cases("bert", DOCUMENTS)["encoder"]
    assert_arrays(result, "encoder", scored)
    assert_table(result, "encoder", slow_cases("bert", SELECTION)["encoder"], scored, labels_of(scored))
    assert result.source.options["chosen_on"] == "select.conllu"
    assert not any("half" in note for note in result.source.notes)


def test_scoring_twice_counts_nothing_twice(whole: Treebank, other: Treebank) -> None:
    probe = DependencyProbe(tiny("bert")).fit(other)
    assert probe.score(whole).table() == probe.score(whole).table()
    assert probe.score(other).table() == probe.fit(other).score(other).table()


def test_the_first_piece_alone(whole: Treebank) -> None:
    result = DependencyProbe(tiny("bert"), faithful=True).fit_score(whole)
    assert isinstance(result, DependencyResult)
    faithful = slow_cases("bert", DOCUMENTS, faithful=True)["encoder"]
    assert_arrays(result, "encoder", faithful)
    assert (right(faithful) != right(slow_cases("bert", DOCUMENTS)["encoder"])).any()
    assert result.source.options["faithful"] is True


def test_subtypes_as_their_base_relation(whole: Treebank) -> None:
    result = DependencyProbe(tiny("bert"), base_relations=True).fit_score(whole)
    assert isinstance(result, DependencyResult)
    cases = [
        SlowCase(case.text, case.word, case.label.split(":")[0], case.head, case.guess, case.confidence)
        for case in slow_cases("bert", DOCUMENTS)["encoder"]
    ]
    assert "nmod" in labels_of(cases)
    assert_arrays(result, "encoder", cases)
    assert result.source.options["base_relations"] is True


@pytest.mark.parametrize("architecture", ["convbert", "xlnet", "bart", "llama", "roberta"])
def test_other_architectures(architecture: str, whole: Treebank) -> None:
    result = DependencyProbe(tiny(architecture)).fit_score(whole)
    for arrays in result.arrays().values():
        assert not np.isnan(arrays["dependency_accuracy"].values).any()
        assert arrays["dependency_count"].values.sum() == len(slow_cases("bert", DOCUMENTS)["encoder"])


def test_a_model_in_double_precision(whole: Treebank) -> None:
    network, tokenizer = BUILDERS["bert"]()
    DependencyProbe(wrap(network.double().eval(), tokenizer, name="double")).fit_score(whole)


# Which words ask


def test_punctuation_and_the_root_do_not_ask(tmp_path: Path) -> None:
    rows = [
        ("the", 2, "det", "DET"),
        ("cat", 0, "root", "NOUN"),
        (",", 2, "punct", "X"),
        ("-", 2, "obj", "PUNCT"),
        ("!", 2, "punct:x", "X"),
        ("it", 0, "obj", "PRON"),  # a second root, whatever it is called
        ("a", 6, "nmod:poss", "PUNC"),
    ]
    result = DependencyProbe(tiny("bert")).fit_score(treebank(tmp_path, block(*rows) * 2))
    counts = result.arrays()["encoder"]["dependency_count"]
    assert dict(zip(counts.coords["relation"], counts.values.tolist(), strict=True)) == {
        "det": 2,
        "nmod:poss": 2,
    }


def test_punctuation_is_a_candidate(tmp_path: Path) -> None:
    """Of two words and a mark, some head of a random model looks most at the mark."""
    sentence = Plain(["the", "cat", "."], [1, -1, 1], ["det", "root", "punct"], ["X", "X", "PUNCT"], 0)
    (case,) = slow_cases("bert", [sentence])["encoder"]
    assert (case.guess == 2).any()
    result = DependencyProbe(tiny("bert")).fit_score(treebank(tmp_path, sentence.conllu * 2))
    found = result.arrays()["encoder"]["dependency_accuracy"].values[0]
    np.testing.assert_array_equal(found, case.right.astype(float))


def test_offsets_reach_ten_words(tmp_path: Path) -> None:
    """Heads 10 and 11 words away, before and after: only ten are reached."""
    words = [("the", 11, "ten_after"), ("a", 13, "eleven_after"), *[("it", 11, "near")] * 8]
    words += [("cat", 0, "root"), ("of", 1, "eleven_before"), ("saw", 3, "ten_before")]
    result = DependencyProbe(tiny("bert")).fit_score(treebank(tmp_path, block(*words) * 2))
    rows = {row["relation"]: row for row in result.table()}
    baseline = result.arrays()["encoder"]["dependency_baseline"]
    by_relation = dict(zip(baseline.coords["relation"], baseline.values, strict=True))
    assert (rows["ten_after"]["offset"], rows["ten_after"]["offset_accuracy"]) == (10, 1.0)
    assert (rows["ten_before"]["offset"], rows["ten_before"]["offset_accuracy"]) == (-10, 1.0)
    assert by_relation["ten_after"].tolist() == [float(offset == 10) for offset in OFFSETS]
    assert not by_relation["eleven_after"].any()
    assert not by_relation["eleven_before"].any()
    assert sorted(OFFSETS) == [*range(-10, 0), *range(1, 11)]


def test_the_first_word_of_a_decoder_is_never_right_by_luck(tmp_path: Path) -> None:
    """It sees nothing but itself, and the last word is seen by nothing but itself."""
    text = block(("the", 2, "first"), ("cat", 0, "root"), ("saw", 2, "last")) * 4
    result = DependencyProbe(tiny("gpt2")).fit_score(treebank(tmp_path, text))
    accuracy = result.arrays()["decoder"]["dependency_accuracy"]
    first, last = (accuracy.values[accuracy.coords["relation"].index(name)] for name in ("first", "last"))
    assert not first[0].any()
    assert first[1].any()
    assert last[0].any()
    assert not last[1].any()


def test_the_sample_treebank() -> None:
    result = DependencyProbe(tiny("bert")).fit_score(read_treebank(hs.sample_path("treebank")))
    assert result.source.skipped == 0
    assert result.table()[0]["cases"] > 300
