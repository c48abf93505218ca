"""What a head finds stands beside what needs no attention, on the same cases."""

import re

import numpy as np
import pytest
from tests.helpers.atlases import probe_facts, random_atlas
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.atlas import Atlas
from headscope.pages.head.relations import relations
from headscope.pages.shapes.head import Bar, Section
from headscope.text.annotated.treebank import read_treebank
from headscope.types import HeadId, LabelledArray

WAYS = ("dependent_to_head", "head_to_dependent")
RELATIONS = ["det", "nmod", "case", "dep"]


def probed() -> Atlas:
    """Head 0.0: det far above the rule, nmod above it but not surely, case at it, dep with few cases."""
    values = np.zeros((4, 2, 1, 2))
    values[:, 0, 0, 0] = [0.9, 0.3, 0.45, 1.0]
    cells = {"relation": RELATIONS, "direction": WAYS, "layer": [0], "head": [0, 1]}
    rules = np.array([[0.1, 0.5, 0.2], [0.28, 0.1, 0.0], [0.0, 0.1, 0.45], [0.0, 0.0, 0.0]])
    by_rule = {"relation": RELATIONS, "offset": [-2, -1, 1]}
    arrays = {
        "dependency_accuracy": LabelledArray(values, tuple(cells), cells, "share"),
        "dependency_accuracy_stderr": LabelledArray(np.full_like(values, 0.02), tuple(cells), cells, "error"),
        "dependency_count": LabelledArray(
            np.array([900, 500, 300, 3]), ("relation",), {"relation": RELATIONS}, "cases"
        ),
        "dependency_baseline": LabelledArray(rules, tuple(by_rule), by_rule, "share"),
    }
    return random_atlas(1, 2).with_probe(
        "dependency", {"encoder": arrays}, facts=probe_facts(), table={}, examples={}
    )


def section_of(atlas: Atlas, head: int = 0) -> Section:
    [section] = relations(atlas, "encoder", HeadId(0, head))
    return section


def bars_of(section: Section, *, folded: bool = False) -> list[Bar]:
    return [bar for chart in (section.folded if folded else section.charts) for bar in chart.bars]


def test_only_what_is_clearly_above_the_best_rule_is_listed_and_the_rest_folded() -> None:
    section = section_of(probed())
    [det], [nmod] = bars_of(section), bars_of(section, folded=True)
    assert (det.label, det.value, det.mark) == ("det, dependent to head", 0.9, 0.5)
    assert (det.mark_name, det.note) == ("best fixed offset (−1)", "dependency, 900 cases")
    assert (det.verdict, det.pale) == ("above", False)
    assert (nmod.label, nmod.value, nmod.mark) == ("nmod, dependent to head", 0.3, 0.28)
    assert nmod.low is not None
    assert nmod.low < 0.28
    assert (nmod.verdict, nmod.pale) == ("unclear", True)


def test_what_is_clear_alone_may_not_be_among_many_tests() -> None:
    """Head 1.0 of two layers, then of two hundred: the same numbers."""

    def listed(layers: int) -> list[str]:
        values = np.full((1, 2, layers, 1), 0.1)
        values[0, 0, 1, 0] = 0.75
        cells = {"relation": ["det"], "direction": WAYS, "layer": list(range(layers)), "head": [0]}
        by_rule = {"relation": ["det"], "offset": [-1]}
        arrays = {
            "dependency_accuracy": LabelledArray(values, tuple(cells), cells, "share"),
            "dependency_accuracy_stderr": LabelledArray(
                np.full_like(values, 0.04), tuple(cells), cells, "error"
            ),
            "dependency_count": LabelledArray(np.array([150]), ("relation",), {"relation": ["det"]}, "cases"),
            "dependency_baseline": LabelledArray(np.array([[0.5]]), tuple(by_rule), by_rule, "share"),
        }
        atlas = random_atlas(layers, 1).with_probe(
            "dependency", {"encoder": arrays}, facts=probe_facts(), table={}, examples={}
        )
        [section] = relations(atlas, "encoder", HeadId(1, 0))
        assert bool(hs.card(atlas, "1.0").finds) == bool(section.charts)
        return [bar.label for bar in bars_of(section)]

    assert listed(2) == ["det, dependent to head"]
    assert listed(200) == []


def test_how_many_were_asked_for_is_told_where_none_is_above() -> None:
    section = section_of(probed(), 1)
    [said] = section.said
    assert re.findall(r"\d+", said) == ["16", "3"]  # so many tests; dep has too few cases
    assert not bars_of(section)
    assert relations(random_atlas(), "encoder", HeadId(0, 1)) == []


def test_coreference_has_rules_of_its_own() -> None:
    cells = {
        "mention_class": ["pronoun"],
        "direction": ("mention_to_antecedent", "antecedent_to_mention"),
        "layer": [0],
        "head": [0],
    }
    by_rule = {"mention_class": ["pronoun"], "rule": ["nearest", "head_match", "rules"]}
    arrays = {
        "coreference_accuracy": LabelledArray(
            np.array([0.6, 0.2]).reshape(1, 2, 1, 1), tuple(cells), cells, "share"
        ),
        "coreference_baseline": LabelledArray(np.array([[0.3, 0.4, 0.35]]), tuple(by_rule), by_rule, "share"),
    }
    atlas = random_atlas(1, 1).with_probe(
        "coreference", {"encoder": arrays}, facts=probe_facts(), table={}, examples={}
    )
    assert not bars_of(section_of(atlas))
    [one] = bars_of(section_of(atlas), folded=True)
    assert (one.value, one.mark) == (0.6, 0.4)
    assert one.verdict == "unclear"  # nothing says how sure it is


def test_a_head_that_is_a_rule_is_never_above_it() -> None:
    """Real cases: every listed share must beat every offset on all cases, not on half of them."""
    result = hs.DependencyProbe(tiny("bert")).fit_score(read_treebank(hs.sample_path("treebank")))
    atlas = result.to_atlas()
    arrays = atlas.stack("encoder")
    best = arrays["dependency_baseline"].max("offset")
    listed = 0
    for layer in range(3):
        for head in range(4):
            for section in relations(atlas, "encoder", HeadId(layer, head)):
                for bar in (*bars_of(section), *bars_of(section, folded=True)):
                    listed += 1
                    rule = float(best.sel(relation=bar.label.partition(",")[0]))
                    assert bar.mark == pytest.approx(rule, rel=1e-4)
                    assert bar.value is not None
                    assert bar.value > bar.mark
    assert listed
