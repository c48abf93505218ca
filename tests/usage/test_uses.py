"""Verdicts on a model whose only route is one edge, and on an unused copy; pairs, controls and bad input."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.edge_model import OBJECT_OF, edge_model, sentences, treebank_file
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.errors import HeadscopeError, ModelError, OptionError, TextError
from headscope.facts.analyses.uses import FINDS_AND_USES, NOT_NEEDED, NOT_SHOWN, SMALL, Use
from headscope.pages.head.page import head_page
from headscope.text.annotated.minimal_pairs import read_minimal_pairs
from headscope.text.annotated.treebank import read_treebank
from headscope.text.words import WordText
from headscope.usage import UsesResult
from headscope.usage.edges import control_edge, relation_edge
from headscope.usage.examples import Case


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return treebank_file(tmp_path_factory.mktemp("uses"))


@pytest.fixture(scope="module")
def found(bank: Path) -> UsesResult:
    return hs.uses(edge_model(), bank, "obj", heads=["0.0", "0.1", "0.2"])


def test_the_only_route_is_used_and_its_copy_is_not_needed(found: UsesResult) -> None:
    verdicts = {use.head: use.verdict for use in found.uses}
    assert verdicts == {"0.0": FINDS_AND_USES, "0.1": NOT_NEEDED, "0.2": NOT_SHOWN}
    used, copied, neither = found.uses
    assert used.change > 1
    assert abs(used.control) < 0.05
    assert used.p_value < 0.001
    assert (copied.finds, copied.change) == (True, 0)
    assert not neither.finds
    assert len({copied.why, neither.why}) == 2


def test_best_heads_are_those_of_the_probe(bank: Path) -> None:
    result = hs.uses(edge_model(), bank, "obj", best=2)
    assert {use.head for use in result.uses} == {"0.0", "0.1"}
    assert all(use.direction == "dependent_to_head" and use.accuracy == 1 for use in result.uses)


def test_an_atlas_says_which_head_is_best(tmp_path: Path) -> None:
    bank = treebank_file(tmp_path, 80)
    atlas = hs.DependencyProbe(edge_model()).fit_score(read_treebank(bank)).to_atlas()
    result = hs.uses(edge_model(), bank, "obj", atlas=atlas)
    assert [use.head for use in result.uses] == ["0.0"]
    whole = result.to_atlas(atlas)
    assert whole["uses_change"].dims == ("relation", "layer", "head")
    assert float(whole["uses_change"].sel(relation="obj", layer=0, head=0)) == pytest.approx(
        result.uses[0].change
    )
    assert np.isnan(float(whole["uses_change"].sel(relation="obj", layer=0, head=3)))
    assert any("finds the verb of an object (obj)" in str(finding) for finding in hs.findings(whole))
    report = tmp_path / "report.html"
    hs.write_report(whole, report)
    html = report.read_text(encoding="utf-8")
    assert 'id="encoder-probe-uses"' in html
    assert 'id="encoder-findings"' not in html  # each finding has its section
    section = next(part for part in head_page(whole, "encoder", 0, 0).sections if part.key == "uses")
    assert section.charts[0].bars[0].note == FINDS_AND_USES
    assert result.uses[0].brief in hs.card(whole, "0.0").text


def test_the_loss_is_that_of_an_edit_made_by_hand(found: UsesResult, bank: Path) -> None:
    """Without its edge the masked object is as likely as any word that nothing speaks for."""
    model = edge_model()
    words = model.tokenizer("the dog sat red [MASK] blue", return_tensors="pt")
    place = words["input_ids"][0].tolist().index(model.tokenizer.mask_token_id)
    token = model.tokenizer.convert_tokens_to_ids("mat")
    plain = model.network(**words).logits[0, place].log_softmax(-1)[token]
    with hs.edit(model, "0.0"):
        silent = model.network(**words).logits[0, place].log_softmax(-1)[token]
    assert found.uses[0].change == pytest.approx((plain - silent).item(), rel=0.05)


def test_pairs_of_a_file_are_scored_and_bad_lines_told(bank: Path, tmp_path: Path) -> None:
    lines = []
    for words, _, noun in sentences(24):
        wrong = next(other for other in OBJECT_OF.values() if other != words[noun])
        bad = [*words[:noun], wrong, *words[noun + 1 :]]
        lines.append(json.dumps({"sentence_good": " ".join(words), "sentence_bad": " ".join(bad)}))
    lines[3:3] = [
        "{broken",
        '{"sentence_good": "a cat"}',
        '{"sentence_good": "a cat sat", "sentence_bad": "a cat"}',
    ]
    lines.append('{"sentence_good": "a cat sat", "sentence_bad": "the dog sat"}')
    path = tmp_path / "blimp.jsonl"
    path.write_text("\n".join(lines))
    pairs = read_minimal_pairs(path)
    assert len(list(pairs)) == 24
    result = hs.uses(edge_model(), bank, "obj", pairs=path, heads=["0.0", "0.1"])
    assert [use.verdict for use in result.uses] == [FINDS_AND_USES, NOT_NEEDED]
    note = next(note for note in result.source.notes if "pairs skipped" in note)
    assert "4 pairs skipped" in note
    for reason in ("not JSON", "no sentence_bad", "3 words and sentence_bad 2", "differ in 2 words"):
        assert reason in note


def test_a_file_without_a_usable_pair_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "blimp.jsonl"
    path.write_text('{"sentence_good": "a cat sat", "sentence_bad": "a cat"}\n')
    with pytest.raises(TextError, match="none of its pairs can be used"):
        list(read_minimal_pairs(path))


def case(**options: object) -> Case:
    plain = {"content": WordText.of(["a", "b", "c", "d", "e"]), "dependent": 3, "governor": 1,
             "same": frozenset([(3, 1)]), "sentence": 0, "where": ""}  # fmt: skip
    return Case(**{**plain, **options})  # type: ignore[arg-type]  # as the fields have them


def test_the_control_is_as_far_and_nearest_in_weight() -> None:
    weights = np.zeros((5, 5))
    weights[3, 1], weights[2, 0], weights[4, 2], weights[1, 3] = 0.8, 0.1, 0.5, 0.8
    assert control_edge(weights, (3, 1), case()) == (4, 2)
    assert control_edge(weights, (3, 1), case(same=frozenset([(3, 1), (4, 2)]))) == (2, 0)
    weights[4, 2] = np.nan  # a word without a token
    assert control_edge(weights, (3, 1), case()) == (2, 0)
    assert control_edge(weights, (4, 0), case()) is None


def test_the_edge_is_the_way_the_head_looks() -> None:
    weights = np.zeros((5, 5))
    assert relation_edge(case(), weights, inward=False, causal=False) == (3, 1)
    assert relation_edge(case(), weights, inward=True, causal=False) == (1, 3)
    assert relation_edge(case(), weights, inward=True, causal=True) is None
    weights[2, 4], weights[4, 3] = 0.3, 0.9
    unknown = case(dependent=None, governor=None, changed=2)
    assert relation_edge(unknown, weights, inward=False, causal=False) == (2, 4)


def test_too_few_sentences_say_how_many_it_takes(found: UsesResult) -> None:
    use = Use.of({**found.table()[0], "sentences": 4, "tests": 8, "needed": 9})
    assert use.verdict == NOT_SHOWN
    assert re.findall(r"\d+", use.why) == ["4", "8", "9"]


def test_a_wide_interval_shows_nothing(found: UsesResult) -> None:
    row = {**found.table()[1], "difference": 0.02, "low": -0.3, "high": SMALL + 0.2, "p_value": 0.8}
    assert Use.of(row).verdict == NOT_SHOWN
    row = {**found.table()[0], "beyond": 0.1, "beyond_low": -0.1, "beyond_high": 0.3}
    assert Use.of(row).verdict == NOT_SHOWN


def test_what_cannot_be_asked_is_refused(bank: Path) -> None:
    with pytest.raises(OptionError, match="did you mean obj"):
        hs.uses(edge_model(), bank, "obk")
    with pytest.raises(OptionError, match=r"there is no head 9\.9"):
        hs.uses(edge_model(), bank, "obj", heads=["9.9"])
    with pytest.raises(TextError, match="at least 5 sentences are needed"):
        hs.uses(edge_model(), bank, "obj", limit=6)
    with pytest.raises(ModelError, match="encoder-decoder"):
        hs.uses(tiny("t5"), bank, "obj")
    with pytest.raises(HeadscopeError, match="masked-language-model head"):
        hs.uses(tiny("bert"), bank, "obj")
