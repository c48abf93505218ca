from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, f1_score
from tests.helpers.tasks import headed

from headscope.errors import ModelError, TextError
from headscope.tasks import Classification, Regression, forward
from headscope.text.formats.labelled import read_labelled
from headscope.trace.observe import evaluating

PAIRS = [
    ("the cat sat on the mat .", "a dog saw it !", "1"),
    ("it was red", "the house was blue , and the dog in it was red .", "0"),
    ("a", "the mat", "1"),
    ("the dog and the cat", "the cat and the dog", "1"),
    ("red house", "blue house", "0"),
]
NAMES = {0: "different", 1: "Same"}


def pairs_file(path: Path, *, scores: bool = False) -> Path:
    rows = [(a, b, str(number * 0.7) if scores else label) for number, (a, b, label) in enumerate(PAIRS)]
    path.write_text("".join("\t".join(row) + "\n" for row in rows))
    return path


def task(path: Path, **options: Any) -> Classification:
    return Classification(read_labelled(path), **{"labels": NAMES, **options})


def test_scores_are_those_of_scikit_learn(tmp_path: Path) -> None:
    alone = task(pairs_file(tmp_path / "a.tsv")).evaluate(headed("bert", "classification"))
    np.testing.assert_array_equal(alone.records["example"], range(5))
    np.testing.assert_array_equal(alone.records["gold"], [1, 0, 1, 1, 0])
    guess, gold = alone.records["prediction"], alone.records["gold"]
    assert alone.metric("accuracy") == pytest.approx(100 * accuracy_score(gold, guess))
    assert alone.metric("f1") == pytest.approx(100 * f1_score(gold, guess, zero_division=0))


@pytest.mark.parametrize("architecture", ["bert", "roberta", "distilbert"])
def test_the_input_is_the_tokenizers_own(tmp_path: Path, architecture: str) -> None:
    model = headed(architecture, "classification")
    for batch in task(pairs_file(tmp_path / "a.tsv")).batches(model, batch_size=2):
        chosen = batch.example.tolist()
        expected = model.tokenizer(
            [PAIRS[number][0] for number in chosen],
            [PAIRS[number][1] for number in chosen],
            padding=True,
            return_tensors="pt",
        )
        assert torch.equal(batch.inputs["input_ids"], expected["input_ids"])
        assert torch.equal(batch.inputs["attention_mask"], expected["attention_mask"])


def test_pairs_have_two_segments(tmp_path: Path) -> None:
    batch = next(iter(task(pairs_file(tmp_path / "a.tsv")).batches(headed("bert", "classification"))))
    assert batch.inputs["token_type_ids"].amax(-1).tolist() == [1] * batch.rows


def test_the_loss_is_the_networks_own(tmp_path: Path) -> None:
    model = headed("bert", "classification")
    one = task(pairs_file(tmp_path / "a.tsv"))
    for batch in one.batches(model):
        loss = one.loss(forward(model, batch), batch)
        assert loss.requires_grad
        own = model.network(**batch.inputs, labels=batch.labels[:, 0]).loss
        torch.testing.assert_close(loss.mean(), own)
        assert batch.units.tolist() == [1] * batch.rows


@pytest.mark.parametrize("labels", [["Same", "different"], ["same", "DIFFERENT"], ["1", "0"], ["1.0", "0.0"]])
def test_labels_are_names_or_numbers(tmp_path: Path, labels: list[str]) -> None:
    (tmp_path / "a.tsv").write_text("".join(f"the cat\t{label}\n" for label in labels))
    assert [gold for _, gold in task(tmp_path / "a.tsv").examples] == [1, 0]


