"""Queries, keys and what else makes a score: their softmax is the head's own weights."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from tests.helpers.tiny import BUILDERS, tiny

import headscope as hs
from headscope.errors import CaptureError, OptionError
from headscope.models import Model, wrap
from headscope.pages.neurons import MOST_MOVED, _ranges, has_neurons, neuron_reader, read_neurons
from headscope.pages.seen import observe
from headscope.pages.shapes.views import Neurons
from headscope.trace import surveyed

TEXTS = ("The cat sat on the mat, and it was red.", "A dog saw the house.")
HOOKED = [name for name in BUILDERS if name not in ("mpnet", "deberta", "convbert", "xlnet", "falcon")]


def weights_of(neurons: Neurons) -> np.ndarray:
    """The softmax as the front end is told to compute it, number by number."""
    keys = len(neurons.keys)
    rows = []
    for query, q in enumerate(neurons.queries):
        first, end = neurons.visible[query] if neurons.visible else (0, keys)
        scores = []
        for key, k in enumerate(neurons.keys):
            score = neurons.scale * sum(a * b for a, b in zip(q, k, strict=True))
            if neurons.soft_cap is not None:
                score = neurons.soft_cap * np.tanh(score / neurons.soft_cap)
            if neurons.bias is not None:
                score += neurons.bias[query][key]
            scores.append(score if first <= key < end else -np.inf)
        sink = -np.inf if neurons.sink is None else neurons.sink
        powers = [np.exp(score - max(sink, *scores)) for score in [*scores, sink]]
        rows.append([power / sum(powers) for power in powers[:-1]])
    return np.array(rows)


@pytest.mark.parametrize("architecture", HOOKED)
def test_what_a_view_is_given_is_enough_for_it(architecture: str) -> None:
    model = tiny(architecture)
    observed = observe(model, *TEXTS)
    found = list(read_neurons(model, *TEXTS))
    assert len(found) == sum(stack.layers * stack.heads for stack in observed.stacks)
    assert all(one.agrees for one in found)
    for one in (found[0], found[len(found) // 2], found[-1]):
        apart = np.abs(weights_of(one) - observed.layer(one.stack, one.layer)[one.head]).max()
        assert 0 < apart <= MOST_MOVED + 1e-6  # numbers are rounded, but not too far


def sharpened(*, times: float = 1.0, shift: float = 0.0) -> Model:
    """A BERT with larger queries and keys, or with the same large number in every key, which no softmax sees."""
    model = tiny("bert")
    network = deepcopy(model.network)
    with torch.no_grad():
        for layer in network.encoder.layer:
            for projection in (layer.attention.self.query, layer.attention.self.key):
                projection.weight.mul_(times)
            layer.attention.self.key.bias.add_(shift)
    return wrap(network.eval(), model.tokenizer, name="sharpened")


@pytest.mark.parametrize("options", [{"times": 3.0}, {"shift": 20.0}, {"shift": 300.0}])
def test_where_scores_are_large_numbers_have_more_digits(options: dict[str, float]) -> None:
    model = sharpened(**options)
    observed = observe(model, *TEXTS)
    for one in read_neurons(model, *TEXTS):
        apart = np.abs(weights_of(one) - observed.layer(one.stack, one.layer)[one.head]).max()
        # A model's own float32 is not exact where scores are so large.
        assert apart <= MOST_MOVED + (5e-4 if options.get("shift") == 300.0 else 1e-5)
        assert one.agrees


def test_numbers_have_no_more_digits_than_they_need() -> None:
    [one] = read_neurons(tiny("bert"), "the cat", heads=[("encoder", 0, 0)])
    said = [f"{abs(number):e}" for row in one.queries for number in row]
    assert {len(text.partition("e")[0].rstrip("0").replace(".", "")) for text in said} <= {1, 2, 3, 4}
    long = np.array(next(iter(read_neurons(sharpened(shift=300.0), "the cat a dog"))).keys)
    assert (np.abs(long - np.round(long, 1)) > 1e-9).any()


def test_numbers_are_said_to_agree_as_they_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headscope.pages.neurons._DIGITS", range(1, 2))
    found = list(read_neurons(sharpened(times=3.0), *TEXTS))
    observed = observe(sharpened(times=3.0), *TEXTS)
    for one in found:
        apart = np.abs(weights_of(one) - observed.layer(one.stack, one.layer)[one.head]).max()
        assert one.agrees == (apart <= 1e-3)
    assert not all(one.agrees for one in found)


def test_nan_is_not_shown() -> None:
    model = sharpened(times=float("nan"))
    with pytest.raises(CaptureError, match="nan"):
        list(read_neurons(model, *TEXTS))


def test_grouped_heads_share_keys_and_have_their_own_queries() -> None:
    found = list(read_neurons(tiny("llama"), *TEXTS, heads=[("decoder", 1, head) for head in range(4)]))
    keys = [np.array(one.keys) for one in found]
    for one, other in ((0, 1), (2, 3)):
        np.testing.assert_allclose(keys[one], keys[other], rtol=1e-3)  # each rounded as its head needs it
    assert not np.allclose(keys[1], keys[2], rtol=1e-1)
    assert found[0].queries != found[1].queries
    assert found[0].rotated
    assert "after rotation" in found[0].note


def test_queries_are_those_of_the_models_own_layers() -> None:
    """BERT's query projection of the embeddings, computed without the hook."""
    model = tiny("bert")
    inputs = model.tokenizer(TEXTS[0], return_tensors="pt")
    attention = model.core.encoder.layer[0].attention.self
    with torch.inference_mode():
        expected = attention.query(model.core.embeddings(inputs["input_ids"]))
    head = attention.attention_head_size
    [found] = read_neurons(model, TEXTS[0], heads=[("encoder", 0, 2)])
    np.testing.assert_allclose(found.queries, expected[0, :, 2 * head : 3 * head], rtol=1e-3, atol=1e-5)
    assert found.scale == pytest.approx(head**-0.5)
    assert (found.bias, found.visible, found.soft_cap, found.sink, found.note) == (None, None, None, None, "")


