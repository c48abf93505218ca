"""The material of the pattern networks: labels that can be traced, made maps, and a training that runs."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from training.patterns.contact_sheets import read_rows
from training.patterns.fit import Plan, fit, probabilities
from training.patterns.generate import made_maps
from training.patterns.material import LABELS, Sizes, build
from training.patterns.real_maps import FOLDS, MODELS, documents_at, fold_of_document, fold_of_head, parse
from training.patterns.scores import TESTED, agreement, draw_of, independent_agreement, scores
from training.patterns.train import INDEPENDENT, SECOND
from training.patterns.views import vary

from headscope.kinds.patterns import PATTERNS, PatternClassifier

SCORES = Path(LABELS).with_name("scores.json")
TINY = Sizes(changed=1, made=40, longest_made=40)
SHORT = Plan(networks=2, steps=3, labelled=4, made=4)


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["model"], row["text"], row["layer"], row["head"]


def test_every_label_can_be_traced_to_a_map() -> None:
    rows = read_rows(LABELS)
    assert len({key(row) for row in rows}) == len(rows) >= 400
    for row in rows:
        assert row["label"] in PATTERNS
        assert row["model"] in MODELS
        assert 0 <= row["layer"] < 12
        assert 0 <= row["head"] < 8
        parse(row["text"])
    assert len({(row["sheet"], row["cell"]) for row in rows}) == len(rows)
    assert min(Counter(row["label"] for row in rows).values()) >= 90


def test_a_map_has_its_head_and_its_document_in_one_fold() -> None:
    for row in read_rows(LABELS):
        length, number, _ = parse(row["text"])
        assert fold_of_head(row["layer"], row["head"]) == fold_of_document(documents_at(length)[number])


def test_second_labels_are_of_labelled_maps() -> None:
    first = {key(row): row for row in read_rows(LABELS)}
    second = read_rows(SECOND)
    assert len(second) >= 80
    for row in second:
        now = first[key(row)]
        assert row["label"] in PATTERNS
        # Where both looks agreed the label stands; where not, a third look chose one of the two.
        assert now["label"] in (row["first"], row["label"])
        assert row["first"] == row["label"] or "third look" in now["note"]


def test_scores_are_those_of_the_labels_and_of_the_shipped_file() -> None:
    found = json.loads(SCORES.read_text(encoding="utf-8"))
    tested = [row for row in read_rows(LABELS) if draw_of(row) in TESTED]
    assert found["tested"]["maps"] == len(tested)
    counts = Counter(row["label"] for row in tested)
    matrix = np.array(found["tested"]["confusion"])
    assert matrix.sum(1).tolist() == [counts[name] for name in PATTERNS]
    each = [2 * matrix[i, i] / (matrix[i].sum() + matrix[:, i].sum()) for i in range(len(PATTERNS))]
    assert found["tested"]["macro_f1"] == pytest.approx(np.mean(each), abs=1e-3)
    assert PatternClassifier.load().facts["macro_f1"] == f"{found['tested']['macro_f1']:.3f}"
    second = read_rows(SECOND)
    same = np.mean([row["first"] == row["label"] for row in second])
    assert found["labelled twice"]["agreement"] == pytest.approx(same, abs=1e-4)


def test_independent_labels_are_of_tested_maps_and_their_scores_are_written() -> None:
    labels = read_rows(LABELS)
    tested = {key(row) for row in labels if draw_of(row) in TESTED}
    rows = read_rows(INDEPENDENT)
    assert len({key(row) for row in rows}) == len(rows) == 140
    for row in rows:
        assert key(row) in tested
        assert {row["first"], row["second"]} <= set(PATTERNS)
    written = json.loads(SCORES.read_text(encoding="utf-8"))["labelled independently"]
    assert written == independent_agreement(rows, labels)


def test_independent_agreement_by_hand() -> None:
    def row(number: int, **more: str) -> dict[str, Any]:
        return {"model": "demo", "text": f"articles/32/{number}", "layer": 0, "head": 0, **more}

    names = ["block", "block", "block", "diagonal"]
    labels = [row(number, label=name, sheet="first-00") for number, name in enumerate(names)]
    rows = [row(0, first="block", second="block"), row(3, first="block", second="diagonal")]
    found = independent_agreement(rows, labels)
    # One block stands for three, so the first labeller agrees on three of four.
    assert found["labels, first"]["agreement"] == 0.75
    assert found["labels, first"]["f1"]["block"] == pytest.approx(2 * 3 / (3 + 4), abs=1e-3)
    assert found["labels, second"]["macro_f1"] == pytest.approx(2 / 5)
    assert found["first, second"]["agreement"] == 0.75
    assert "first, second, hard" not in found


def test_made_maps_are_attention_and_always_the_same() -> None:
    maps = made_maps(20, seed=5, longest=60)
    assert Counter(map_.label for map_ in maps) == dict.fromkeys(range(len(PATTERNS)), 4)
    for map_, again in zip(maps, made_maps(20, seed=5, longest=60), strict=True):
        assert torch.equal(map_.attention, again.attention)
        torch.testing.assert_close(map_.attention.sum(-1), torch.ones(len(map_.attention)))
        assert (map_.attention >= 0).all()


def test_a_changed_map_is_attention_and_keeps_its_line() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        changed = vary(torch.eye(60) * 0.9 + 0.1 / 60, rng)
        assert 30 <= len(changed) <= 60
        torch.testing.assert_close(changed.sum(-1), torch.ones(len(changed)))
        assert torch.equal(changed.argmax(-1), torch.arange(len(changed)))


def test_scores_by_hand() -> None:
    rows = [{"label": name} for name in ("block", "block", "diagonal", "vertical")]
    found = scores(rows, ["block", "diagonal", "diagonal", "vertical"])
    assert found["f1"]["block"] == pytest.approx(2 / 3, abs=1e-3)
    assert found["f1"]["diagonal"] == pytest.approx(2 / 3, abs=1e-3)
    assert found["f1"]["vertical"] == 1
    assert found["macro_f1"] == pytest.approx((1 + 2 / 3 + 2 / 3) / 5, abs=1e-3)
    assert found["confusion"][3] == [0, 1, 0, 1, 0]


def test_agreement_by_hand() -> None:
    found = agreement(
        ["block", "block", "diagonal", "diagonal"], ["block", "diagonal", "diagonal", "diagonal"]
    )
    assert found["agreement"] == 0.75
    assert found["kappa"] == 0.5  # (0.75 - 0.5) / (1 - 0.5)
    assert found["by class"]["block"] == {"first": 2, "second": 1, "both": 1, "either": 2, "kappa": 0.5}


def test_a_short_training_runs_and_repeats_itself() -> None:
    rows = [
        row for row in read_rows(LABELS) if row["text"].startswith("articles/32/") and row["model"] == "demo"
    ]
    by_fold = {
        fold: [row for row in rows if fold_of_head(row["layer"], row["head"]) == fold]
        for fold in range(FOLDS)
    }
    material = build(TINY, [row for some in by_fold.values() for row in some[:2]])
    first, again = fit(material, SHORT, without=0), fit(material, SHORT, without=0)
    numbers = material.labelled[:, 0]
    found = probabilities(first, numbers)
    assert torch.equal(found, probabilities(again, numbers))
    assert not torch.equal(probabilities(first[:1], numbers), probabilities(first[1:], numbers))
    # What lies in the fold that is left out has no say.
    changed = material.target.clone()
    changed[material.fold == 0] = (changed[material.fold == 0] + 1) % len(PATTERNS)
    blind = fit(replace(material, target=changed), SHORT, without=0)
    assert torch.equal(found, probabilities(blind, numbers))
    # Nor would it be so if the fold were not left out.
    assert not torch.equal(
        probabilities(fit(material, SHORT), numbers),
        probabilities(fit(replace(material, target=changed), SHORT), numbers),
    )
