"""The whole of it, with tiny models."""

from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib import pyplot
from papers.tests.reproduce.kovaleva.material import (
    ours,
    published,
    rows_of,
    with_change,
    with_disabled,
    with_roles,
)
from tests.helpers.atlases import atlas_of
from tests.helpers.relations import made_up
from tests.helpers.tasks import headed, questions_file
from tests.helpers.tiny import tiny
from tests.helpers.treebanks import as_file, random_sentences
from tests.helpers.two_models import moved

import headscope as hs
from headscope.errors import OptionError
from headscope.kinds.patterns import PATTERNS, PatternClassifier
from headscope.pages.seen import observe
from headscope_papers.reproduce.kovaleva.patterns import MAP_TEXTS
from headscope_papers.reproduce.kovaleva2019 import kovaleva2019
from headscope_papers.reproduce.study import TaskFiles
from headscope_papers.reproduce.table import Reproduction

PAIRS = [("the cat sat", "a dog saw it"), ("it was red", "the mat"), ("the dog sat on it", "a red cat")] * 2


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """Everything there is, of the tiny BERT and the same with weights that moved."""
    folder = tmp_path_factory.mktemp("data")
    parsed = folder / "dev.conllu"
    parsed.write_text(as_file(random_sentences(12, seed=3, documents=4)), encoding="utf-8")
    return kovaleva2019(
        tiny("bert"),
        against=moved("bert"),
        text=hs.read_pairs(pairs_file(folder)),
        treebank=hs.read_treebank(parsed),
        roles=hs.read_roles(made_up(folder)),
        max_length=32,
    )


def pairs_file(folder: Path) -> Path:
    path = folder / "pairs.tsv"
    path.write_text("".join(f"{first}\t{second}\n" for first, second in PAIRS), encoding="utf-8")
    return path


def test_rows_with_both_columns_have_a_verdict(two: Reproduction) -> None:
    for result in (two, kovaleva2019(with_roles()), kovaleva2019(with_disabled())):
        rows = [row for section in result.sections for row in section.rows]
        without = [row.quantity for row in rows if row.published and row.ours and row.verdict is None]
        assert without == []


def test_all_drawings_can_be_drawn(two: Reproduction) -> None:
    titles = []
    for section in two.sections:
        for drawing in section.drawings:
            chart, ax = pyplot.subplots(figsize=drawing.size, layout="constrained")
            drawing.draw(ax)
            chart.canvas.draw()
            pyplot.close(chart)
            titles.append(f"{section.key}: {drawing.title}")
    assert titles[0] == "maps: Typical maps"
    for title in (
        "patterns: Patterns",
        "roles: Attention to the role",
        "change: Cosine of every head, moved-bert",
        "features: Attention to [SEP], tiny-bert",
        "cls_query: [CLS] in the last layer, moved-bert",
    ):
        assert title in titles


def test_shown_maps_are_those_the_networks_are_surest_of(two: Reproduction) -> None:
    rows = two.atlas.table("pattern_maps")
    shown = {row["pattern"]: row for row in rows}
    best: dict[str, float] = {}
    for first, second in PAIRS[:MAP_TEXTS]:
        seen = observe(tiny("bert"), first, second, max_length=32)
        for layer in range(seen.stack("encoder").layers):
            maps = torch.from_numpy(seen.layer("encoder", layer))
            for one in PatternClassifier.load().probabilities(maps).tolist():
                for pattern, probability in zip(PATTERNS, one, strict=True):
                    best[pattern] = max(best.get(pattern, 0.0), probability)
    assert {name: row["probability"] for name, row in shown.items()} == pytest.approx(
        {name: value for name, value in best.items() if value > 0.5}
    )


def test_two_models_side_by_side(two: Reproduction) -> None:
    left_out = {section.key for section in two.sections if section.needs}
    assert left_out == {"disabled_heads", "disabled_layers"}
    assert two.against is not None
    names = (two.atlas.provenance["model"], two.against.provenance["model"])
    assert names == ("tiny-bert", "moved-bert")
    shares = [ours(two, "patterns", f"{pattern}, moved-bert").value for pattern in PATTERNS]
    expected = hs.find_patterns(moved("bert"), PAIRS, max_length=32).table()[0]
    assert shares == pytest.approx([expected[pattern]["share"] for pattern in PATTERNS])
    assert published(two, "patterns", "heterogeneous, moved-bert").words == "32 to 61 %"
    assert rows_of(two, "patterns")["heterogeneous, tiny-bert"].published is None
    compared = hs.compare(tiny("bert"), moved("bert"), PAIRS, max_length=32).table()
    for layer in compared:
        cosine = ours(two, "change", f"cosine, layer {layer['layer']}").value
        assert cosine == pytest.approx(1 - layer["change_cosine"])


