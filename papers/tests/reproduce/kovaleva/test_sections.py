"""The sections, read from atlases whose numbers are known."""

import numpy as np
import pytest
from papers.tests.reproduce.kovaleva.material import (
    labelled,
    ours,
    published,
    rows_of,
    verdict,
    with_change,
    with_disabled,
    with_features,
    with_roles,
)
from papers.tests.reproduce.sweeps import facts, row, with_sweeps
from scipy import stats
from tests.helpers.atlases import empty_atlas

from headscope_papers.reproduce.kovaleva2019 import kovaleva2019
from headscope_papers.reproduce.table import Figure

T_120 = stats.t.ppf(0.975, 119)
"""Standard errors to either end of a 95 % interval of a probe that read 120 texts."""

KEYS = [
    "maps", "patterns", "classifier", "roles", "change", "features", "cls_query", "disabled_heads", "disabled_layers",
]  # fmt: skip
PUBLISHED = {"table 1", *(f"figure {number}" for number in range(1, 10))}


def test_the_two_layers_that_change_most_are_told() -> None:
    last = kovaleva2019(with_change([0.9, 0.8, 0.7, 0.2, 0.3]))
    assert ours(last, "change", "change most") == Figure(None, detail="layers 3, 4", words="the last two")
    mean = ours(last, "change", "cosine, last two")
    assert (mean.value, mean.low, mean.high) == pytest.approx(
        (0.25, 0.25 - 0.01 * T_120, 0.25 + 0.01 * T_120)
    )
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
    arrays = found | {"weight_change": labelled(weights, {"layer": layers, "matrix": matrices})}
    told = atlas.provenance["probes"]["compare"]
    moved_most = empty_atlas().with_probe("compare", {"encoder": arrays}, facts=told, table={}, examples={})
    note = kovaleva2019(moved_most).section("change").notes[-1]
    assert "moved more in the last two layers (30.0 % of their norm) than in the others (10.0 %)" in note


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
    assert (first.low, first.high) == pytest.approx((0.5 - 0.01 * T_120, 0.5 + 0.01 * T_120))
    assert published(result, "roles", "strongest head").value == 0.209
    assert published(result, "roles", "second strongest head").value == 0.201
    assert verdict(result, "roles", "strongest head") == "same"
    assert verdict(result, "roles", "second strongest head") == "unclear"
    assert verdict(result, "roles", "heads for roles") == "different"
    # 0.025 is 2.5 standard errors: above 1.98, below the 2.92 that 12 comparisons ask for.
    assert ours(result, "roles", "heads for roles") == Figure(1, detail="of 6")
    assert ours(result, "roles", "best head less its control") == Figure(
        0.19, 0.15, 0.23, "1.2 to the role", 40
    )
    origin = result.section("roles").ours
    assert origin is not None
    assert origin.data == "roles.jsonl, 120 texts"


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
