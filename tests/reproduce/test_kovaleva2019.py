from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib import pyplot
from tests.helpers.atlases import atlas_of, empty_atlas, probe_facts
from tests.helpers.relations import made_up
from tests.helpers.tasks import headed, questions_file
from tests.helpers.tiny import tiny
from tests.helpers.treebanks import as_file, random_sentences
from tests.helpers.two_models import moved
from tests.reproduce.sweeps import facts, row, with_sweeps

import headscope as hs
from headscope.errors import OptionError
from headscope.heads.patterns import PATTERNS, PatternClassifier
from headscope.probes.features_classes import FEATURES
from headscope.reproduce.kovaleva2019 import kovaleva2019
from headscope.reproduce.kovaleva_patterns import MAP_TEXTS
from headscope.reproduce.table import Figure, Reproduction, Row
from headscope.reproduce.tasks import TaskFiles
from headscope.types import LabelledArray
from headscope.views.seen import observe

PAIRS = [("the cat sat", "a dog saw it"), ("it was red", "the mat"), ("the dog sat on it", "a red cat")] * 2
KEYS = [
    "maps", "patterns", "classifier", "roles", "change", "features", "cls_query", "disabled_heads", "disabled_layers",
]  # fmt: skip
PUBLISHED = {"table 1", *(f"figure {number}" for number in range(1, 10))}


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


def verdict(result: Reproduction, key: str, quantity: str) -> str:
    found = rows_of(result, key)[quantity].verdict
    assert found is not None
    return found.agreement


def with_change(cosines: list[float], *, model: str = "tiny", **changes: Any) -> hs.Atlas:
    """A comparison whose layers have these cosines, each ± 0.01."""
    values = np.stack([1 - np.array(cosines), np.zeros(len(cosines))], 1)
    coords = {"layer": range(len(cosines)), "change": ("cosine", "js")}
    arrays = {
        "attention_change": labelled(values, coords),
        "attention_change_stderr": labelled(np.full_like(values, 0.01), coords),
    }
    told = probe_facts(data="pairs.tsv", options={"against": "before"}, **changes)
    return empty_atlas(model=model).with_probe(
        "compare", {"encoder": arrays}, facts=told, table={}, examples={}
    )


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


