from pathlib import Path

import pytest
from tests.helpers.atlases import random_atlas
from tests.helpers.tasks import headed
from tests.helpers.tiny import saved, tiny

from headscope.errors import AtlasError, ModelError
from headscope.server.catalogue import Catalogue
from headscope.server.problems import NotThereError
from headscope.tasks.heads import ready_task, with_task_head
from headscope.types import task_of


def test_models_are_loaded_when_first_asked_for(tmp_path: Path) -> None:
    folder = saved(headed("bert", "mlm"), tmp_path / "mlm")
    catalogue = Catalogue([str(folder)])
    offered = catalogue.model(str(folder))
    assert offered.loaded is None
    [told] = catalogue.about("1", 512).models
    assert (told.architecture, told.task, told.max_length, told.pairs) == ("BertForMaskedLM", "mlm", 64, True)
    assert offered.loaded is None
    core = offered.get()
    assert (core.architecture, offered.get() is core) == ("BertModel", True)
    assert (
        offered.info(512).architecture == "BertForMaskedLM"
    )  # what a page says does not change under the reader
    whole = offered.predicting()
    assert (whole.architecture, offered.get() is whole) == ("BertForMaskedLM", True)


@pytest.mark.parametrize(
    ("architecture", "task", "name"),
    [
        ("bert", "qa", "qa"),
        ("bert", "classification", "classification"),
        ("gpt2", "lm", "lm"),
        ("t5", "lm", "lm"),
    ],
)
def test_every_head_is_loaded_from_a_folder(tmp_path: Path, architecture: str, task: str, name: str) -> None:
    offered = Catalogue([saved(headed(architecture, task), tmp_path / "model")]).model(
        str(tmp_path / "model")
    )
    assert offered.task == name
    assert ready_task(offered.predicting().network) == name
    assert offered.task == name


def test_files_are_atlases_and_ids_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    paths = [tmp_path / "my atlas.nc", tmp_path / "b" / "my atlas.nc"]
    for path in paths:
        random_atlas(model="someone's").save(path)
    catalogue = Catalogue([*map(str, paths), random_atlas()])
    assert list(catalogue.atlases) == ["my-atlas", "my-atlas-2", "tiny"]
    assert [one.name for one in catalogue.atlases.values()] == ["my atlas.nc", "my atlas.nc", "tiny"]
    assert not catalogue.models
    assert catalogue.atlas_of("tiny") is catalogue.atlas("tiny").atlas
    assert catalogue.atlas_of("demo") is None


def test_an_atlas_of_a_demo_model_brings_the_model() -> None:
    catalogue = Catalogue([random_atlas(model="demo")])
    assert list(catalogue.models) == ["demo"]
    assert catalogue.model("demo").loaded is None
    assert list(Catalogue(["demo", "demo-qa", random_atlas(model="demo")]).models) == ["demo", "demo-qa"]


def test_a_folder_is_called_by_its_own_name(tmp_path: Path) -> None:
    first, second = (saved(headed("bert", "mlm"), tmp_path / where / "mine") for where in ("a", "b"))
    catalogue = Catalogue([str(first), str(first), random_atlas(model=str(first))])
    assert list(catalogue.models) == ["mine"]
    assert [info.name for info in catalogue.about("1", 64).models] == ["mine"]
    assert catalogue.about("1", 64).atlases[0].model == "mine"
    assert catalogue.model("mine") is catalogue.model(str(first))
    assert catalogue.atlas_of("mine") is not None
    assert list(Catalogue([str(first), str(second)]).models) == ["mine", str(second)], (
        "two of a name stay apart"
    )


def test_an_atlas_is_of_the_folder_that_it_named_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(headed("bert", "mlm"), tmp_path / "models" / "mine")
    monkeypatch.chdir(tmp_path / "models")
    named = [random_atlas(model=name) for name in ("models/mine", "./mine", "mine", "hub/another")]
    catalogue = Catalogue(["../models/mine", *named])
    assert [atlas.model for atlas in catalogue.about("1", 64).atlases] == [
        "mine",
        "mine",
        "mine",
        "hub/another",
    ]
    assert catalogue.atlas_of("mine") is named[0]


def test_a_model_named_twice_is_there_once(tmp_path: Path) -> None:
    assert list(Catalogue(["demo", "demo"]).models) == ["demo"]


def test_wrong_names_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(AtlasError, match="cannot be opened"):
        Catalogue([str(tmp_path / "none.nc")])
    (tmp_path / "text.txt").write_text("words")
    with pytest.raises(AtlasError, match="not an atlas"):
        Catalogue([str(tmp_path / "text.txt")])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match=r"no config\.json"):
        Catalogue([str(tmp_path / "empty")])
    (tmp_path / "empty" / "config.json").write_text("[broken")
    with pytest.raises(ModelError, match="could not be loaded"):
        Catalogue([str(tmp_path / "empty")])


def test_what_is_not_there_is_told_with_what_is() -> None:
    catalogue = Catalogue([tiny("bert")])
    with pytest.raises(NotThereError, match="there is tiny-bert"):
        catalogue.model("x")
    with pytest.raises(NotThereError, match="name one when starting"):
        catalogue.atlas("x")


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("BertForPreTraining", "mlm"),
        ("RobertaForMaskedLM", "mlm"),
        ("BertForQuestionAnswering", "qa"),
        ("DebertaV2ForSequenceClassification", "classification"),
        ("GPT2LMHeadModel", "lm"),
        ("LlamaForCausalLM", "lm"),
        ("T5ForConditionalGeneration", "lm"),
        ("BertModel", None),
        ("ElectraForPreTraining", None),
        ("BertForTokenClassification", None),
    ],
)
def test_tasks_by_the_names_of_classes(name: str, task: str | None) -> None:
    assert task_of([name]) == task


def test_a_model_in_memory_without_the_head_cannot_get_it() -> None:
    with pytest.raises(ModelError, match="wrap"):
        with_task_head(tiny("t5"), "lm")
    with pytest.raises(ModelError, match="wrap"):
        with_task_head(tiny("bert"), "mlm")
