"""All papers at once: each gets its data, nothing is measured twice, and atlases give the same again."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.atlases import random_atlas
from tests.helpers.tasks import headed, questions_file
from tests.helpers.tiny import tiny
from tests.helpers.treebanks import as_file, random_sentences

import headscope as hs
from headscope.errors import HeadscopeWarning, OptionError
from headscope.text.corpus import as_corpus
from headscope_papers.reproduce import Material, clark2019, everything, reproduce_all, study
from headscope_papers.reproduce.study import TaskFiles

PAPERS = ["clark2019", "kovaleva2019", "vig2019", "guan2020", "kobayashi2020"]
TEXTS = [("the cat sat on the mat", "a dog saw the cat"), ("it was red", "the mat was red and blue")] * 3

pytestmark = pytest.mark.filterwarnings("ignore::headscope.errors.HeadscopeWarning")


def material(folder: Path, **changes: Any) -> Material:
    path = folder / "dev.conllu"
    path.write_text(as_file(random_sentences(8, seed=3, documents=4)), encoding="utf-8")
    return Material(text=as_corpus(TEXTS), treebank=hs.read_treebank(path), **changes)


def test_papers_share_one_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[str] = []
    analyze = study.analyze
    monkeypatch.setattr(
        study, "analyze", lambda model, *a, **k: runs.append(model.name) or analyze(model, *a, **k)
    )
    steps: list[str] = []
    tuned = headed("bert", "qa")
    data = material(
        tmp_path, tasks=[TaskFiles("qa", (questions_file(tmp_path / "questions.json"),))], examples=3
    )
    results = reproduce_all(tiny("bert"), against=[tuned], material=data, max_length=32, tell=steps.append)
    assert [result.paper for result in results] == PAPERS
    assert runs == [tiny("bert").name, tuned.name]  # each model's texts are read once
    assert steps[0] == f"all papers: measures, {tiny('bert').name}"
    assert any(step.startswith("kovaleva2019: heads:") and step.endswith(tuned.name) for step in steps)
    assert f"vig2019: explain, {tiny('bert').name}" in steps
    kovaleva = results[1]
    assert not kovaleva.section("disabled_heads").needs
    assert not kovaleva.section("change").needs
    # The same as the paper's own function finds.
    alone = clark2019(tiny("bert"), text=as_corpus(TEXTS), treebank=data.treebank, max_length=32)
    assert json.dumps(alone.facts()["sections"]) == json.dumps(results[0].facts()["sections"])
    again = reproduce_all(kovaleva.atlas, against=kovaleva.others)
    assert json.dumps([one.facts() for one in again]) == json.dumps([one.facts() for one in results])


def test_without_data_the_sample_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Material] = []
    monkeypatch.setattr(
        everything, "PAPERS", (study.Paper("x", (), lambda study: seen.append(study.data), lambda *_: None),)
    )
    monkeypatch.setattr(study.Study, "measure", lambda *_, **__: None)
    reproduce_all(tiny("bert"), material=Material(seed=3))
    sample = seen[0]
    assert sample.text is not None
    assert (sample.text.name, sample.seed) == ("articles.txt", 3)
    assert None not in (sample.treebank, sample.coreference, sample.roles)


def test_a_paper_that_nothing_is_known_for_is_left_out() -> None:
    with pytest.warns(HeadscopeWarning, match="kovaleva2019 is left out: the atlas has nothing"):
        results = reproduce_all(random_atlas())
    assert [result.paper for result in results] == ["clark2019", "vig2019", "guan2020"]


def test_atlases_take_no_data() -> None:
    with pytest.raises(OptionError, match="cannot be read with an atlas"):
        reproduce_all(random_atlas(), material=Material(text=as_corpus(TEXTS)))
