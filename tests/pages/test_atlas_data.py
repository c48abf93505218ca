import json

import numpy as np
import pytest
from tests.helpers.atlas_views import with_kinds
from tests.helpers.atlases import (
    atlas_of,
    empty_atlas,
    head_distance,
    per_head,
    probe_facts,
    random_atlas,
    with_dependency,
)
from tests.helpers.kinds import kinds_atlas, kinds_of_heads
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.atlas import Atlas
from headscope.pages.atlas import atlas_data
from headscope.pages.shapes.views import AtlasStack, Colouring, Finding, FindingPart
from headscope.types import LabelledArray


def only_stack(atlas: Atlas) -> AtlasStack:
    [stack] = atlas_data(atlas).stacks
    return stack


def by_key(atlas: Atlas) -> dict[str, Colouring]:
    colourings = only_stack(atlas).colourings
    found = {one.key: one for one in colourings}
    assert len(found) == len(colourings), "keys are told apart"
    return found


def test_every_slice_of_every_measure_is_there() -> None:
    atlas = random_atlas()
    found = by_key(atlas)
    for measure in ("offset_attention", "role_attention", "entropy", "distance_features", "named_patterns"):
        array = atlas[measure]
        slices = [key for key in found if key.split(":")[0] == measure]
        assert len(slices) == array.size // 12
    one = found["role_attention:query_role=sep,role=cls"]
    array = atlas["role_attention"].sel(query_role="sep", role="cls")
    np.testing.assert_allclose(one.values, array.values.ravel(), rtol=1e-4)
    np.testing.assert_allclose(one.stderr, np.full(12, 0.01))
    assert (one.title, one.unit, one.kind) == (
        "Attention to [CLS], from [SEP]",
        "share of attention",
        "number",
    )
    assert found["entropy:query_role=all"].unit == "nats"
    assert not any("head_distance" in key or "uniform" in key or "stderr" in key for key in found)


def test_layers_come_one_after_the_other() -> None:
    values = np.arange(6.0).reshape(2, 3)
    stack = only_stack(atlas_of(per_head("my_measure", values, stderr=None)))
    [one] = stack.colourings
    assert (stack.layers, stack.heads) == (2, 3)
    assert one.values == [0, 1, 2, 3, 4, 5]
    assert (one.key, one.title, one.stderr, one.diverging) == ("my_measure", "My measure", None, False)


def test_what_is_missing_is_null_and_what_is_all_missing_is_left_out() -> None:
    values = np.array([[0.1, np.nan], [np.inf, -0.2]])
    both = np.stack([values, np.full((2, 2), np.nan)], -1)
    found = by_key(atlas_of(per_head("odd", both, {"way": ("here", "there")}, stderr=float("nan"))))
    assert list(found) == ["odd:way=here"]
    assert found["odd:way=here"].values == [0.1, None, None, -0.2]
    assert found["odd:way=here"].stderr is None
    assert found["odd:way=here"].diverging
    json.loads(atlas_data(atlas_of(per_head("odd", both, {"way": ("a", "b")}))).model_dump_json())


def test_kinds_and_patterns_are_categories() -> None:
    atlas = kinds_atlas(6, 8)
    shares = np.zeros((6, 8, 5))
    shares[..., 1] = 1
    shares[2, 3] = [0.1, 0.2, 0.0, 0.7, 0.0]
    shares[0, 0] = np.nan
    names = ("vertical", "diagonal", "vertical+diagonal", "block", "heterogeneous")
    coords = {"layer": range(6), "head": range(8), "pattern": names}
    atlas = atlas.with_probe(
        "patterns",
        {"encoder": {"pattern_share": LabelledArray(shares, tuple(coords), coords, "share of texts")}},
        facts=probe_facts(),
        table={},
        examples={},
    )
    kinds = kinds_of_heads(6, 8)
    found = by_key(with_kinds(atlas, kinds))
    kind = found["head_type"]
    assert kind.kind == "category"
    assert kind.labels is not None
    assert [kind.labels[int(value)] for value in kind.values if value is not None] == list(kinds.ravel())
    pattern = found["pattern"]
    assert pattern.labels == list(names)
    assert (pattern.values[0], pattern.values[1], pattern.values[19]) == (None, 1, 3)
    assert found["pattern_share:pattern=block"].title == "Maps that are block"


