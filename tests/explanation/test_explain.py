"""The whole run on tiny models: what is asked for is there, whatever the batches; what cannot be told is refused."""

import itertools
import json

import numpy as np
import pytest
import torch
from scipy.stats import t as student
from tests.explanation.slow import variance
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.errors import CaptureError, OptionError, TextError
from headscope.explanation.explain import run_scores
from headscope.explanation.moments import best_neurons, moments
from headscope.explanation.texts import dealt
from headscope.passes.reader import Reader
from headscope.text.corpus import as_corpus
from headscope.text.items import TextPair
from headscope.trace import AttentionCall, TextScores, surveyed
from headscope.trace.architecture import Place
from headscope.trace.watch import Watch

TEXTS = [
    "The cat sat on the mat. It was red, and the dog saw it! A dog was in the house.",
    "A blue house. The cat and the dog sat in it. Was it red?",
    ("the cat sat on", "a dog saw it."),
    "It was a mat. The dog sat.",
    ("a mat", "the cat saw a dog and it sat on the red mat in the blue house."),
]


def arrays(found: hs.Atlas) -> dict[str, np.ndarray]:
    return {
        f"{stack}/{name}": array.values
        for stack in found.stacks
        for name, array in found.stack(stack).items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["gpt2", "llama", "bart"])
def test_batches_change_nothing(architecture: str) -> None:
    model = tiny(architecture)
    one, many = (
        arrays(hs.explain(model, "all", TEXTS, max_length=40, batch_size=size).to_atlas()) for size in (1, 5)
    )
    assert one.keys() == many.keys()
    for name, values in one.items():
        # Sharp neurons tie or not by rounding, so AUCs may differ by a hair.
        assert values == pytest.approx(many[name], abs=2e-3 if "auc" in name else 2e-4, nan_ok=True), name


def test_heads_that_were_not_asked_for_are_nan() -> None:
    model = tiny("bert")
    some = hs.explain(model, ["2.1", "0.3"], TEXTS, max_length=40)
    every = hs.explain(model, "all", TEXTS, max_length=40)
    for name, array in some.arrays()["encoder"].items():
        asked = np.zeros(array.values.shape[:2], bool)
        asked[2, 1] = asked[0, 3] = True
        assert np.isnan(array.values[~asked]).all(), name
        whole = every.arrays()["encoder"][name].values
        assert array.values[asked] == pytest.approx(whole[asked], nan_ok=True), name
    assert [row["head"] for row in some.table()] == ["0.3", "2.1"]


def test_neurons_are_scored_on_texts_that_did_not_choose_them() -> None:
    """By hand: two texts, each scored with the neurons that the other one chose."""
    model = tiny("bert")
    found = hs.explain(model, "1.*", TEXTS[:2], max_length=40).arrays()["encoder"]["score_share"].values[1]
    watch = Watch(surveyed(model))
    reader = Reader(as_corpus(TEXTS[:2]), watch.encoder(40), None)
    assert [text.half for text in dealt(reader)] == [1, 0]
    texts = []
    for shown in dealt(reader):  # and again
        batch = watch.batch([shown.encoded])
        real = batch.source.is_token[0]
        run_scores(
            watch.capture,
            batch.inputs,
            {Place("encoder", 1)},
            lambda place, call, real=real: texts.append(call.scores(0, range(4), real, real)),
        )

    def left(scored: TextScores, chosen_on: TextScores, head: int, count: int) -> float:
        best = best_neurons(moments(chosen_on)[head].numpy(), count)
        return variance(scored, head, [m for m in range(9) if m not in best])

    own = np.zeros((4, 4))
    for head, (column, count) in itertools.product(range(4), enumerate((1, 2, 4, 8))):
        whole = sum(variance(text, head, list(range(9))) for text in texts)
        other = left(texts[0], texts[1], head, count) + left(texts[1], texts[0], head, count)
        assert found[head, column] == pytest.approx(1 - other / whole, abs=1e-6)
        own[head, column] = 1 - sum(left(text, text, head, count) for text in texts) / whole
    assert (own[:, 0] >= found[:, 0] - 1e-6).all()
    assert (own > found + 0.01).any()  # texts that choose for themselves seem to be carried by fewer


def test_atlas_keeps_it_and_is_read_back(tmp_path: object) -> None:
    path = f"{tmp_path}/atlas.nc"
    found = hs.explain(tiny("bert"), "1.2", TEXTS, max_length=40)
    found.to_atlas().save(path)
    atlas = hs.open(path)
    assert atlas["score_share"].dims == ("layer", "head", "neurons")
    assert atlas["score_share"]["neurons"].values.tolist() == [1, 2, 4, 8]
    assert atlas["pattern_left"]["replaced"].values.tolist() == ["token", "position", "segment", "all"]
    assert atlas["replaced_js"]["replaced"].values.tolist()[-1] == "even"
    assert float(atlas["pattern_left"].sel(layer=1, head=2, replaced="all")) == pytest.approx(0, abs=1e-9)
    assert atlas.table("explanation") == json.loads(json.dumps(found.table()))
    assert atlas.provenance["probes"]["explanation"]["options"]["heads"] == "1.2"
    assert "score_share_bias" not in atlas