def test_a_name_that_looks_like_a_number_is_a_name(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("the cat\t1\nthe dog\t2\n")
    assert [gold for _, gold in task(tmp_path / "a.tsv", labels={0: "1", 1: "2"}).examples] == [0, 1]


def test_unknown_labels_are_skipped_and_told(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("the cat\t1\nthe dog\t2\n\t1\nthe mat\tmaybe\n")
    result = task(tmp_path / "a.tsv").evaluate(headed("bert", "classification"))
    assert len(result) == 1
    assert result.skipped.count == 3
    assert any(
        "a.tsv:2: label '2' is none of 0 (different), 1 (Same)" in place for place in result.skipped.places
    )
    (tmp_path / "a.tsv").write_text("the cat\tmaybe\n")
    with pytest.raises(TextError, match=r"a\.tsv:1: label 'maybe'"):
        task(tmp_path / "a.tsv")


def test_models_that_do_not_fit(tmp_path: Path) -> None:
    one = task(pairs_file(tmp_path / "a.tsv"))
    with pytest.raises(ModelError, match="has 3 classes and the task 2"):
        one.evaluate(headed("bert", "classification", 3))
    with pytest.raises(ModelError, match="has no classification head"):
        one.evaluate(headed("bert", "qa"))
    score = Regression(read_labelled(pairs_file(tmp_path / "b.tsv", scores=True)))
    with pytest.raises(ModelError, match="gives no score"):
        score.evaluate(headed("bert", "classification"))


def test_long_texts_are_cut_and_counted(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(f"{'the cat ' * 50}\t1\nthe cat\t0\n")
    one = task(tmp_path / "a.tsv")
    assert one.evaluate(headed("bert", "classification")).cut == 1
    assert (
        max(batch.inputs["input_ids"].shape[1] for batch in one.batches(headed("bert", "classification")))
        == 64
    )


def test_evaluation_leaves_the_network_as_it_was(tmp_path: Path) -> None:
    model = headed("bert", "classification")
    one = task(pairs_file(tmp_path / "a.tsv"))
    before = one.evaluate(model)
    model.network.train()
    model.network.classifier.eval()
    try:
        np.testing.assert_array_equal(one.evaluate(model).records, before.records)  # no dropout
        assert model.network.training
        assert not model.network.classifier.training
        with pytest.raises(ZeroDivisionError), evaluating(model.network):
            _ = 1 / 0
        assert model.network.training
    finally:
        model.network.eval()


def test_batches_are_encoded_once(tmp_path: Path) -> None:
    model = headed("bert", "classification")
    one = task(pairs_file(tmp_path / "a.tsv"))
    batches = one.batches(model)
    assert one.batches(model) is batches
    assert len(list(batches)) == len(list(batches)) == len(batches)
    lengths = [batch.inputs["input_ids"].shape[1] for batch in one.batches(model, batch_size=1)]
    assert lengths == sorted(lengths, reverse=True)


def test_regression(tmp_path: Path) -> None:
    model = headed("roberta", "classification", 1)
    one = Regression(read_labelled(pairs_file(tmp_path / "a.tsv", scores=True)))
    alone, together = one.evaluate(model, batch_size=1), one.evaluate(model, batch_size=3)
    np.testing.assert_allclose(
        alone.records["prediction"], together.records["prediction"], rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(alone.records["gold"], [0, 0.7, 1.4, 2.1, 2.8], rtol=1e-6)
    expected = np.corrcoef(alone.records["prediction"], alone.records["gold"])[0, 1]
    assert alone.metric("pearson") == pytest.approx(expected)
    error = ((alone.records["prediction"] - alone.records["gold"]) ** 2).mean()
    assert alone.metric("mse") == pytest.approx(error)
    for batch in one.batches(model):
        loss = one.loss(forward(model, batch), batch)
        own = model.network(**batch.inputs, labels=batch.labels).loss
        torch.testing.assert_close(loss.mean(), own)


def test_regression_skips_what_is_no_number(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("the cat\t1.5\nthe dog\tnan\nthe mat\tgood\n")
    assert Regression(read_labelled(tmp_path / "a.tsv")).skipped.count == 2
    (tmp_path / "a.tsv").write_text("the cat\tgood\n")
    with pytest.raises(TextError, match="no label is a number"):
        Regression(read_labelled(tmp_path / "a.tsv"))
