from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.helpers.atlases import atlas_of, empty_atlas, probe_facts
from tests.helpers.relations import made_up
from tests.helpers.tasks import headed, questions_file
from tests.helpers.tiny import tiny
from tests.helpers.treebanks import as_file, random_sentences
from tests.helpers.two_models import moved
from tests.reproduce.sweeps import facts, row, with_sweeps

import headscope as hs
from headscope.errors import OptionError
from headscope.heads.patterns import PATTERNS
from headscope.reproduce.kovaleva2019 import kovaleva2019
from headscope.reproduce.table import Figure, Reproduction, Row
from headscope.types import LabelledArray

PAIRS = [("the cat sat", "a dog saw it"), ("it was red", "the mat"), ("the dog sat on it", "a red cat")] * 2
KEYS = ["patterns", "classifier", "roles", "change", "features", "disabled_heads", "disabled_layers"]


def rows_of(result: Reproduction, key: str) -> dict[str, Row]:
    return {row.quantity: row for row in result.section(key).rows}


def ours(result: Reproduction, key: str, quantity: str) -> Figure:
    found = rows_of(result, key)[quantity].ours
    assert found is not None
    return found


def published(result: Reproduction, key: str, quantity: str) -> Figure:
    found = rows_of(result, key)[quantity].published
    assert found is not None
    return found


def labelled(values: Any, coords: dict[str, Any]) -> LabelledArray:
    return LabelledArray(np.asarray(values, float), tuple(coords), coords, "known")


def with_change(cosines: list[float], **changes: Any) -> hs.Atlas:
    """A comparison whose layers have these cosines, each ± 0.01."""
    values = np.stack([1 - np.array(cosines), np.zeros(len(cosines))], 1)
    coords = {"layer": range(len(cosines)), "change": ("cosine", "js")}
    arrays = {
        "attention_change": labelled(values, coords),
        "attention_change_stderr": labelled(np.full_like(values, 0.01), coords),
    }
    told = probe_facts(data="pairs.tsv", options={"against": "before"}, **changes)
    return empty_atlas().with_probe("compare", {"encoder": arrays}, facts=told, table={}, examples={})


def with_roles() -> hs.Atlas:
    """Head 1.2 gives 0.5 to the role, 0.1 the other way round 0.3; only 1.2 is surely above its control."""
    attention = np.full((2, 2, 3), 0.05)
    attention[0, 1, 2], attention[1, 0, 1] = 0.5, 0.3
    difference = np.full_like(attention, 0.001)
    difference[0, 1, 2], difference[1, 0, 1] = 0.2, 0.025
    coords = {
        "direction": ("predicate_to_argument", "argument_to_predicate"),
        "layer": range(2),
        "head": range(3),
    }
    arrays = {}
    for name, values in (
        ("attention", attention),
        ("control", attention - difference),
        ("difference", difference),
    ):
        arrays[f"relation_overall_{name}"] = labelled(values, coords)
        arrays[f"relation_overall_{name}_stderr"] = labelled(np.full_like(values, 0.01), coords)
    chosen = {"role": "all", "head": "1.2", "direction": "predicate_to_argument", "cases": 40}
    table = [chosen | {"difference": 0.19, "low": 0.15, "high": 0.23}]
    told = probe_facts(data="roles.jsonl", texts=1)
    return empty_atlas().with_probe(
        "relations", {"encoder": arrays}, facts=told, table={"encoder": table}, examples={}
    )


def with_disabled(edit: str = "uniform", **changes: Any) -> hs.Atlas:
    heads = [row("heads", "0.0", 2.0), row("heads", "0.1", -3.0, sure=True), row("heads", "1.0", 0.0)]
    heads.append(row("heads", "1.1", 1.5, sure=True))
    layers = [row("layers", "layer 0", -0.5), row("layers", "layer 1", 4.0, sure=True)]
    return with_sweeps(
        empty_atlas(),
        {
            "heads": (facts("heads", edit, **changes), heads),
            "layers": (facts("layers", edit, **changes), layers),
        },
    )