def with_disabled(edit: str = "uniform", *, model: str = "tiny", **changes: Any) -> hs.Atlas:
    heads = [row("heads", "0.0", 2.0), row("heads", "0.1", -3.0, sure=True), row("heads", "1.0", 0.0)]
    heads.append(row("heads", "1.1", 1.5, sure=True))
    layers = [row("layers", "layer 0", -0.5), row("layers", "layer 1", 4.0, sure=True)]
    return with_sweeps(
        empty_atlas(model=model),
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
    for quantity in ("change most", "cosine, last two", "cosine, others"):
        assert verdict(last, "change", quantity) == "same"
    # Layer 1 changes surely more than layer 4; 0.25 against a mean of 0.57 is lower all the same.
    assert verdict(others, "change", "change most") == "different"
    assert verdict(others, "change", "cosine, last two") == "same"
    close = kovaleva2019(with_change([0.9, 0.9, 0.31, 0.2, 0.3]))
    assert verdict(close, "change", "change most") == "unclear"


def test_several_fine_tuned_models_have_rows_of_their_own() -> None:
    result = kovaleva2019(
        empty_atlas(),
        against=[
            with_change([0.9, 0.5, 0.4], model="one"),
            with_disabled(model="two"),
            with_change([0.2, 0.8, 0.9], model="three"),
            with_disabled(model="four", data="other.json"),
        ],
    )
    assert [atlas.provenance["model"] for atlas in result.others] == ["one", "two", "three", "four"]
    assert verdict(result, "change", "change most, one") == "same"
    assert verdict(result, "change", "change most, three") == "different"
    assert ours(result, "change", "cosine, layer 0, three").value == pytest.approx(0.2)
    best = [
        ours(result, "disabled_heads", f"best gain by one head, {name}").value
        for name in ("two on questions.json", "four on other.json")
    ]
    assert best == [0.02, 0.02]
    origin = result.section("disabled_layers").ours
    assert origin is not None
    assert (origin.model, origin.data) == (
        "two; and four",
        "questions.json, 1,234 questions, f1; and other.json, 1,234 questions, f1",
    )


def test_whether_weights_moved_more_is_said_in_words() -> None:
    atlas = with_change([0.9, 0.8, 0.7, 0.2, 0.3])
    found = atlas.found_by("compare")["encoder"]
    matrices, layers = ("query", "key", "value", "output"), range(5)
    weights = np.tile(np.array([[0.1, 0.1, 0.1, 0.2, 0.4]]).T, (1, 4))
    statistics = ("excess", "excess_low", "excess_high")
    control = np.broadcast_to([2.0, 1.5, 2.5], (2, 4, 3))
    arrays = found | {
        "weight_change": labelled(weights, {"layer": layers, "matrix": matrices}),
        "weight_control": labelled(
            control, {"change": ("cosine", "js"), "matrix": matrices, "statistic": statistics}
        ),
    }
    told = atlas.provenance["probes"]["compare"]
    moved_most = empty_atlas().with_probe("compare", {"encoder": arrays}, facts=told, table={}, examples={})
    note = kovaleva2019(moved_most).section("change").notes[-1]
    assert "moved more in the last two layers (30.0 % of their norm) than in the others (10.0 %)" in note
    assert "changed 2.0 times as much as that of the others (1.5 to 2.5): more" in note


def test_every_table_and_figure_is_there_or_a_line_says_why_not() -> None:
    result = kovaleva2019(with_change([0.9, 0.8]))
    covered = [name for section in result.sections for name in section.covers]
    assert len(covered) == len(set(covered))
    assert set(covered) | set(result.not_covered) == PUBLISHED
    assert not set(covered) & set(result.not_covered)
    assert all(result.not_covered.values())
    assert all(section.published.source for section in result.sections)


def test_heads_for_roles_are_held_against_their_control() -> None:
    result = kovaleva2019(with_roles())
    first, second = (ours(result, "roles", name) for name in ("strongest head", "second strongest head"))
    assert (first.value, first.detail) == (0.5, "1.2 to the role, control 30.0 %")
    assert (second.value, second.detail) == (0.3, "0.1 to the predicate, control 27.5 %")
    assert (first.low, first.high) == pytest.approx((0.5 - 0.0196, 0.5 + 0.0196))
    assert published(result, "roles", "strongest head").value == 0.209
    assert published(result, "roles", "second strongest head").value == 0.201
    assert verdict(result, "roles", "strongest head") == "same"
    assert verdict(result, "roles", "second strongest head") == "unclear"
    assert verdict(result, "roles", "heads for roles") == "different"
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
    assert verdict(result, key, "best gain by one head") == "same"  # 1.1 surely gains, though 0.0 gains more
    assert verdict(result, key, "mean over heads") == "unclear"
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
    assert (verdict(result, key, "first layer"), verdict(result, key, "best gain by one layer")) == (
        "unclear",
        "same",
    )


def test_no_gain_at_all_is_another_finding() -> None:
    losses = {"heads": (facts("heads", "uniform"), [row("heads", f"0.{n}", -2.0 - n) for n in range(3)])}
    result = kovaleva2019(with_sweeps(empty_atlas(), losses))
    for quantity in ("best gain by one head", "mean over heads", "heads that gain"):
        assert verdict(result, "disabled_heads", quantity) == "different"


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


def with_features(cls: float, sep: float, words: float) -> hs.Atlas:
    """Attention to [CLS], [SEP] and every class of words, each ± 0.01, in two layers of two heads."""
    coords = {"feature": FEATURES, "layer": range(2), "head": range(2)}
    values = np.full((len(FEATURES), 2, 2), words)
    values[FEATURES.index("cls")], values[FEATURES.index("sep")] = cls, sep
    arrays = {
        "feature_attention": labelled(values, coords),
        "feature_attention_stderr": labelled(np.full_like(values, 0.01), coords),
    }
    told = probe_facts(options={"against": None})
    return empty_atlas().with_probe("features", {"encoder": arrays}, facts=told, table={}, examples={})


@pytest.mark.parametrize(
    ("cls", "sep", "words", "told"),
    [
        (0.4, 0.3, 0.1, ("same", "same", "same")),
        (0.1, 0.3, 0.1, ("unclear", "same", "same")),
        (0.1, 0.1, 0.3, ("different", "different", "different")),
    ],
)
def test_attention_to_words_is_held_against_cls_and_sep(
    cls: float, sep: float, words: float, told: tuple[str, str, str]
) -> None:
    result = kovaleva2019(with_features(cls, sep, words))
    assert tuple(verdict(result, "features", name) for name in ("[CLS]", "[SEP]", "noun")) == told
    assert "an encoder" in result.section("cls_query").needs


def test_kept_atlases_give_the_same_figures(two: Reproduction, tmp_path: Path) -> None:
    first, second = tmp_path / "a.nc", tmp_path / "b.nc"
    assert two.against is not None
    two.atlas.save(first)
    two.against.save(second)
    assert kovaleva2019(first, against=second).facts() == two.facts()


@pytest.mark.filterwarnings("ignore:. independent texts cannot make")
@pytest.mark.filterwarnings("ignore:.* texts were longer than")
def test_each_task_is_for_its_own_model(tmp_path: Path) -> None:
    labels = tmp_path / "labels.tsv"
    labels.write_text("".join(f"{a}\t{b}\t{n % 2}\n" for n, (a, b) in enumerate(PAIRS)), encoding="utf-8")
    answering, deciding = headed("bert", "qa"), headed("bert", "classification")
    asked = TaskFiles("qa", (questions_file(tmp_path / "questions.json"),))
    task = hs.task_for("classification", labels, deciding)
    result = kovaleva2019(tiny("bert"), against=[deciding, answering], task=[asked, task], max_length=32)
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