def test_probes_say_what_they_were_asked_on() -> None:
    found = by_key(with_dependency(random_atlas()))
    one = found["dependency_accuracy:relation=det,direction=dependent_to_head"]
    assert one.values[6] == 0.91
    assert "det" in one.title
    assert "dev.conllu" in one.about
    assert "dependency_count" not in found


def test_no_variable_is_named_in_what_numbers_are_about() -> None:
    kinds = LabelledArray(
        kinds_of_heads(6, 8), ("layer", "head"), {"layer": range(6), "head": range(8)}, "kind by some_measure"
    )
    atlas = kinds_atlas(6, 8).with_probe(
        "types",
        {"encoder": {"head_type": kinds}},
        facts=probe_facts(data="distance_features of this atlas"),
        table={},
        examples={},
    )
    found = by_key(atlas)
    assert found["head_type"].about == "kind by some measure; by the distance features in this atlas"
    assert not [one.about for one in found.values() if "_" in one.about]


def test_ablations_have_their_metrics_and_units() -> None:
    change = np.linspace(-2, 1, 24).reshape(3, 4, 2)
    metrics = {"metric": ("f1", "loss")}
    arrays = per_head("ablation_change", change, metrics)
    arrays |= per_head("ablation_change_low", change - 1, metrics, stderr=None)
    arrays |= per_head("ablation_p", abs(change) / 2, metrics, stderr=None)
    arrays |= per_head("ablation_significant", (change < -1).astype(float), metrics, stderr=None)
    told = {
        "data": "dev.json",
        "edit": "zero",
        "metrics": {"f1": {"unit": "%", "higher_is_better": True}, "loss": {"unit": "nats"}},
    }
    atlas = random_atlas().with_probe(
        "ablation", {"encoder": arrays}, facts=probe_facts(sweeps={"heads": told}), table={}, examples={}
    )
    found = {key: one for key, one in by_key(atlas).items() if key.startswith("ablation")}
    assert sorted(found) == [
        f"ablation_{name}:metric={m}" for name in ("change", "significant") for m in ("f1", "loss")
    ]
    one = found["ablation_change:metric=f1"]
    assert (one.title, one.unit, one.diverging) == ("Change of F1 with the head removed", "points", True)
    assert found["ablation_change:metric=loss"].unit == "nats"
    sure = found["ablation_significant:metric=f1"]
    assert (sure.kind, sure.labels) == ("category", ["not significant", "significant"])
    assert sure.values == [float(value < -1) for value in change[..., 0].ravel()]


def test_changes_between_models_name_the_other_model() -> None:
    change = np.linspace(-0.2, 0.2, 12).reshape(3, 4, 1)
    arrays = per_head("entropy_change", change, {"query_role": ("all",)}, units="nats")
    arrays |= per_head("entropy_before", change + 1, {"query_role": ("all",)}, units="nats")
    arrays |= per_head("attention_js", abs(change[..., 0]), units="nats")
    facts = probe_facts(options={"against": "demo-mrpc"})
    atlas = random_atlas().with_probe("compare", {"encoder": arrays}, facts=facts, table={}, examples={})
    found = by_key(atlas)
    one = found["entropy_change:query_role=all"]
    assert (one.title, one.group) == ("Change from demo-mrpc: entropy of attention", "Beside demo-mrpc")
    assert one.diverging
    assert found["attention_js"].unit == "nats"
    assert not any("before" in key for key in found)


def test_heads_are_points_in_the_order_of_the_grid() -> None:
    places = np.random.default_rng(0).normal(size=(12, 2))
    distance = np.linalg.norm(places[:, None] - places[None], axis=-1)
    [drawn] = only_stack(atlas_of(head_distance(distance, layers=3, heads=4))).maps
    assert (drawn.key, drawn.title) == ("mds", "MDS")
    assert "distances on the page follow" in drawn.about
    found = np.array(drawn.points)
    np.testing.assert_allclose(
        np.linalg.norm(found[:, None] - found[None], axis=-1), distance, atol=1e-2
    )  # a plane is drawn as it is