def test_features_are_means_over_heads(two: Reproduction) -> None:
    assert two.against is not None
    before, after = (atlas.stack("encoder") for atlas in (two.atlas, two.against))
    for section, query in (("features", ""), ("cls_query", "_cls")):
        for name, shown in (("subject", "subject"), ("sep", "[SEP]")):
            first, second = (
                arrays[f"feature_attention{query}"].sel(feature=name).values for arrays in (before, after)
            )
            for values, ending in ((first, ""), (second, ", moved-bert"), (second - first, ", change")):
                found = ours(two, section, shown + ending)
                assert found.value == pytest.approx(values.mean())
                layer, head = map(int, found.detail.split("."))
                assert layer == 2 or not query
                here = values[head] if query else values[layer, head]
                assert abs(here) == pytest.approx(np.abs(values).max())
            change = ours(two, section, f"{shown}, change")
            assert (change.low or 0) < (change.value or 0) < (change.high or 0)
    sep = before["feature_attention"].sel(feature="sep").values
    assert ours(two, "features", "[SEP], earlier layers").value == pytest.approx(sep[:1].mean())
    assert ours(two, "features", "[SEP], later layers").value == pytest.approx(sep[1:].mean())
    assert published(two, "features", "[SEP], later layers").words == "more"


def test_features_beside_the_first_model_are_read_as_before(two: Reproduction, tmp_path: Path) -> None:
    path = tmp_path / "dev.conllu"
    path.write_text(as_file(random_sentences(12, seed=3, documents=4)), encoding="utf-8")
    probe = hs.FeaturesProbe(tiny("bert"), against=moved("bert"), max_length=32)
    beside = kovaleva2019(probe.score(hs.read_treebank(path)).to_atlas())
    for section in ("features", "cls_query"):
        wanted, found = (
            {
                quantity: row.ours.value
                for quantity, row in rows_of(result, section).items()
                if row.ours is not None
            }
            for result in (two, beside)
        )
        assert found == pytest.approx(wanted, abs=1e-6)


@pytest.mark.slow
def test_kept_atlases_give_the_same_figures(two: Reproduction, tmp_path: Path) -> None:
    first, second = tmp_path / "a.nc", tmp_path / "b.nc"
    assert two.against is not None
    two.atlas.save(first)
    two.against.save(second)
    assert kovaleva2019(first, against=second).facts() == two.facts()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:. independent texts cannot make")
@pytest.mark.filterwarnings("ignore:.* texts were longer than")
def test_each_task_is_for_its_own_model(tmp_path: Path) -> None:
    labels = tmp_path / "labels.tsv"
    labels.write_text("".join(f"{a}\t{b}\t{n % 2}\n" for n, (a, b) in enumerate(PAIRS)), encoding="utf-8")
    answering, deciding = headed("bert", "qa"), headed("bert", "classification")
    asked = TaskFiles("qa", (questions_file(tmp_path / "questions.json"),))
    task = hs.task_for("classification", labels, deciding)
    result = kovaleva2019(
        tiny("bert"),
        against=[deciding, answering],
        text=hs.read_pairs(pairs_file(tmp_path)),
        task=[asked, task],
        limit=2,
        max_length=32,
    )
    names = [atlas.provenance["model"] for atlas in (result.atlas, *result.others)]
    assert names == ["tiny-bert", deciding.name, answering.name]
    for model, made, data, scale, metric in (
        (deciding, task, "labels.tsv", 100, "accuracy"),
        (answering, hs.task_for("qa", asked.files[0], answering), "questions.json", 100, "f1"),
    ):
        for one in hs.ablate(model, made, sweep="layers", how="uniform").table():
            found = ours(result, "disabled_layers", f"{one['name']}, {model.name} on {data}").value
            assert found == pytest.approx(one["change"][metric] / scale)
        # Patterns and the change by fine-tuning are those on the task's own inputs.
        inputs = made.corpus()
        for name, shown in ((model.name, model), ("tiny-bert", tiny("bert"))):
            whole = hs.find_patterns(shown, inputs, max_length=32).table()[0]
            shares = [ours(result, "patterns", f"{one}, {name} on {data}").value for one in PATTERNS]
            assert shares == pytest.approx([whole[one]["share"] for one in PATTERNS])
        layer = hs.compare(tiny("bert"), model, inputs, max_length=32).table()[1]
        assert ours(result, "change", f"cosine, layer 1, {model.name}").value == pytest.approx(
            1 - layer["change_cosine"]
        )
    assert ours(result, "patterns", "block, tiny-bert on pairs.tsv").value is not None
    assert kovaleva2019(result.atlas, against=result.others).facts() == result.facts()


def test_what_cannot_work_is_told() -> None:
    with pytest.raises(OptionError, match="give at least one of text, treebank, roles, task"):
        kovaleva2019(tiny("bert"))
    with pytest.raises(OptionError, match="text cannot be read with an atlas"):
        kovaleva2019(with_change([0.9]), text=hs.read_text(hs.sample_path("articles")))
    with pytest.raises(OptionError, match="all be models, or all be atlases"):
        kovaleva2019(with_change([0.9]), against=tiny("bert"))
    with pytest.raises(OptionError, match=r"has nothing that Kovaleva et al\. 2019 measured"):
        kovaleva2019(atlas_of({}))
