from pathlib import Path

import pytest
from tests.helpers.tasks import headed, questions_file
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.errors import HeadscopeError, OptionError
from headscope_papers.reproduce.study import TaskFiles, placed


@pytest.fixture
def questions(tmp_path: Path) -> TaskFiles:
    return TaskFiles("qa", (questions_file(tmp_path / "questions.json"),))


def labels(folder: Path, *names: str) -> TaskFiles:
    path = folder / "labels.tsv"
    path.write_text("".join(f"the cat sat\t{name}\n" for name in names), encoding="utf-8")
    return TaskFiles("classification", (path,))


def test_a_task_goes_to_the_first_model_that_can_do_it(questions: TaskFiles, tmp_path: Path) -> None:
    models = [headed("bert", "mlm"), headed("bert", "classification"), headed("bert", "qa")]
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat\n", encoding="utf-8")
    tasks = [questions, labels(tmp_path, "0", "1"), TaskFiles("mlm", (text,))]
    names = {place: task.name for place, task in placed(tasks, models).items()}
    assert names == {2: "qa", 1: "classification", 0: "mlm"}
    assert placed(None, models) == {}


def test_fine_tuned_models_come_before_the_first(questions: TaskFiles) -> None:
    models = [headed("bert", "qa"), headed("roberta", "qa")]
    assert list(placed([questions, questions], models)) == [1, 0]
    task = hs.task_for("qa", questions.files[0], models[0])
    assert placed(task, models) == {1: task}


def test_labels_decide_between_classifiers(tmp_path: Path) -> None:
    models = [tiny("bert"), headed("bert", "classification"), headed("bert", "classification", 3)]
    assert list(placed(labels(tmp_path, "2", "2"), models)) == [2]


def test_a_task_that_fits_no_model_says_why(questions: TaskFiles) -> None:
    with pytest.raises(OptionError) as raised:
        placed([questions, questions], [tiny("bert"), headed("bert", "qa")])
    told = str(raised.value)
    assert "the task qa on questions.json fits no model" in told
    assert "tiny-bert-qa: has the task qa on questions.json already" in told
    assert "tiny-bert: tiny-bert (BertModel) has no question-answering head" in told
    with pytest.raises(HeadscopeError, match=r"^tiny-bert .*has no question-answering head"):
        placed(questions, [tiny("bert")])
