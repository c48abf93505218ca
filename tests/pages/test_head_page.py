import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, t
from tests.helpers.atlas_views import with_kinds
from tests.helpers.atlases import (
    atlas_of,
    example,
    per_head,
    probe_facts,
    random_atlas,
    with_dependency,
)
from tests.helpers.kinds import kinds_atlas, kinds_of_heads

from headscope.atlas import Atlas, Typical
from headscope.errors import AtlasError, OptionError
from headscope.pages.head_page import head_page
from headscope.types import HeadId, LabelledArray


def test_profile_features_and_roles_are_the_heads_own() -> None:
    atlas = random_atlas()
    page = head_page(atlas, "encoder", 2, 1)
    assert (page.stack, page.layer, page.head) == ("encoder", 2, 1)
    offsets = atlas["offset_attention"].sel(layer=2, head=1)
    assert [point.offset for point in page.profile] == list(range(-8, 9))
    np.testing.assert_allclose([point.value for point in page.profile], offsets.values, rtol=1e-4)
    for point in page.profile:  # 64 texts, each number with an error of 0.01
        assert point.value is not None
        expected = t(63).interval(0.95)[1] * 0.01
        assert (point.low, point.high) == pytest.approx(
            (point.value - expected, point.value + expected), abs=1e-5
        )
    features = atlas["distance_features"].sel(layer=2, head=1)
    np.testing.assert_allclose([one.value for one in page.distances], features.values, rtol=1e-4)
    even = atlas["distance_features_uniform"].values
    np.testing.assert_allclose([one.uniform for one in page.distances], even, rtol=1e-4)
    assert [one.feature for one in page.distances][:6] == [
        "[CLS]",
        "[SEP]",
        "commas",
        "full stops",
        "itself",
        "0 to 6.25% of the text away",
    ]
    roles = atlas["role_attention"].sel(layer=2, head=1, query_role="all")
    np.testing.assert_allclose([one.value for one in page.roles], roles.values, rtol=1e-4)
    assert page.roles[0].role == "[CLS]"
    habits = atlas["named_patterns"].sel(layer=2, head=1)
    np.testing.assert_allclose([one.value for one in page.habits], habits.values, rtol=1e-4)
    assert page.habits[0].role == "the next word"


def test_nearest_heads_by_distance() -> None:
    atlas = random_atlas()
    page = head_page(atlas, "encoder", 1, 3)
    row = atlas["head_distance"].sel(head_a="1.3").to_series().drop("1.3").sort_values()
    assert [one.head for one in page.nearest] == list(row.index[:8])
    np.testing.assert_allclose([one.distance for one in page.nearest], row.values[:8], rtol=1e-4)


def test_kind_and_example_map() -> None:
    kinds = kinds_of_heads(6, 8)
    atlas = with_kinds(kinds_atlas(6, 8), kinds)
    page = head_page(atlas, "encoder", 3, 5)
    assert page.kind == kinds[3, 5]
    assert page.example_map is not None
    cells = np.array(page.example_map.cells, dtype=float)
    np.testing.assert_allclose(cells, atlas["example_map"].values[3, 5], rtol=5e-3)
    assert page.example_map.queries is None


def test_intervals_are_wilsons_of_the_cases_that_the_error_is_worth() -> None:
    values = np.array([0.9, 0.5]).reshape(1, 2, 1, 1)
    cells = {
        "relation": ["det"],
        "direction": ("dependent_to_head", "head_to_dependent"),
        "layer": [0],
        "head": [0],
    }
    arrays = {
        "dependency_accuracy": LabelledArray(values, tuple(cells), cells, "share"),
        "dependency_accuracy_stderr": LabelledArray(np.full_like(values, 0.03), tuple(cells), cells, "error"),
        "dependency_count": LabelledArray(np.array([900]), ("relation",), {"relation": ["det"]}, "cases"),
    }
    atlas = random_atlas(1, 1).with_probe(
        "dependency", {"encoder": arrays}, facts=probe_facts(), table={}, examples={}
    )
    [one] = head_page(atlas, "encoder", 0, 0).relations
    expected = binomtest(90, 100).proportion_ci(method="wilson")  # 0.9 * 0.1 / 0.03² are 100 cases
    assert (one.low, one.high) == pytest.approx((expected.low, expected.high), abs=1e-5)
    assert (one.baseline, one.baseline_name) == (None, "")


