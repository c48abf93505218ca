"""Clark et al. 2019 as a whole: every figure and table, from models, atlases and data."""

import re
from pathlib import Path

import numpy as np
import pytest
from papers.tests.reproduce.rows import draw_all, rows_of
from tests.helpers.atlases import atlas_of, per_head, random_atlas
from tests.helpers.tasks import headed
from tests.helpers.tiny import tiny
from tests.helpers.treebanks import as_file, random_sentences

import headscope as hs
from headscope.errors import AtlasError, OptionError
from headscope_papers.reproduce import Reproduction, clark2019
from headscope_papers.reproduce.clark.probes import RELATIONS
from headscope_papers.reproduce.clark.surface import CLARK


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """A model's figures and tables, all of them."""
    parsed = tmp_path_factory.mktemp("clark") / "dev.conllu"
    parsed.write_text(as_file(random_sentences(12, seed=3, documents=4)), encoding="utf-8")
    treebank = hs.read_treebank(parsed)
    return clark2019(
        headed("bert", "mlm"),
        text=hs.read_text(hs.sample_path("articles")),
        treebank=hs.read_treebank(hs.sample_path("treebank")),
        coreference=hs.read_coreference(hs.sample_path("treebank")),
        train=treebank,
        dev=treebank,
        test=treebank,
        limit=3,
        max_length=64,
    )


def test_every_figure_and_table_is_covered_and_drawn(everything: Reproduction) -> None:
    result = everything
    covered = [item for section in result.sections for item in section.covers] + list(result.not_covered)
    assert sorted(covered) == sorted(
        [
            "figure 1",
            "figure 2",
            "figure 3",
            "figure 4",
            "figure 5",
            "figure 6",
            "table 1",
            "table 2",
            "table 3",
        ]
    )
    assert not [section.key for section in result.sections if section.needs]
    assert all(section.published.source for section in result.sections)
    drawn = draw_all(result)
    assert {key: count for key, count in drawn.items() if key != "at_work"} == {
        "example_heads": 1, "neighbours": 1, "roles": 6, "gradient": 1, "breadth": 2, "dependency": 0,
        "coreference": 0, "parser": 0, "distances": 3,
    }  # fmt: skip
    assert drawn["at_work"] == 5  # the sample's coreference has no case in which the chosen head is right


def test_a_row_with_both_columns_has_a_verdict(everything: Reproduction) -> None:
    for section in everything.sections:
        for row in section.rows:
            if row.published is None or row.ours is None:
                assert row.verdict is None, row
                continue
            # An offset is what the head above it is compared with; the rules' rows say how the best head compares.
            beside = row.quantity.endswith((", offset", ", best head"))
            assert (row.verdict is None) == beside, row


def test_a_model_is_measured_on_what_is_given(tmp_path: Path) -> None:
    parsed = tmp_path / "dev.conllu"
    parsed.write_text(as_file(random_sentences(12, seed=3, documents=4)), encoding="utf-8")
    treebank = hs.read_treebank(parsed)
    result = clark2019(
        tiny("bert"),
        text=hs.read_text(hs.sample_path("articles")),
        treebank=treebank,
        choose=treebank,
        limit=3,
        max_length=48,
    )
    probe = hs.DependencyProbe(tiny("bert"), max_length=48).fit(treebank).score(treebank)
    expected = {row["relation"]: row["accuracy"] for row in probe.table()}
    rows = rows_of(result, "dependency")
    for relation, name in (("all", "all"), ("obj", "dobj / obj"), ("nmod:poss", "poss / nmod:poss")):
        own = rows[name].ours
        assert own is not None
        assert own.value == expected[relation]
    roles = result.section("roles")
    assert roles.ours is not None
    assert roles.ours.data == "articles.txt, 3 texts"
    assert result.section("distances").ours is not None
    assert "table 2 needs --coreference FILE" in result.section("coreference").needs
    assert "table 3 needs --train FILE and --test FILE" in result.section("parser").needs


def test_coreference_and_parsers_of_a_model(tmp_path: Path) -> None:
    parsed = tmp_path / "dev.conllu"
    parsed.write_text(as_file(random_sentences(12, seed=3, documents=4)), encoding="utf-8")
    treebank = hs.read_treebank(parsed)
    mentions = hs.read_coreference(hs.sample_path("treebank"))
    result = clark2019(
        tiny("bert"), coreference=mentions, train=treebank, dev=treebank, test=treebank, max_length=64
    )
    expected = hs.CoreferenceProbe(tiny("bert"), max_length=64).fit_score(mentions).table()[0]
    head = rows_of(result, "coreference")["all, best head"].ours
    assert head is not None
    assert (head.value, head.cases) == (expected["accuracy"], expected["cases"])
    parsers = result.section("parser").rows
    assert [row.quantity for row in parsers if row.ours is None] == ["structural probe"]
    assert len(parsers) == 8
    for key, item in {
        "example_heads": "figure 1",
        "neighbours": "section 3.1",
        "roles": "figure 2",
        "gradient": "figure 3",
        "breadth": "figure 4",
        "distances": "figure 6",
    }.items():
        assert f"{item} needs --text FILE" in result.section(key).needs


def test_what_cannot_work_is_told(tmp_path: Path) -> None:
    text = hs.read_text(hs.sample_path("articles"))
    treebank = hs.read_treebank(hs.sample_path("treebank"))
    with pytest.raises(OptionError, match="nothing to compare"):
        clark2019(tiny("bert"))
    with pytest.raises(OptionError, match="text cannot be read with an atlas"):
        clark2019(random_atlas(), text=text)
    with pytest.raises(OptionError, match="train means nothing without test"):
        clark2019(tiny("bert"), text=text, train=treebank)
    with pytest.raises(OptionError, match="choose means nothing without treebank"):
        clark2019(tiny("bert"), text=text, choose=treebank)
    with pytest.raises(OptionError, match="nothing that Clark et al"):
        clark2019(atlas_of(per_head("gradient", np.zeros((2, 2)))))
    with pytest.raises(AtlasError, match="cannot be opened"):
        clark2019(tmp_path / "missing.nc")


def test_published_figures_are_possible() -> None:
    assert len(RELATIONS) == 15
    assert [name for name, relation in RELATIONS.items() if relation.head.endswith("←")] == ["pobj"]
    assert [name for name, relation in RELATIONS.items() if len(relation.universal) > 1] == ["prep"]
    for relation in RELATIONS.values():
        assert 0 < relation.offset_accuracy < relation.accuracy < 1
        assert relation.is_clear == (round(relation.accuracy - relation.offset_accuracy, 6) >= 0.02)
    for scores in CLARK.facts["mentions"].values():
        assert scores["nearest"] < scores["head_match"] < scores["head"] < scores["rules"]
    rows = [row for section in CLARK.sections.values() for row in section.rows.values()]
    shown = [relation.head for relation in RELATIONS.values()]
    shown += [row.figure.detail for row in rows if row.figure and "=" in row.figure.detail]
    assert len(shown) == 21
    for head in shown:
        layer, number, our_layer, our_number = map(int, re.findall(r"\d+", head))
        assert (layer - 1, number - 1) == (our_layer, our_number), head
        assert 1 <= min(layer, number) <= max(layer, number) <= 12
