"""What every task does, whoever wrote it: one test a clause, over the registry in tasks.py."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.contract.broken import NAN, broken
from tests.contract.shards import (
    Arrays,
    Shuffling,
    assert_same_bits,
    check_goes_on,
    counted,
    small_shards,
)
from tests.contract.tasks import ENTRIES
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.errors import CaptureError, ModelError
from headscope.models import Model
from headscope.passes.run_pass import running_on
from headscope.tasks import TASKS, Task, TaskResult, forward

__all__ = ["counted", "small_shards"]

every_task = pytest.mark.parametrize("name", ENTRIES)
on_every_model = pytest.mark.parametrize(
    ("name", "make_model"),
    [
        pytest.param(name, make, id=f"{name}-{number}")
        for name, entry in ENTRIES.items()
        for number, make in enumerate(entry.models)
    ],
)


def made(name: str, folder: Path) -> tuple[Task, Model]:
    """The task and the first of its models."""
    model = ENTRIES[name].models[0]()
    return ENTRIES[name].make(name, folder, model), model


def assert_alike(found: TaskResult, expected: TaskResult) -> None:
    assert found.predictions == expected.predictions
    assert found.records.dtype.names == expected.records.dtype.names
    for field in expected.records.dtype.names:
        np.testing.assert_allclose(
            found.records[field], expected.records[field], rtol=1e-4, atol=1e-5, err_msg=field
        )
    np.testing.assert_array_equal(found.documents, expected.documents)


def arrays(result: TaskResult) -> Arrays:
    """What was read of every example, and what was made of it."""
    fields = {field: result.records[field] for field in result.records.dtype.names}
    return {**fields, **{f"{name} in all": np.array(value) for name, value in result.values.items()}}


@every_task
def test_it_is_made_by_its_name_and_says_what_it_is(name: str, tmp_path: Path) -> None:
    task, model = made(name, tmp_path)
    assert type(task) is TASKS.get(name)
    result = task.evaluate(model)
    assert (result.task, result.model) == (task.name, model.name) == (name, model.name)
    assert result.data == ENTRIES[name].write(tmp_path).name
    assert list(result.values) == [metric.name for metric in task.metrics]
    assert all(np.isfinite(value) for value in result.values.values())


@on_every_model
def test_batch_size_does_not_matter(name: str, make_model: Callable[[], Model], tmp_path: Path) -> None:
    model = make_model()
    task = ENTRIES[name].make(name, tmp_path, model)
    alone = task.evaluate(model, batch_size=1)
    assert len(alone) > 3
    if "example" in alone.records.dtype.names:  # the order of the data, whatever that of the batches
        np.testing.assert_array_equal(np.sort(alone.records["example"]), alone.records["example"])
    for batch_size in (3, "auto"):
        assert_alike(task.evaluate(model, batch_size=batch_size), alone)  # type: ignore[arg-type]
    rows = [batch.rows for batch in task.batches(model, batch_size=3)]
    assert (set(rows) == {1}) == (model.name in ENTRIES[name].alone)


@on_every_model
def test_texts_of_a_batch_are_of_unequal_length(
    name: str, make_model: Callable[[], Model], tmp_path: Path
) -> None:
    """Else the clauses on batches and padding would say nothing."""
    model = make_model()
    task = ENTRIES[name].make(name, tmp_path, model)
    padded = [not batch.text.source.is_full for batch in task.batches(model, batch_size=3)]
    assert any(padded) == (model.name not in ENTRIES[name].alone)


@every_task
def test_what_padding_holds_does_not_matter(name: str, tmp_path: Path) -> None:
    """Neither other tokens there, nor logits there that are nan."""
    task, model = made(name, tmp_path)
    for batch in task.batches(model, batch_size=3):
        with torch.inference_mode():
            output = forward(model, batch)
            expected, loss = task.read(output, batch), task.loss(output, batch)
            if (mask := batch.inputs.get("attention_mask")) is not None:
                batch.inputs["input_ids"].masked_fill_(mask == 0, 9)
                output = forward(model, batch)
            spoil(output, batch.text.target or batch.text.source)
            found = task.read(output, batch)
        for field in expected.dtype.names:
            np.testing.assert_allclose(found[field], expected[field], rtol=1e-4, atol=1e-5, err_msg=field)
        torch.testing.assert_close(task.loss(output, batch), loss, rtol=1e-4, atol=1e-5)


def spoil(output: Any, tokens: Any) -> None:
    """Write nan into all that a network says of padding."""
    for key in ("logits", "prediction_logits", "start_logits", "end_logits"):
        logits = getattr(output, key, None)
        if logits is not None and logits.shape[:2] == tokens.is_token.shape:
            logits[~tokens.is_token] = torch.nan


@every_task
@pytest.mark.usefixtures("small_shards")
def test_parts_merge_in_any_order(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three parts or more of different size, each merged with an empty one, and each counted twice."""
    monkeypatch.setattr("headscope.tasks.base.BATCHES_A_SHARD", 2)
    task, model = made(name, tmp_path)
    expected = arrays(task.evaluate(model, batch_size=1))
    for seed in range(2):
        engine = Shuffling(seed)
        with running_on(engine):
            assert_same_bits(arrays(task.evaluate(model, batch_size=1)), expected)
        assert engine.shards > 2


