import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, t
from tests.browser.material import with_rules
from tests.helpers.atlas_views import bars_of, section_of, with_kinds
from tests.helpers.atlases import (
    atlas_of,
    example,
    per_head,
    probe_facts,
    random_atlas,
    with_dependency,
)
from tests.helpers.kinds import kinds_atlas, kinds_of_heads
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.atlas import Atlas, Typical
from headscope.errors import AtlasError, OptionError
from headscope.pages.head.page import head_page
from headscope.types import HeadId, LabelledArray

TICKS = [
    *(f"\N{MINUS SIGN}{offset}" for offset in range(8, 0, -1)),
    "0",
    *(f"+{offset}" for offset in range(1, 9)),
]


def test_profile_features_and_roles_are_the_heads_own() -> None:
    atlas = random_atlas()
    page = head_page(atlas, "encoder", 2, 1)
    assert (page.stack, page.layer, page.head) == ("encoder", 2, 1)
    offsets = atlas["offset_attention"].sel(layer=2, head=1)
    profile = bars_of(page, "offset_attention")
    assert [point.label for point in profile] == [f"offset {offset}" for offset in range(-8, 9)]
    assert [point.tick for point in profile] == ["" if at % 2 else tick for at, tick in enumerate(TICKS, -8)]
    assert [point.label for point in profile if point.muted] == ["offset 0"]
    np.testing.assert_allclose([point.value for point in profile], offsets.values, rtol=1e-4)
    for point in profile:  # 64 texts, each number with an error of 0.01
        assert point.value is not None
        expected = t(63).interval(0.95)[1] * 0.01
        assert (point.low, point.high) == pytest.approx(
            (point.value - expected, point.value + expected), abs=1e-5
        )
    windows = [f"w{window:02}" for window in range(16)]
    shown = [*windows, "self"]  # what the roles say already is not said twice
    distances = bars_of(page, "distance_features")
    features = atlas["distance_features"].sel(layer=2, head=1, feature=shown)
    np.testing.assert_allclose([bar.value for bar in distances], features.values, rtol=1e-4)
    even = atlas["distance_features_uniform"].sel(feature=shown).values
    np.testing.assert_allclose([bar.mark for bar in distances], even, rtol=1e-4)
    assert (distances[0].label, distances[-1].label) == ("0 to 6.25% of the text away", "itself")
    assert {bar.mark_name for bar in distances} == {"even attention"}
    roles = atlas["role_attention"].sel(layer=2, head=1, query_role="all")
    shares = bars_of(page, "role_attention")
    np.testing.assert_allclose([bar.value for bar in shares], roles.values, rtol=1e-4)
    assert shares[0].label == "[CLS]"
    habits = atlas["named_patterns"].sel(layer=2, head=1)
    shares = bars_of(page, "named_patterns")
    np.testing.assert_allclose([bar.value for bar in shares], habits.values, rtol=1e-4)
    assert shares[0].label == "the next word"


def test_nearest_heads_by_distance() -> None:
    atlas = random_atlas()
    page = head_page(atlas, "encoder", 1, 3)
    row = atlas["head_distance"].sel(head_a="1.3").to_series().drop("1.3").sort_values()
    section = section_of(page, "head_distance")
    assert section is not None
    assert [near.head for near in section.heads] == list(row.index[:8])
    np.testing.assert_allclose([near.distance for near in section.heads], row.values[:8], rtol=1e-4)


def test_kind_and_example_map() -> None:
    kinds = kinds_of_heads(6, 8)
    atlas = with_kinds(kinds_atlas(6, 8), kinds)
    page = head_page(atlas, "encoder", 3, 5)
    assert page.kind == kinds[3, 5]
    section = section_of(page, "example_map")
    assert section is not None
    assert section.map is not None
    cells = np.array(section.map.cells, dtype=float)
    np.testing.assert_allclose(cells, atlas["example_map"].values[3, 5], rtol=5e-3)
    assert section.map.queries is None


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
    section = section_of(head_page(atlas, "encoder", 0, 0), "relations")
    assert section is not None
    [one] = section.folded[0].bars
    expected = binomtest(90, 100).proportion_ci(method="wilson")  # 0.9 * 0.1 / 0.03² are 100 cases
    assert (one.low, one.high) == pytest.approx((expected.low, expected.high), abs=1e-5)
    assert (one.mark, one.mark_name) == (None, "")


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
    page = head_page(atlas, "encoder", 0, 0)
    [one] = bars_of(page, "relations")
    assert (one.value, one.mark) == (0.4, 0.1)
    assert "ARG0" in one.label
    assert "64" in one.note
    section = section_of(page, "relations")
    assert section is not None
    assert "attention" in section.charts[0].title
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
    assert [shown.note.rpartition("(")[2] for shown in page.examples] == [
        "surest).",
        "sentence-1).",
        "wrong).",
    ]
    first = page.examples[1]
    assert (first.text, first.marks) == ("The red cat sat .", [0, 2])
    assert first.weights == [0.1, 0.06, 0.7, 0.02, 0.001]
    assert first.note.startswith(
        "det, dependent to head: “The” looks at “cat” with 70% of its attention, which is right"
    )
    inward = example(direction="head_to_dependent")
    page = head_page(with_dependency(random_atlas(), examples=[inward]), "encoder", 1, 2)
    assert "“cat” looks at “The”" in page.examples[0].note
    assert page.examples[0].is_looked_at