def test_semantic_roles_are_attention_beside_its_control() -> None:
    ways = ("predicate_to_argument", "argument_to_predicate")
    cells = {"role": ["ARG0"], "direction": ways, "layer": [0], "head": [0]}
    shape = (1, 2, 1, 1)

    def array(first: float, second: float) -> LabelledArray:
        return LabelledArray(np.array([first, second]).reshape(shape), tuple(cells), cells, "x")

    arrays = {
        "relation_attention": array(0.5, 0.4),
        "relation_control": array(0.45, 0.1),
        "relation_difference": array(0.05, 0.3),
        "relation_difference_stderr": array(0.01, 0.02),
        "relation_count": LabelledArray(np.array([64]), ("role",), {"role": ["ARG0"]}, "pairs"),
    }
    atlas = random_atlas(1, 1).with_probe(
        "relations", {"encoder": arrays}, facts=probe_facts(), table={}, examples={}
    )
    [one] = head_page(atlas, "encoder", 0, 0).relations
    assert (one.relation, one.accuracy, one.baseline, one.cases) == (
        "ARG0 (mostly who does it)",
        0.4,
        0.1,
        64,
    )
    assert one.direction == "argument to predicate"
    assert "attention" in one.what
    assert (one.low, one.high) == (pytest.approx(0.4 - 1.96 * 0.02), pytest.approx(0.4 + 1.96 * 0.02))


def test_examples_are_this_heads_right_ones_first() -> None:
    found = [
        example(guess=3, name="wrong"),
        example(weights=(0.1, 0.1, 0.75, 0.0, 0.0), name="surest"),
        example(),
        example(head=HeadId(0, 0)),
        example(guess=99, name="broken"),
    ]
    page = head_page(with_dependency(random_atlas(), examples=found), "encoder", 1, 2)
    assert [one.note.rpartition("(")[2] for one in page.examples] == ["surest)", "sentence-1)", "wrong)"]
    first = page.examples[1]
    assert (first.text, first.marks) == ("The red cat sat .", [0, 2])
    assert first.weights == [0.1, 0.06, 0.7, 0.02, 0.001]
    assert first.note.startswith(
        "det, dependent to head: “The” looks at “cat” with 70% of its attention, which is right"
    )
    inward = example(direction="head_to_dependent")
    page = head_page(with_dependency(random_atlas(), examples=[inward]), "encoder", 1, 2)
    assert "“cat” looks at “The”" in page.examples[0].note
    assert (first.looked_at, page.examples[0].looked_at) == (False, True)


def typical(**changes: Any) -> Typical:
    one = Typical(
        head=HeadId(1, 2),
        words=("[CLS]", "the", "ca\x00t", "\n", "[SEP]"),
        keys=None,
        looks_at=(0, 2, 4, 1, 4),
        weights=(0.5, 0.98765, 1e-9, 0.25, 1.0),
        likeness=0.987654,
    )
    return replace(one, **changes)