@every_task
def test_a_limit_takes_the_examples_that_it_says(name: str, tmp_path: Path) -> None:
    task, model = made(name, tmp_path)
    whole = task.evaluate(model, batch_size=1)
    count = len(task.examples) if ENTRIES[name].limited == "spread" else len(whole)
    spread = np.linspace(0, count - 1, 3).round().astype(int)
    chosen = spread if ENTRIES[name].limited == "spread" else np.arange(3)
    found = task.limited(3).evaluate(model, batch_size=1)
    assert len(found) == 3
    for field in whole.records.dtype.names:
        if field != "example":
            np.testing.assert_array_equal(found.records[field], whole.records[field][chosen])
    assert len(task.evaluate(model)) == len(whole)  # which the limit left alone


@every_task
def test_several_stacks(name: str, tmp_path: Path) -> None:
    """An edit in any stack of a model changes what it does; or the task says that it is not for such models."""
    entry = ENTRIES[name]
    if entry.several_stacks is None:
        with pytest.raises(ModelError):
            entry.make(name, tmp_path, tiny("t5")).evaluate(tiny("t5"))
        return
    model = entry.several_stacks()
    task = entry.make(name, tmp_path, model)
    losses = [task.evaluate(model).records]
    for stack in ("encoder", "decoder", "cross"):
        with hs.edit(model, f"{stack}:1.0"):
            losses.append(task.evaluate(model).records)
    assert len({records.tobytes() for records in losses}) == 4


@every_task
def test_an_edit_acts_while_it_is_in_force(name: str, tmp_path: Path) -> None:
    task, model = made(name, tmp_path)
    before = arrays(task.evaluate(model))
    where = "encoder:" if ENTRIES[name].several_stacks and model.is_encoder_decoder else ""
    with hs.edit(model, f"{where}1.2"):
        edited = arrays(task.evaluate(model))
    assert any((edited[field] != values).any() for field, values in before.items())
    assert_same_bits(arrays(task.evaluate(model)), before)


@every_task
def test_attention_that_is_nan_is_refused(name: str, tmp_path: Path) -> None:
    task, model = made(name, tmp_path)
    # The decoder of an encoder-decoder is not looked at, and its predictions say it.
    kind, words = (ModelError, "are nan") if model.is_encoder_decoder else (CaptureError, NAN)
    with pytest.raises(kind, match=words):
        task.evaluate(broken(model))


@every_task
def test_it_survives_a_trip(name: str, tmp_path: Path) -> None:
    """As to a worker: what a task holds of its files only cloudpickle takes."""
    cloudpickle = pytest.importorskip("ray.cloudpickle")
    task, model = made(name, tmp_path)
    expected = arrays(task.evaluate(model))
    assert_same_bits(arrays(cloudpickle.loads(cloudpickle.dumps(task)).evaluate(model)), expected)


@every_task
@pytest.mark.usefixtures("small_shards")
def test_a_stopped_run_goes_on_and_gives_the_same_bits(
    name: str, tmp_path: Path, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.tasks.base.BATCHES_A_SHARD", 1)
    task, model = made(name, tmp_path)
    check_goes_on(lambda folder: arrays(task.evaluate(model, batch_size=1)), tmp_path, counted)
