"""Heads built by hand, of which all answers are known before."""

import numpy as np
import pytest
from tests.helpers.built_heads import NEURONS, PAIRS, built

import headscope as hs
from headscope.explanation import Explanation


@pytest.fixture(scope="module")
def found() -> Explanation:
    return hs.explain(built(), "all", PAIRS, max_length=40)


def rows(found: Explanation) -> dict[str, dict[str, object]]:
    return {str(row["head"]): row for row in found.table()}


def value(found: Explanation, name: str, head: int) -> np.ndarray:
    return found.arrays()["encoder"][name].values[0, head]


def test_the_model_is_what_it_is_said_to_be() -> None:
    from headscope.text.items import TextPair
    from headscope.trace import surveyed
    from headscope.trace.watch import Watch

    watch = Watch(surveyed(built()))
    batch = watch.batch([watch.encoder(40).encode(TextPair(*PAIRS[0]))])
    maps = []
    watch.run(batch, lambda stack, seen: maps.append(seen.attention[0]))
    previous, segment, separator, even = maps[0]
    assert previous.diagonal(-1).min() > 0.9
    own = batch.inputs["token_type_ids"][0]
    assert segment[own[:, None] != own].max() < 1e-3
    assert separator[:, batch.source.role[0] == 1].sum(-1).min() > 0.99
    assert even.max() - even.min() < 1e-6


def test_the_position_head_needs_positions_and_nothing_else(found: Explanation) -> None:
    token, position, segment, everything = value(found, "pattern_left", 0)
    assert min(token, segment) > 0.98
    assert abs(position) < 0.02
    assert everything == pytest.approx(0, abs=1e-9)
    js, cosine, overlap = (value(found, f"replaced_{name}", 0) for name in ("js", "cosine", "overlap"))
    assert js[0] < 0.01
    assert js[1] > 0.4
    assert (cosine[0] > 0.99, cosine[1] < 0.5) == (True, True)
    assert (overlap[0] > 0.98, overlap[1] < 0.5) == (True, True)
    assert js[3] == pytest.approx(js[4])  # with all replaced it looks evenly


def test_the_position_head_is_carried_by_the_eight_neurons_that_hold_positions(found: Explanation) -> None:
    row = rows(found)["0.0"]
    assert set(row["best"]) == set(range(8))
    assert row["alike"] == 8
    share, pattern = value(found, "score_share", 0), value(found, "score_pattern", 0)
    assert share[3] == pytest.approx(1, abs=1e-6)
    assert pattern[3] == pytest.approx(1, abs=1e-6)
    assert (np.diff(share) > 0).all()
    assert share[0] < 0.5


def test_one_neuron_carries_the_segment_head(found: Explanation) -> None:
    assert rows(found)["0.1"]["best"][0] == 0
    assert value(found, "score_share", 1) == pytest.approx(np.ones(4))
    assert value(found, "score_pattern", 1) == pytest.approx(np.ones(4), abs=1e-5)
    assert value(found, "score_share_random", 1) == pytest.approx(np.array([1, 2, 4, 8]) / NEURONS)
    token, position, segment, _ = value(found, "pattern_left", 1)
    assert min(token, position) > 0.95
    assert abs(segment) < 0.02


def test_the_segment_head_tells_segments_by_one_neuron(found: Explanation) -> None:
    auc = value(found, "neuron_auc", 1)
    assert auc[0, 0] == pytest.approx(1)
    assert auc[0, 1:] == pytest.approx(np.full(NEURONS - 1, 0.5))
    assert value(found, "score_auc", 1)[0] == pytest.approx(1)
    contrast = rows(found)["0.1"]["separates"][0]
    assert (contrast["contrast"], contrast["clear"]) == ("segment", 1)
    assert contrast["neurons"][0]["neuron"] == 0


def test_one_neuron_carries_the_separator_head_and_it_needs_tokens(found: Explanation) -> None:
    assert rows(found)["0.2"]["best"][0] == 0
    assert value(found, "score_share", 2)[0] == pytest.approx(1)
    auc = value(found, "neuron_auc", 2)[2]
    assert auc[0] == pytest.approx(1)
    assert auc[1:] == pytest.approx(np.full(NEURONS - 1, 0.5))
    token, position, segment, _ = value(found, "pattern_left", 2)
    assert abs(token) < 0.02
    assert min(position, segment) > 0.98


def test_a_head_whose_scores_do_not_vary_has_no_shares(found: Explanation) -> None:
    for name in ("score_share", "score_pattern", "pattern_left"):
        assert np.isnan(value(found, name, 3)).all(), name
    assert value(found, "neuron_auc", 3) == pytest.approx(np.full((3, NEURONS), 0.5))
    assert value(found, "replaced_cosine", 3) == pytest.approx(np.ones(5))
