"""Gradient importance over a task: batches, merging, limits, and what the atlas is given."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf
from tests.helpers.tasks import asked, headed, questions_file, squad, write_json
from tests.helpers.tiny import tiny
from tests.importance.test_gradients import TEXTS, case

from headscope.edits import edit
from headscope.errors import AtlasError, CaptureError, ModelError, OptionError, TextError
from headscope.importance import KEY_ROLES, ImportanceResult, gradient_importance
from headscope.importance import importance as module
from headscope.importance.gradients import layer_gradients, text_numbers
from headscope.models import wrap
from headscope.tasks import MaskedLanguageModelling, QuestionAnswering
from headscope.text.corpus import as_corpus
from headscope.text.formats.squad import read_questions
from headscope.trace import surveyed


def assert_same(one: ImportanceResult, other: ImportanceResult) -> None:
    assert one.arrays().keys() == other.arrays().keys()
    for stack, arrays in one.arrays().items():
        for name, array in arrays.items():
            np.testing.assert_allclose(
                other.arrays()[stack][name].values, array.values, rtol=1e-6, atol=1e-9, err_msg=name
            )
    assert other.loss == pytest.approx(one.loss)
    assert other.source.data_hash == one.source.data_hash
    assert (other.source.texts, other.source.tokens) == (one.source.texts, one.source.tokens)


def test_results_do_not_depend_on_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, task = case("bert mlm", tmp_path)
    alone = gradient_importance(model, task, batch_size=1)
    monkeypatch.setattr(module, "TENSORS_HELD", 1 << 40)  # no room for more than one text at a time
    assert_same(alone, gradient_importance(model, task, batch_size=100))
    assert alone.source.texts >= 3
    asked_of = [batch for batch in task.batches(model, batch_size=1) if batch.units.any()]
    assert alone.source.tokens == sum(batch.text.tokens for batch in asked_of)


def test_results_are_means_over_texts(tmp_path: Path) -> None:
    model, task = case("bert mlm", tmp_path)
    found = gradient_importance(model, task).arrays()["encoder"]
    numbers = []
    losses = []
    for batch in task.batches(model, batch_size=1):
        loss, layers = layer_gradients(task, surveyed(model), batch)
        losses.append(float(loss))
        numbers.append([text_numbers(layer) for layer in layers])
    texts = len(numbers)
    importance = np.array(
        [[n.importance[0].numpy() for n in text] for text in numbers]
    )  # (text, layer, head)
    np.testing.assert_allclose(found["head_importance"].values, importance.mean(0))
    np.testing.assert_allclose(
        found["head_importance_stderr"].values, importance.std(0, ddof=1) / np.sqrt(texts)
    )
    applies = np.array([[n.applies[0, 0].numpy() for n in text] for text in numbers])  # (text, layer, role)
    gradient = np.array([[n.gradient[0].numpy() for n in text] for text in numbers])
    assert not applies[..., KEY_ROLES.index("comma")].all()  # a text without commas says nothing of them
    for k, role in enumerate(KEY_ROLES):
        has = applies[:, 0, k]
        np.testing.assert_allclose(
            found["gradient"].values[..., k], gradient[has][..., k].mean(0), err_msg=role
        )
        by_layer = gradient[has][..., k].mean(2)  # (text, layer)
        np.testing.assert_allclose(found["gradient_layer"].values[:, k], by_layer.mean(0))
        if has.sum() > 1:
            error = by_layer.std(0, ddof=1) / np.sqrt(has.sum())
            np.testing.assert_allclose(found["gradient_layer_stderr"].values[:, k], error)
    # A role that a text lacks has no share in its attribution, so the five roles still add up.
    attribution = np.array([[n.attribution[0].numpy() for n in text] for text in numbers])
    np.testing.assert_allclose(found["attribution"].values, attribution.mean(0), atol=1e-15)
    assert gradient_importance(model, task).loss == pytest.approx(np.mean(losses))


def test_padding_counts_for_nothing_whatever_it_holds(tmp_path: Path) -> None:
    model, task = case("bert mlm", tmp_path)
    batch = next(iter(task.batches(model, batch_size=3)))
    for layer in layer_gradients(task, surveyed(model), batch)[1]:
        expected = text_numbers(layer)
        real = batch.text.source.is_token
        pairs = real[:, None, :, None] & real[:, None, None, :]
        layer.gradient.masked_fill_(~pairs, torch.nan)
        layer.weights.masked_fill_(~pairs, torch.nan)
        found = text_numbers(layer)
        for name in ("gradient", "attribution", "importance", "applies"):
            assert torch.equal(getattr(found, name), getattr(expected, name))


def test_windows_without_the_answer_are_left_out(tmp_path: Path) -> None:
    model = headed("bert", "qa")
    questions = read_questions(questions_file(tmp_path / "q.json"))
    task = QuestionAnswering(questions, max_length=30, stride=5)
    found = gradient_importance(model, task)
    units = torch.cat([batch.units for batch in task.batches(model)])
    assert found.source.texts == int((units > 0).sum()) < len(units)
    left = len(units) - found.source.texts
    assert any(f"{left} input" in note for note in found.source.notes)


def test_a_limit_takes_at_least_one(tmp_path: Path) -> None:
    model = headed("bert", "mlm")
    whole = MaskedLanguageModelling(as_corpus(TEXTS), max_length=40)
    questions = QuestionAnswering(read_questions(questions_file(tmp_path / "q.json")), max_length=60)
    found = gradient_importance(headed("bert", "qa"), questions, limit=3)
    assert (found.source.texts, found.source.documents) == (3, 3)
    with pytest.raises(OptionError, match="limit must be at least 1"):
        gradient_importance(model, whole, limit=0)


def test_the_fingerprint_tells_what_was_asked() -> None:
    model = headed("bert", "mlm")

    def digest(texts: list[str], **options: Any) -> str:
        task = MaskedLanguageModelling(as_corpus(texts), max_length=40, **options)
        return gradient_importance(model, task).source.data_hash

    assert digest(TEXTS) == digest(TEXTS[::-1])
    alike = ["the cat sat", "the dog saw"]  # as long as each other, so that only the data decide their order
    assert digest(alike) == digest(alike[::-1])
    assert len({digest(TEXTS), digest(TEXTS[:2]), digest(TEXTS, seed=1), digest(TEXTS, share=0.5)}) == 4


def test_into_an_atlas_and_again(tmp_path: Path) -> None:
    model, task = case("bert mlm", tmp_path)
    result = gradient_importance(model, task)
    atlas = result.to_atlas()
    assert atlas["gradient"].dims == ("layer", "head", "role")
    assert atlas["attribution"].dims == ("layer", "head", "role")
    assert atlas["head_importance"].dims == ("layer", "head")
    assert list(atlas["gradient"]["role"].values) == list(KEY_ROLES)
    assert all(f"{name}_stderr" in atlas for name in ("gradient", "attribution", "head_importance"))
    np.testing.assert_allclose(
        np.abs(atlas["attribution"].values[..., :5].sum(-1)) <= atlas["head_importance"].values + 1e-12, True
    )
    assert atlas.provenance["probes"]["importance"]["options"]["task"] == "mlm"
    rows = atlas.table("importance")
    assert [row["layer"] for row in rows] == [0, 1, 2]
    best = result.heads()[0]
    assert best["importance"] == atlas["head_importance"].values.max()
    assert best["head"] in [row["head"] for row in rows]
    atlas.save(tmp_path / "a.nc")
    again = result.to_atlas(atlas)
    np.testing.assert_array_equal(again["head_importance"], atlas["head_importance"])
    other, _ = case("bert qa", tmp_path)
    with pytest.raises(AtlasError, match="weights differ"):
        gradient_importance(other, case("bert qa", tmp_path)[1]).to_atlas(atlas)


def test_every_stack_of_an_encoder_decoder(tmp_path: Path) -> None:
    atlas = gradient_importance(*case("t5 classification", tmp_path)).to_atlas()
    assert atlas.stacks == ["encoder", "decoder", "cross"]
    for stack in atlas.stacks:
        assert (atlas[f"{stack}/head_importance"].values > 0).all()
    assert np.isnan(atlas["encoder/gradient"].sel(role="sep")).sum() in (0, 12)


def test_an_edited_model_is_said_to_be_one(tmp_path: Path) -> None:
    model, task = case("bert mlm", tmp_path)
    with edit(model, "1.2", how="zero"):
        found = gradient_importance(model, task)
    assert found.state.edits == ("zero: 1.2",)
    assert found.arrays()["encoder"]["head_importance"].values[1, 2] == 0
    assert gradient_importance(model, task).source.notes == ()


def _not_proved(capture: object) -> None:
    raise CaptureError("not proved")


def test_what_cannot_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, task = case("bert mlm", tmp_path)
    with pytest.raises(ModelError, match="has no masked-language-model head"):
        gradient_importance(headed("bert", "qa"), task)
    torch.manual_seed(0)
    network: Any = tf.MPNetForMaskedLM(tiny("mpnet").config)
    afterwards = wrap(network.eval(), tiny("mpnet").tokenizer, name="tiny-mpnet")
    monkeypatch.setattr("headscope.trace.inspection.prove_edit", _not_proved)
    with pytest.raises(CaptureError, match="looked at afterwards but not reached"):
        gradient_importance(afterwards, task)
    wrong = squad(("The cat sat.", [asked("a", "who?", ("dog", 4))]))
    nowhere = QuestionAnswering(read_questions(write_json(tmp_path / "n.json", wrong)))
    with pytest.raises(TextError, match="no loss to differentiate"):
        gradient_importance(headed("bert", "qa"), nowhere)


def test_nan_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, task = case("bert mlm", tmp_path)
    plain = task.loss
    monkeypatch.setattr(task, "loss", lambda output, batch: plain(output, batch) * torch.nan)
    with pytest.raises(CaptureError, match="nan"):
        gradient_importance(model, task)