def test_t5_has_a_bias_for_position_in_its_self_attention_only() -> None:
    found = {one.stack: one for one in read_neurons(tiny("t5"), *TEXTS) if one.layer == one.head == 0}
    assert found["encoder"].bias is not None
    assert found["decoder"].bias is not None
    assert found["cross"].bias is None
    assert found["encoder"].scale == 1
    table = tiny("t5").core.encoder.block[0].layer[0].SelfAttention.relative_attention_bias.weight
    assert found["encoder"].bias[3][3] == pytest.approx(float(table[0, 0].detach()), rel=1e-3)
    assert len(found["cross"].queries) == len(found["decoder"].queries) != len(found["cross"].keys)


def test_caps_sinks_and_windows_are_told() -> None:
    cap = next(iter(read_neurons(tiny("gemma2"), *TEXTS, heads=[("decoder", 0, 0)])))
    assert cap.soft_cap == 2
    assert "soft cap" in cap.note
    assert cap.visible is not None
    assert cap.visible[12] == (5, 13)  # a window of 8
    sink = next(iter(read_neurons(tiny("gptoss"), *TEXTS, heads=[("decoder", 0, 1)])))
    assert sink.sink == pytest.approx(float(tiny("gptoss").core.layers[0].self_attn.sinks[1].detach()))
    assert "sink" in sink.note


def test_an_edit_stays_in_force_and_is_told() -> None:
    model = tiny("bert")
    with hs.edit(model, "1.2", how="uniform"):
        found = {
            one.head: one for one in read_neurons(model, *TEXTS, heads=[("encoder", 1, h) for h in (1, 2)])
        }
    assert found[1].agrees
    assert not found[2].agrees
    assert "edited" in found[2].note


def test_nothing_is_left_behind() -> None:
    model = tiny("gpt2")
    before = model.core.config._attn_implementation
    with pytest.raises(ZeroDivisionError):
        list(read_neurons(model, *TEXTS, between=lambda: 1 // 0))
    assert model.core.config._attn_implementation == before
    list(read_neurons(model, *TEXTS))
    assert model.core.config._attn_implementation == before


@pytest.mark.parametrize("architecture", ["deberta", "xlnet"])
def test_models_that_hide_their_queries_say_so(architecture: str) -> None:
    model = tiny(architecture)
    assert not has_neurons(model)
    assert neuron_reader(model, *TEXTS) is None
    with pytest.raises(CaptureError, match="depends on the tokens"):
        list(read_neurons(model, *TEXTS))
    assert surveyed(model).stacks.grids[0].heads == 4


@pytest.mark.parametrize(
    ("place", "says"),
    [
        (("encoder", 3, 0), "no head 3.0"),
        (("encoder", 0, 4), "no head 0.4"),
        (("cross", 0, 0), "no stack 'cross'"),
    ],
)
def test_heads_that_are_not_there(place: tuple[str, int, int], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        list(read_neurons(tiny("bert"), *TEXTS, heads=[place]))


def test_keys_in_sight_are_told_as_ranges_where_they_have_no_gaps() -> None:
    causal = np.tril(np.ones((3, 3), dtype=bool))
    assert _ranges(causal) == [(0, 1), (0, 2), (0, 3)]
    assert _ranges(causal[::-1, ::-1]) == [(0, 3), (1, 3), (2, 3)]
    gaps = causal.copy()
    gaps[2, 1] = False
    assert _ranges(gaps) is None