def test_what_cannot_be_replaced_is_said() -> None:
    found = hs.explain(tiny("llama"), "0.0", TEXTS, max_length=40)
    notes = "\n".join(found.source.notes)
    assert "after rotation" in notes
    assert "positions enter by rotation" in notes
    left = found.arrays()["decoder"]["pattern_left"].values[0, 0]
    assert np.isfinite(left).tolist() == [True, False, False, True]


def test_a_bias_is_told_apart() -> None:
    found = hs.explain(tiny("t5"), "encoder 0.0", TEXTS, max_length=40)
    assert "positions enter by a bias" in "\n".join(found.source.notes)
    share = found.arrays()["encoder"]["score_share_bias"].values[0, 0]
    whole = found.arrays()["encoder"]["score_share"].values[0, 0, 3]  # all eight neurons, so all but the bias
    assert 0 < whole < 1
    assert 0 < share < 0.5


def test_queries_and_keys_are_those_of_the_model() -> None:
    model = tiny("bert")
    capture = surveyed(model)
    watch = Watch(capture)
    batch = watch.batch([watch.encoder(30).encode(TextPair("the cat sat", "it was red"))])
    states: list[torch.Tensor] = []
    attention = model.core.encoder.layer[0].attention.self
    handle = attention.register_forward_pre_hook(
        lambda module, args, named: states.append(args[0]), with_kwargs=True
    )
    seen: list[AttentionCall] = []
    try:
        run_scores(capture, batch.inputs, {Place("encoder", 0)}, lambda place, call: seen.append(call))
    finally:
        handle.remove()
    with torch.inference_mode():
        query = attention.query(states[0]).unflatten(-1, (4, 8)).transpose(1, 2)
    assert torch.allclose(seen[0].query, query, atol=1e-6)
    assert seen[0].scaling == pytest.approx(8**-0.5)


@pytest.mark.parametrize(
    ("architecture", "message"),
    [("deberta", "depends on the tokens"), ("gemma2", "soft cap"), ("gptoss", "sink")],
)
def test_what_is_no_softmax_of_products_is_refused(architecture: str, message: str) -> None:
    with pytest.raises(CaptureError, match=message):
        hs.explain(tiny(architecture), "all", TEXTS, max_length=40)


def test_edits_are_refused() -> None:
    model = tiny("bert")
    with hs.edit(model, "0.0"):
        hs.analyze(model, TEXTS, measures=["entropy"], max_length=40)  # an edit that nothing runs in warns
        with pytest.raises(CaptureError, match="leave the edit"):
            hs.explain(model, "0.0", TEXTS, max_length=40)


def test_bad_input_is_said_in_one_line() -> None:
    model = tiny("bert")
    with pytest.raises(TextError, match="at least two"):
        hs.explain(model, "0.0", ["the cat sat."], max_length=40)
    with pytest.raises(TextError, match="generator"):
        hs.explain(model, "0.0", (text for text in TEXTS), max_length=40)
    with pytest.raises(OptionError, match=r"no head 9\.9"):
        hs.explain(model, "9.9", TEXTS, max_length=40)
    with pytest.raises(OptionError, match="limit must be at least 2"):
        hs.explain(model, "0.0", TEXTS, limit=1, max_length=40)
    with pytest.raises(OptionError, match="max_length 100"):
        hs.explain(model, "0.0", TEXTS, max_length=100)
    with pytest.raises(OptionError, match="batch_size"):
        hs.explain(model, "0.0", TEXTS, max_length=40, batch_size=0)


def test_intervals_hold_for_all_neurons_at_once() -> None:
    found = hs.explain(tiny("bert"), "0.0", TEXTS, max_length=40)
    contrast = found.table()[0]["separates"][2]
    assert contrast["texts"] == 5
    wide = student.ppf(1 - 0.05 / 2 / 8, 4)  # eight neurons, five texts
    best = contrast["neurons"][0]
    assert best["high"] == pytest.approx(min(1, best["auc"] + wide * best["stderr"]))
    assert best["low"] == pytest.approx(max(0, best["auc"] - wide * best["stderr"]))
    sizes = [abs(one["auc"] - 0.5) for one in contrast["neurons"]]
    assert sizes == sorted(sizes, reverse=True)