def test_typical_sentences_in_words() -> None:
    found = [
        typical(),
        typical(head=HeadId(0, 0)),
        typical(looks_at=(0, 1, 2, 3, 5)),  # there is no word 5
        typical(looks_at=(0, 1, 2, 3, -1)),
        typical(weights=(0.5,)),
        *[typical(likeness=0.1 * rank) for rank in (9, 8, 7)],
    ]
    grid = {"layer": range(2), "head": range(3)}
    entropy = LabelledArray(np.ones((2, 3)), ("layer", "head"), grid, "entropy")
    atlas = Atlas.build(
        {"encoder": {"entropy": entropy}}, provenance={"model": "m"}, typical={"encoder": found}
    )
    first, *others = head_page(atlas, "encoder", 1, 2).typical
    assert first.words == ["[CLS]", "the", "ca\N{REPLACEMENT CHARACTER}t", "↵", "[SEP]"]
    assert (first.keys, first.looks_at) == (None, [0, 2, 4, 1, 4])
    assert first.weights == [0.5, 0.988, 0.0, 0.25, 1.0]
    assert first.likeness == 0.9877
    assert [one.likeness for one in others] == [0.9, 0.8]  # three in all, without the broken ones
    assert len(head_page(atlas, "encoder", 0, 0).typical) == 1
    assert head_page(atlas, "encoder", 0, 1).typical == []


def test_typical_sentences_of_cross_attention_name_what_is_looked_at() -> None:
    grid = {"layer": range(2), "head": range(3)}
    entropy = {"entropy": LabelledArray(np.ones((2, 3)), ("layer", "head"), grid, "entropy")}
    found = typical(words=("<pad>", "le"), keys=("the", "\t"), looks_at=(1, 0), weights=(0.5, 0.75))
    atlas = Atlas.build(
        {"encoder": entropy, "cross": entropy}, provenance={"model": "m"}, typical={"cross": [found]}
    )
    [one] = head_page(atlas, "cross", 1, 2).typical
    assert (one.words, one.keys, one.looks_at) == (["<pad>", "le"], ["the", "⇥"], [1, 0])
    assert head_page(atlas, "encoder", 1, 2).typical == []


def ablated() -> Atlas:
    change = np.full((3, 4, 2), -1.5)
    metrics = {"metric": ("f1", "loss")}
    arrays = per_head("ablation_change", change, metrics)
    arrays |= per_head("ablation_change_low", change - 1, metrics, stderr=None)
    arrays |= per_head("ablation_change_high", change + 1, metrics, stderr=None)
    arrays |= per_head("ablation_significant", np.ones_like(change), metrics, stderr=None)
    told = {
        "data": "dev.json",
        "edit": "uniform",
        "metrics": {"f1": {"unit": "%"}, "loss": {"unit": "nats", "higher_is_better": False}},
    }
    return random_atlas().with_probe(
        "ablation", {"encoder": arrays}, facts=probe_facts(sweeps={"heads": told}), table={}, examples={}
    )


def test_ablation_with_intervals() -> None:
    f1, loss = head_page(ablated(), "encoder", 0, 1).ablation
    assert (f1.metric, f1.change, f1.low, f1.high, f1.significant) == ("F1", -1.5, -2.5, -0.5, True)
    assert (f1.data, f1.unit, f1.edit, f1.higher_is_better) == ("dev.json", "points", "made even", True)
    assert (loss.unit, loss.higher_is_better) == ("nats", False)


def test_how_sure_an_effect_is_stands_on_the_page() -> None:
    p = per_head("ablation_p", np.full((3, 4, 2), 0.01), {"metric": ("f1", "loss")}, stderr=None)
    facts = probe_facts(sweeps={"heads": {"correction": "holm", "documents": 4, "metrics": {}}})
    change = per_head("ablation_change", np.ones((3, 4, 2)), {"metric": ("f1", "loss")})
    atlas = random_atlas().with_probe("ablation", {"encoder": p | change}, facts=facts, table={}, examples={})
    assert [(one.edits, one.possible) for one in head_page(atlas, "encoder", 0, 1).ablation] == [
        (12, False)
    ] * 2


def test_relations_that_were_tested_are_counted() -> None:
    atlas = with_dependency(random_atlas())
    assert (
        head_page(atlas, "encoder", 1, 2).relations_tested
        == len(head_page(atlas, "encoder", 1, 2).relations)
        > 0
    )


