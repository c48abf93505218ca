import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tests.helpers.tasks import CONTEXT, asked, headed, questions_file, squad, write_json

from headscope.errors import OptionError
from headscope.tasks import QuestionAnswering, TaskResult, forward
from headscope.tasks.batches import IGNORED, TaskBatches
from headscope.tasks.qa import best_spans
from headscope.text.formats.squad import read_questions

ARCHITECTURES = ["bert", "roberta", "distilbert", "gpt2", "convbert"]


def task(path: Path, **options: Any) -> QuestionAnswering:
    return QuestionAnswering(read_questions(path), **options)


@pytest.mark.parametrize("most", [1, 3, 50])
def test_best_spans_against_all_spans(most: int) -> None:
    torch.manual_seed(1)
    start, end = torch.randn(2, 6, 9).unbind(0)
    start[:, 0] = end[:, 0] = -torch.inf
    end[2, 4:] = -torch.inf
    score, first, last = best_spans(start, end, most=most)
    for row in range(6):
        allowed = [(i, j) for i, j in itertools.product(range(9), repeat=2) if i <= j < i + most]
        best = max(allowed, key=lambda span: float(start[row, span[0]] + end[row, span[1]]))
        assert (int(first[row]), int(last[row])) == best
        assert score[row] == start[row, best[0]] + end[row, best[1]]


def test_answers_are_cut_from_the_passage(tmp_path: Path) -> None:
    context = "It was Caf\u0065\u0301 \U0001f469\u200d\U0001f467 of the\u00a0\u00dcmat, a DOG!"
    path = write_json(tmp_path / "a.json", squad((context, [asked("a", "it?", ("DOG", 26))])))
    result = task(path).evaluate(headed("bert", "qa"))
    assert result.predictions[0]
    assert result.predictions[0] in context


def scored(
    path: Path, choose: Any, *, null: Any = lambda row: -9.0, **options: Any
) -> tuple[TaskResult, TaskBatches]:
    """The result of made-up logits: 5 at the first and last token that `choose(row number)` gives."""
    one = task(path, **options)
    batches = one.batches(headed("bert", "qa"), batch_size=1)
    rows = []
    for number, batch in enumerate(batches):
        tokens = batch.inputs["input_ids"].shape[1]
        start, end = torch.full((2, 1, tokens), -1.0).unbind(0)
        start[0, 0] = end[0, 0] = null(number) / 2
        chosen = choose(number, batch)
        if chosen is not None:
            first, last, score = chosen
            start[0, first], end[0, last] = score, 0.0
        rows.append(one.read(SimpleNamespace(start_logits=start, end_logits=end), batch))
    return one.result(rows, batches, model="m"), batches


def answers(result: TaskResult) -> dict[str, float]:
    return {name: result.values[name] for name in ("em", "f1")}


def one_question(
    path: Path, *, repeat: int = 1, version: str = "1.1", impossible: bool | None = None
) -> Path:
    answers = [] if impossible else [("blue house", CONTEXT.index("blue house"))]
    entry = asked("a", "where?", *answers, impossible=impossible)
    return write_json(path, squad((CONTEXT * repeat, [entry]), version=version))


def test_the_right_answer_scores_100(tmp_path: Path) -> None:
    result, _ = scored(
        one_question(tmp_path / "a.json"), lambda number, batch: (*batch.labels[0].tolist(), 5.0)
    )
    assert result.predictions == ("blue house",)
    assert answers(result) == {"em": 100, "f1": 100}
    assert (result.find("em").unit, result.find("f1").high) == ("%", 100)


def test_question_special_tokens_and_long_answers_are_no_answers(tmp_path: Path) -> None:
    path = one_question(tmp_path / "a.json")
    for place in (0, 1, 7):  # [CLS], the question, [SEP]
        result, _ = scored(path, lambda number, batch, place=place: (place, place, 50.0))
        assert result.predictions[0] in CONTEXT
        assert "where" not in result.predictions[0]
    # Nor does an answer begin before the passage: of what may begin it, the last is the shortest.
    result, _ = scored(path, lambda number, batch: (7, 9, 50.0))
    assert result.predictions == ("red",)
    result, _ = scored(path, lambda number, batch: (8, 14, 50.0), max_answer=3)
    assert len(result.predictions[0].split()) <= 3


def test_the_best_window_answers(tmp_path: Path) -> None:
    path = one_question(tmp_path / "a.json", repeat=4)
    for best in (0, 2):
        result, batches = scored(
            path,
            lambda number, batch, best=best: (10, 10, 9.0 if number == best else 5.0 - number),
            max_length=30,
            stride=10,
        )
        assert len(batches) > 3
        start, end = list(batches)[best].characters[0, 10].tolist()  # type: ignore[index]
        assert result.predictions[0] == (CONTEXT * 4)[start:end]
    assert len(result) == 1