def test_points_follow_the_names_of_heads_and_not_their_order_in_the_file() -> None:
    places = np.random.default_rng(1).normal(size=(4, 2))
    distance = np.linalg.norm(places[:, None] - places[None], axis=-1)
    shuffled = [2, 0, 3, 1]
    labels = [("0.0", "0.1", "1.0", "1.1")[number] for number in shuffled]
    array = LabelledArray(
        distance[np.ix_(shuffled, shuffled)],
        ("head_a", "head_b"),
        {"head_a": labels, "head_b": labels},
        "distance",
        "nats",
    )
    stack = only_stack(atlas_of({"head_distance": array}))
    assert (stack.layers, stack.heads) == (2, 2)
    found = np.array(stack.maps[0].points)
    np.testing.assert_allclose(np.linalg.norm(found[:, None] - found[None], axis=-1), distance, atol=1e-2)


@pytest.mark.parametrize(
    ("atlas", "names"),
    [
        (random_atlas(), ["mds", "tsne"]),
        (random_atlas(1, 4), ["mds"]),  # too few for t-SNE
        (random_atlas(1, 2), []),
        (random_atlas(stacks=("cross",)), ["mds"]),  # which has no distance features
        (atlas_of(head_distance(np.full((12, 12), np.nan), layers=3, heads=4)), []),
    ],
)
def test_maps_that_cannot_be_drawn_are_left_out(atlas: Atlas, names: list[str]) -> None:
    stack = only_stack(atlas)
    assert [drawn.key for drawn in stack.maps] == names
    assert all(len(drawn.points) == stack.layers * stack.heads for drawn in stack.maps)


def test_what_is_shown_first() -> None:
    """Kinds where known, else an effect, else entropy; the head of the first finding, else one that stands out."""
    measured = only_stack(random_atlas())
    assert measured.first_colouring == "entropy:query_role=all"
    assert measured.first_measures is not None
    across, up = measured.first_measures
    assert (across, up.split(":")[0] != "entropy") == ("entropy:query_role=all", True)
    entropy = {one.key: one.values for one in measured.colourings}[across]
    assert measured.first_head == int(np.argmax(np.abs(np.array(entropy, dtype=float))))
    kinds = np.full((3, 4), "dense", dtype=object)
    kinds[2, 1] = "local"
    sorted_ = only_stack(with_kinds(random_atlas(), kinds))
    assert sorted_.first_colouring == "head_type"
    assert sorted_.first_head == 9  # 2.1, the only one of its kind
    parts = [
        FindingPart(text="Head "),
        FindingPart(text="9.9", head="9.9"),
        FindingPart(text="1.2", head="1.2"),
    ]
    named = Finding(topic="Habits", stack="encoder", parts=parts, heads=["1.2"], value=1.0)
    [stack] = atlas_data(random_atlas(), findings=[ONE, named]).stacks
    assert stack.first_head == 6  # which 9.9 is not there to be


ONE = Finding(topic="Habits", stack="cross", parts=[FindingPart(text="One.")], heads=[], value=1.0)


def test_all_stacks_and_facts() -> None:
    data = atlas_data(
        random_atlas(stacks=("encoder", "decoder", "cross")), id="x", name="x.nc", findings=[ONE]
    )
    assert [stack.name for stack in data.stacks] == ["encoder", "decoder", "cross"]
    assert (data.id, data.name, data.model, data.architecture) == ("x", "x.nc", "tiny", "BertModel")
    assert data.about == "64 texts, 7,036 tokens from corpus.txt"
    assert data.findings == [ONE]
    titles = {one.key: one.title for one in data.stacks[1].colourings}
    assert titles["role_attention:query_role=all,role=cls"] == "Attention to the first token"


def test_an_atlas_without_heads_is_empty() -> None:
    assert atlas_data(empty_atlas()).stacks == []


def test_what_heads_move_is_linked_with_where_they_look() -> None:
    texts = ["the cat sat on it.", "a dog saw it."]
    known = hs.analyze(tiny("bert"), texts, measures=["entropy", "loudness"], max_length=32)
    every = {each.key: each for each in atlas_data(known, with_maps=False).stacks[0].colourings}
    linked = [each for each in every.values() if each.other]
    assert {each.weigh for each in linked} == {"looked", "moved"}
    for each in linked:
        back = every[str(each.other)]
        assert (back.other, back.weigh == each.weigh) == (each.key, False)
        assert ("_moved" in each.key) is (each.weigh == "moved")
    assert every["loudness"].other is None