def test_the_two_layers_that_change_most_are_told() -> None:
    last = kovaleva2019(with_change([0.9, 0.8, 0.7, 0.2, 0.3]))
    assert ours(last, "change", "change most") == Figure(None, detail="layers 3, 4", words="the last two")
    mean = ours(last, "change", "cosine, last two")
    assert (mean.value, mean.low, mean.high) == pytest.approx((0.25, 0.25 - 0.0196, 0.25 + 0.0196))
    assert ours(last, "change", "cosine, others").value == pytest.approx(0.8)
    assert ours(last, "change", "cosine, layer 3").value == pytest.approx(0.2)
    origin = last.section("change").ours
    assert origin is not None
    assert (origin.model, origin.data) == ("before and tiny", "pairs.tsv, 120 texts")
    others = kovaleva2019(with_change([0.9, 0.1, 0.7, 0.2, 0.3]))
    assert ours(others, "change", "change most") == Figure(None, detail="layers 1, 3", words="others")


def test_heads_for_roles_are_held_against_their_control() -> None:
    result = kovaleva2019(with_roles())
    first, second = (ours(result, "roles", name) for name in ("strongest head", "second strongest head"))
    assert (first.value, first.detail) == (0.5, "1.2 to the role, control 30.0 %")
    assert (second.value, second.detail) == (0.3, "0.1 to the predicate, control 27.5 %")
    assert (first.low, first.high) == pytest.approx((0.5 - 0.0196, 0.5 + 0.0196))
    assert published(result, "roles", "strongest head").value == 0.209
    assert published(result, "roles", "second strongest head").value == 0.201
    # 0.025 is 2.5 standard errors: above 1.96, below the 2.87 that 12 comparisons ask for.
    assert ours(result, "roles", "heads for roles") == Figure(1, detail="of 6")
    assert ours(result, "roles", "best head less its control") == Figure(
        0.19, 0.15, 0.23, "1.2 to the role", 40
    )
    origin = result.section("roles").ours
    assert origin is not None
    assert origin.data == "roles.jsonl, 1 text"


def test_disabled_heads_by_hand() -> None:
    result = kovaleva2019(with_disabled())
    key = "disabled_heads"
    assert ours(result, key, "untouched") == Figure(0.40, 0.35, 0.45)
    assert ours(result, key, "best gain by one head") == Figure(0.02, 0.01, 0.03, "0.0")
    assert ours(result, key, "worst loss by one head") == Figure(-0.03, -0.04, -0.02, "0.1, significant")
    mean = ours(result, key, "mean over heads")
    assert (mean.value, mean.low, mean.high) == pytest.approx((0.00125, -0.00875, 0.01125))
    counts = {
        name: ours(result, key, f"heads that {name}").value for name in ("gain", "surely gain", "surely lose")
    }
    assert counts == {"gain": 2, "surely gain": 1, "surely lose": 1}
    assert (
        published(result, key, "best gain by one head").low,
        published(result, key, "mean over heads").words,
    ) == (
        0.001,
        "a gain",
    )
    origin = result.section(key).ours
    assert origin is not None
    assert origin.data == "questions.json, 1,234 questions, f1"


def test_disabled_layers_by_hand() -> None:
    result = kovaleva2019(with_disabled())
    key = "disabled_layers"
    assert ours(result, key, "first layer") == Figure(-0.005, -0.015, 0.005)
    assert published(result, key, "first layer") == Figure(0.032, detail="RTE")
    assert ours(result, key, "best gain by one layer").detail == "layer 1, significant"
    assert ours(result, key, "layer 1") == Figure(0.04, 0.03, 0.05, "significant")