def test_version_2_may_say_nothing(tmp_path: Path) -> None:
    path = one_question(tmp_path / "a.json", version="v2.0", impossible=True)
    silent, _ = scored(path, lambda number, batch: (9, 9, 5.0), null=lambda number: 6.0)
    assert (silent.predictions, answers(silent)) == (("",), {"em": 100, "f1": 100})
    speaking, _ = scored(path, lambda number, batch: (9, 9, 5.0), null=lambda number: 4.0)
    assert answers(speaking) == {"em": 0, "f1": 0}
    held_back, _ = scored(path, lambda number, batch: (9, 9, 5.0), null=lambda number: 6.0, threshold=2.0)
    assert answers(held_back) == {"em": 0, "f1": 0}


def test_the_least_sure_window_decides_on_nothing(tmp_path: Path) -> None:
    path = one_question(tmp_path / "a.json", repeat=4, version="v2.0", impossible=True)
    options: dict[str, Any] = {"max_length": 30, "stride": 10}
    result, _ = scored(
        path, lambda number, batch: (9, 9, 5.0), null=lambda number: 9.0 - 6 * (number == 1), **options
    )
    assert result.predictions[0] != ""


def test_version_1_always_answers(tmp_path: Path) -> None:
    result, _ = scored(
        one_question(tmp_path / "a.json"), lambda number, batch: (9, 9, 5.0), null=lambda number: 99.0
    )
    assert result.predictions[0] != ""


def test_labels_of_windows_without_the_answer(tmp_path: Path) -> None:
    model = headed("bert", "qa")
    for version, expected in (("1.1", IGNORED), ("v2.0", 0)):
        one = task(one_question(tmp_path / "a.json", repeat=4, version=version), max_length=40, stride=20)
        rows = [(batch, row) for batch in one.batches(model) for row in range(batch.rows)]
        found = 0
        for batch, row in rows:
            first, last = batch.labels[row].tolist()
            if first == expected:
                assert last == expected
                continue
            found += 1
            assert batch.characters is not None
            span = slice(int(batch.characters[row, first, 0]), int(batch.characters[row, last, 1]))
            assert (CONTEXT * 4)[span] == "blue house"
        assert 0 < found < len(rows)


def test_the_loss_of_all_windows_that_hold_the_answer(tmp_path: Path) -> None:
    path = one_question(tmp_path / "a.json", repeat=4)
    one = task(path, max_length=30, stride=10)
    model = headed("bert", "qa")
    own = [
        (float(one.loss(forward(model, batch), batch)[0].detach()), batch)
        for batch in one.batches(model, batch_size=1)
    ]
    with_answer = [loss for loss, batch in own if (batch.labels >= 0).all()]
    assert 0 < len(with_answer) < len(own)
    result = one.evaluate(model)
    assert result.values["loss"] == pytest.approx(sum(with_answer) / len(with_answer), rel=1e-4)
    unknown = write_json(tmp_path / "b.json", squad((CONTEXT, [asked("a", "where?", ("nowhere", 0))])))
    assert np.isnan(task(unknown).evaluate(model).values["loss"])  # no window has one


@pytest.mark.parametrize("architecture", ["bert", "roberta", "distilbert", "gpt2"])
def test_the_loss_is_the_networks_own(tmp_path: Path, architecture: str) -> None:
    model = headed(architecture, "qa")
    one = task(questions_file(tmp_path / "a.json"), max_length=60, stride=20)
    compared = 0
    for batch in one.batches(model, batch_size=2):
        loss = one.loss(forward(model, batch), batch)
        assert loss.shape == (batch.rows,)
        assert loss.requires_grad
        for row in range(batch.rows):
            single = batch.take([row])
            real = int(single.inputs["attention_mask"].sum())
            first, last = single.labels[0].tolist()
            if first == IGNORED:
                assert loss[row] == 0
                assert batch.units[row] == 0
                continue
            inputs = {name: tensor[:, :real] for name, tensor in single.inputs.items()}
            own = model.network(
                **inputs, start_positions=torch.tensor([first]), end_positions=torch.tensor([last])
            ).loss
            torch.testing.assert_close(loss[row], own, rtol=1e-4, atol=1e-4)
            compared += 1
    assert compared >= 5


def test_options_that_cannot_work(tmp_path: Path) -> None:
    path = questions_file(tmp_path / "a.json")
    with pytest.raises(OptionError, match="max_answer"):
        task(path, max_answer=0)
    with pytest.raises(OptionError, match="max_length 65 is more than the 64 tokens"):
        task(path, max_length=65).batches(headed("bert", "qa"))
    with pytest.raises(OptionError, match="batch_size"):
        task(path).evaluate(headed("bert", "qa"), batch_size=0)


def test_a_stride_of_0_is_none(tmp_path: Path) -> None:
    one = task(questions_file(tmp_path / "a.json"), stride=0, max_length=30)
    batches = one.batches(headed("bert", "qa"))
    assert batches.rows == 5
    assert batches.cut == 3  # of the passages that make more than 30 tokens with their question
