from pathlib import Path

import pytest
from tests.helpers.tasks import headed, questions_file

from headscope.errors import OptionError, TextError
from headscope.tasks import (
    Classification,
    QuestionAnswering,
    task_for,
)
from headscope.text.items import Sentence, TextPair


def test_options_and_several_files(tmp_path: Path) -> None:
    one, two = questions_file(tmp_path / "a.json"), questions_file(tmp_path / "b.json")
    task = task_for("qa", [one, str(two)], headed("bert", "qa"), max_answer=2, stride=None)
    assert isinstance(task, QuestionAnswering)
    assert (task.max_answer, task.stride, len(task.questions)) == (2, None, 10)


def test_labels_are_the_models(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("the cat\tLABEL_2\n")
    task = task_for("classification", tmp_path / "a.tsv", headed("bert", "classification", 3))
    assert isinstance(task, Classification)
    assert [gold for _, gold in task.examples] == [2]


def test_what_is_unknown(tmp_path: Path) -> None:
    model = headed("bert", "qa")
    with pytest.raises(OptionError, match=r"no task called 'squad'; choose from .*qa"):
        task_for("squad", tmp_path, model)
    with pytest.raises(
        OptionError, match="the task qa has no option called 'colour'; choose from max_length, stride"
    ):
        task_for("qa", questions_file(tmp_path / "a.json"), model, colour=1)
    with pytest.raises(OptionError, match="no option called 'labels'"):
        task_for("classification", tmp_path / "a.tsv", model, labels={})
    with pytest.raises(OptionError, match="given no file"):
        task_for("qa", [], model)
    with pytest.raises(TextError, match="no such file"):
        task_for("qa", tmp_path / "none.json", model)


def test_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("headscope.passes.progress.FIRST_LINE_AFTER", 0.0)
    monkeypatch.setattr("headscope.passes.progress.LINE_EVERY", 0.0)
    task = task_for("qa", questions_file(tmp_path / "a.json"), headed("bert", "qa"), stride=None)
    task.evaluate(headed("bert", "qa"), batch_size=2, progress=True)
    told = capsys.readouterr().err
    assert "tiny-bert-qa on a.json: 5 texts" in told


def test_inputs_without_their_labels(tmp_path: Path) -> None:
    questions = task_for("qa", questions_file(tmp_path / "a.json"), headed("bert", "qa"))
    assert isinstance(questions, QuestionAnswering)
    pairs = [(one.question, one.context) for one in questions.questions.questions]
    labelled, text = tmp_path / "a.tsv", tmp_path / "a.txt"
    labelled.write_text("the cat\ta dog\t1\nthe mat\tit\t0\n")
    text.write_text("The cat sat on the mat.\n")
    for task, data, wanted in (
        (questions, "a.json", pairs),
        (task_for("classification", labelled, headed("bert", "classification")), "a.tsv", None),
        (task_for("regression", labelled, headed("bert", "classification", 1)), "a.tsv", None),
    ):
        corpus = task.corpus()
        for _ in range(2):  # it can be read as often as wanted
            found = [(one.first, one.second) for one in corpus if isinstance(one, TextPair)]
            assert found == (wanted or [("the cat", "a dog"), ("the mat", "it")])
        assert corpus.name == data
    assert [
        one.text for one in task_for("mlm", text, headed("bert", "mlm")).corpus() if isinstance(one, Sentence)
    ] == ["The cat sat on the mat."]
    assert len(list(questions.limited(2).corpus())) == 2