def test_changes_that_stand_out_from_their_error() -> None:
    change = np.zeros((3, 4, 2))
    change[1, 1] = [0.5, 0.02]
    arrays = per_head("entropy_change", change, {"query_role": ("all", "cls")}, units="nats", stderr=0.01)
    arrays |= per_head("attention_js", np.full((3, 4), 0.25), units="nats", stderr=0.01)
    grid = {"layer": range(3), "head": range(4)}
    for name, kind in (("kind_before", "dense"), ("kind_after", "vertical")):
        arrays[name] = LabelledArray(np.full((3, 4), kind, dtype=object), ("layer", "head"), grid, "kind")
    facts = probe_facts(options={"against": "demo-mrpc"})
    atlas = random_atlas().with_probe("compare", {"encoder": arrays}, facts=facts, table={}, examples={})
    js, kind, entropy = head_page(atlas, "encoder", 1, 1).compare
    assert js.value == 0.25
    assert js.low == pytest.approx(0.25 - t(119).interval(0.95)[1] * 0.01, abs=1e-5)  # 120 texts
    assert kind.what == "kind: was dense, is nearest to vertical"
    assert entropy.what == "Change from demo-mrpc: entropy of attention"
    assert (entropy.value, entropy.other) == (0.5, "demo-mrpc")


def test_an_explanation_is_told_flat() -> None:
    row = {
        "head": "1.2",
        "neurons": 8,
        "best": [3, 5],
        "carries": [
            {
                "neurons": 1,
                "score": {"value": 0.6, "stderr": 0.1},
                "score_random": {"value": 0.125, "stderr": None},
            },
            {
                "neurons": 2,
                "score": {"value": 0.8, "stderr": 0.1},
                "score_random": {"value": 0.25, "stderr": None},
            },
        ],
        "bias": None,
        "left": [
            {"replaced": "token", "left": {"value": 0.9, "stderr": 0.01}},
            {"replaced": "even", "left": None},
        ],
    }
    arrays = per_head("score_share", np.full((3, 4, 2), math.nan), {"neurons": (1, 2)})
    atlas = random_atlas().with_probe(
        "explanation", {"encoder": arrays}, facts=probe_facts(), table={"encoder": [row]}, examples={}
    )
    told = head_page(atlas, "encoder", 1, 2).explanation
    assert told is not None
    assert (told["best"], told["counts"], told["score_share"]) == ([3, 5], [1, 2], [0.6, 0.8])
    assert (told["replaced"], told["left"]) == (["token"], [0.9])
    assert head_page(atlas, "encoder", 1, 1).explanation is None


@pytest.mark.parametrize("stack", ["encoder", "decoder", "cross"])
def test_every_head_of_every_stack_has_a_page(stack: str) -> None:
    atlas = random_atlas(2, 3, stacks=("encoder", "decoder", "cross"))
    for layer in range(2):
        for head in range(3):
            page = head_page(atlas, stack, layer, head)
            assert json.loads(page.model_dump_json())["head"] == head
    assert page.profile == [] if stack == "cross" else page.profile


def test_heads_and_stacks_that_are_not_there() -> None:
    atlas = random_atlas()
    for layer, head in ((3, 0), (0, 4), (-1, 0)):
        with pytest.raises(OptionError, match="there is no head"):
            head_page(atlas, "encoder", layer, head)
    with pytest.raises(AtlasError, match="no stack 'decoder'"):
        head_page(atlas, "decoder", 0, 0)


def test_a_bare_atlas_has_a_bare_page() -> None:
    page = head_page(
        atlas_of(per_head("entropy", np.ones((1, 2, 1)), {"query_role": ("all",)})), "encoder", 0, 1
    )
    assert page.model_dump(exclude_defaults=True) == {"stack": "encoder", "layer": 0, "head": 1}