def test_a_gain_is_a_lower_loss() -> None:
    loss = {"loss": {"unit": "nats", "digits": 3, "higher_is_better": False}}
    result = kovaleva2019(with_disabled(task="mlm", metrics=loss))
    rows = rows_of(result, "disabled_heads")
    assert rows["untouched"].unit == "nats"
    best = ours(result, "disabled_heads", "best gain by one head")
    assert (best.value, best.low, best.high) == pytest.approx((0.3, -0.7, 1.3))
    assert best.detail == "0.1, significant"


@pytest.mark.parametrize(("edit", "told"), [("uniform", False), ("zero", True)])
def test_another_way_to_disable_is_told(edit: str, *, told: bool) -> None:
    for key in ("disabled_heads", "disabled_layers"):
        notes = kovaleva2019(with_disabled(edit)).section(key).notes
        assert any(f"this sweep is with {edit}" in note for note in notes) == told


def test_sections_without_data_say_what_they_need() -> None:
    result = kovaleva2019(with_change([0.9, 0.8]))
    assert [section.key for section in result.sections] == KEYS
    needs = {section.key: section.needs for section in result.sections}
    assert needs["classifier"] == needs["change"] == ""
    for key, option in (("patterns", "--pairs"), ("roles", "--roles"), ("features", "--treebank")):
        assert f"{option} FILE" in needs[key]
    assert "--task NAME and --data FILE" in needs["disabled_heads"]
    assert published(result, "classifier", "macro-F1").value == 0.86
    assert 0.5 < (ours(result, "classifier", "macro-F1").value or 0) < 1


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
    arrays = two.atlas.stack("encoder")
    for name, shown in (("subject", "subject"), ("sep", "[SEP]")):
        for array, ending in (
            ("feature_attention", ""),
            ("feature_attention_against", ", moved-bert"),
            ("feature_change", ", change"),
        ):
            values = arrays[array].sel(feature=name).values
            found = ours(two, "features", shown + ending)
            assert found.value == pytest.approx(values.mean())
            layer, head = map(int, found.detail.split("."))
            assert abs(values[layer, head]) == np.abs(values).max()
    sep = arrays["feature_attention"].sel(feature="sep").values
    assert ours(two, "features", "[SEP], earlier layers").value == pytest.approx(sep[:1].mean())
    assert ours(two, "features", "[SEP], later layers").value == pytest.approx(sep[1:].mean())
    assert published(two, "features", "[SEP], later layers").words == "more"


def test_kept_atlases_give_the_same_figures(two: Reproduction, tmp_path: Path) -> None:
    first, second = tmp_path / "a.nc", tmp_path / "b.nc"
    assert two.against is not None
    two.atlas.save(first)
    two.against.save(second)
    assert kovaleva2019(first, against=second).facts() == two.facts()


@pytest.mark.filterwarnings("ignore:. independent texts cannot make")
def test_the_fine_tuned_model_is_the_one_whose_heads_are_disabled(tmp_path: Path) -> None:
    model = headed("bert", "qa")
    task = hs.task_for("qa", questions_file(tmp_path / "questions.json"), model)
    result = kovaleva2019(tiny("bert"), against=model, task=task)
    assert result.atlas.provenance["model"] == model.name
    assert result.against is None
    expected = hs.ablate(model, task, sweep="layers", how="uniform").table()
    for one in expected:
        assert ours(result, "disabled_layers", one["name"]).value == pytest.approx(one["change"]["f1"] / 100)
    assert len(result.atlas["ablation_change"].values) == 3


def test_what_cannot_work_is_told() -> None:
    with pytest.raises(OptionError, match="give at least one of text, treebank, roles, task"):
        kovaleva2019(tiny("bert"))
    with pytest.raises(OptionError, match="text cannot be read with an atlas"):
        kovaleva2019(with_change([0.9]), text=hs.read_text(hs.sample_path("articles")))
    with pytest.raises(OptionError, match="all be models, or all be atlases"):
        kovaleva2019(with_change([0.9]), against=tiny("bert"))
    with pytest.raises(OptionError, match=r"has nothing that Kovaleva et al\. 2019 measured"):
        kovaleva2019(atlas_of({}))