def test_cases_of_what_the_card_says_come_first() -> None:
    found = [example(guess=3, name="wrong"), example(label="nmod", name="other"), example()]
    page = head_page(with_rules(with_dependency(random_atlas(), examples=found)), "encoder", 1, 2)
    assert page.card[0].text == (
        "Finds the noun of a determiner: 91.0% of all 900 cases, the best fixed offset 58.0%."
    )
    assert page.card[0].bar is not None
    assert (page.card[0].bar.value, page.card[0].bar.mark) == (0.91, 0.58)
    [shown] = page.at_work
    assert shown.note.endswith("which is right (sentence-1).")
    assert (shown.guess, shown.is_right, shown.is_looked_at) == (2, True, False)
    assert [one.note.rpartition("(")[2] for one in page.examples] == ["other).", "wrong)."]
    several = head_page(with_dependency(random_atlas(stacks=("encoder", "decoder"))), "decoder", 1, 2)
    assert (page.named, several.named) == ("1.2", "decoder 1.2")


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
    assert first.special == ["[CLS]", "[SEP]"]
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
    section = section_of(head_page(ablated(), "encoder", 0, 1), "ablation")
    assert section is not None
    points, nats = section.charts
    assert [points.title, nats.title] == ["dev.json · made even · points", "dev.json · made even · nats"]
    [f1], [loss] = points.bars, nats.bars
    assert (f1.label, f1.value, f1.low, f1.high, f1.note) == ("F1", -1.5, -2.5, -0.5, "significant")
    assert (f1.worse, f1.pale) == (True, False)
    assert (loss.label, loss.worse) == ("loss (lower is better)", False)
    assert "Faint" not in section.about


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
    page = head_page(atlas, "encoder", 1, 1)
    js, entropy = bars_of(page, "compare")
    section = section_of(page, "compare")
    assert section is not None
    assert section.title == "Beside demo-mrpc"
    assert section.said == ["kind: was dense, is nearest to vertical"]
    assert [chart.title for chart in section.charts] == ["", "change"]
    assert js.value == 0.25
    assert js.low == pytest.approx(0.25 - t(119).interval(0.95)[1] * 0.01, abs=1e-5)  # 120 texts
    assert (entropy.label, entropy.value) == ("entropy of attention", 0.5)


def test_an_explanation_in_words_and_bars() -> None:
    row = {
        "head": "1.2",
        "neurons": 8,
        "best": [3, 5],
        "carries": [
            {
                "neurons": 1,
                "score": {"value": 0.6, "stderr": 0.1, "low": 0.4, "high": 0.8},
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
    page = head_page(atlas, "encoder", 1, 2)
    section = section_of(page, "explanation")
    assert section is not None
    assert section.said[0].startswith("One neuron (3) carries 60% of its score, of 8")
    first, second = bars_of(page, "explanation")
    assert (first.label, first.value, first.mark) == ("best neuron", 0.6, 0.125)
    assert (second.label, second.value, second.mark) == ("best 2", 0.8, 0.25)
    assert (first.low, first.high) == (0.4, 0.8)
    [left] = bars_of(page, "explanation_left")
    assert (left.label, left.value) == ("without tokens", 0.9)
    assert section_of(head_page(atlas, "encoder", 1, 1), "explanation") is None


@pytest.mark.parametrize("stack", ["encoder", "decoder", "cross"])
def test_every_head_of_every_stack_has_a_page(stack: str) -> None:
    atlas = random_atlas(2, 3, stacks=("encoder", "decoder", "cross"))
    for layer in range(2):
        for head in range(3):
            page = head_page(atlas, stack, layer, head)
            assert json.loads(page.model_dump_json())["head"] == head
    assert (section_of(page, "offset_attention") is None) == (stack == "cross")


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
    told = page.model_dump(exclude_defaults=True)
    assert len(told.pop("notes")) == 1
    assert told == {"stack": "encoder", "layer": 0, "head": 1, "named": "0.1"}


def test_what_a_head_moves_stands_beside_where_it_looks() -> None:
    atlas = hs.analyze(
        tiny("bert"), ["the cat sat on it.", "a dog saw it."], measures=["role_attention"], max_length=32
    )
    bars = bars_of(head_page(atlas, "encoder", 1, 0), "role_attention")
    looked, moved = (
        atlas[name].sel(layer=1, head=0, query_role="all").values
        for name in ("role_attention", "role_attention_moved")
    )
    np.testing.assert_allclose([bar.value for bar in bars], looked, rtol=1e-4)
    np.testing.assert_allclose([bar.moved for bar in bars], moved, rtol=1e-4)
    assert all(bar.moved_low is not None and bar.moved_low <= bar.moved <= bar.moved_high for bar in bars)
    about = section_of(head_page(atlas, "encoder", 1, 0), "role_attention").about
    assert "moves" in about
    alone = hs.analyze(
        tiny("bert"), ["the cat sat on it."], measures=["role_attention"], max_length=32, weigh="looked"
    )
    page = head_page(alone, "encoder", 1, 0)
    assert all(bar.moved is None for bar in bars_of(page, "role_attention"))
    assert "moves" not in section_of(page, "role_attention").about
