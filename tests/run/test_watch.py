"""Texts through a model: how it takes them, how many at a time, and what is seen of them."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

import pytest
import torch
from tests.helpers.tiny import tiny

from headscope.capture import survey
from headscope.capture.projection import Carrier
from headscope.models import Model
from headscope.run import watch as module
from headscope.run.one_pass import in_halves
from headscope.run.watch import Watch
from headscope.text.items import TextPair
from headscope.text.words import WordText
from headscope.types import AttentionBatch, StackName


def watch(architecture: str, *, holds_all: bool = False, one_segment: bool = False) -> Watch:
    return Watch(survey(tiny(architecture)), holds_all=holds_all, one_segment=one_segment)


@pytest.mark.parametrize(
    ("architecture", "layout"), [("bert", "pair"), ("gpt2", "joined"), ("t5", "source-target")]
)
def test_how_a_model_takes_two_texts(architecture: str, layout: str) -> None:
    assert watch(architecture).layout == layout


def test_what_turns_texts_into_input() -> None:
    encoder = watch("t5").encoder(20)
    assert (encoder.layout, encoder.max_length, encoder.decoder_start) == ("source-target", 20, 0)
    assert watch("bart").encoder(20).decoder_start == 3


def test_a_model_without_a_start_token_begins_with_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = watch("t5")
    monkeypatch.setattr(watched.model.config, "decoder_start_token_id", None)
    monkeypatch.setattr(watched.model.config, "pad_token_id", 7)
    assert watched.encoder(20).decoder_start == 7


# How many texts go together


def test_as_many_as_asked_for() -> None:
    assert [watch("bert").texts_at(7)(length) for length in (1, 10, 64)] == [7, 7, 7]


def test_as_many_as_are_fast_on_this_device() -> None:
    texts_at = watch("bert").texts_at()
    assert [texts_at(length) for length in (1, 8, 64)] == [1024, 128, 16]
    assert texts_at(5000) == 1


def test_one_layer_of_a_batch_stays_within_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LAYER_BYTES", 4 * 4 * 10 * 10 * 3)  # three texts of ten tokens, four heads
    texts_at = watch("bert").texts_at()
    assert (texts_at(10), texts_at(11), texts_at(40)) == (3, 2, 1)


def test_all_layers_of_a_batch_stay_within_theirs_when_they_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(module.HELD_BYTES, "cpu", 3 * 4 * 4 * 10 * 10 * 5)  # three layers, five texts
    assert watch("bert").texts_at()(10) == 102
    assert watch("bert", holds_all=True).texts_at()(10) == 5
    returned = replace(survey(tiny("deberta")), hooked=False)  # its attention would come only all at once
    assert Watch(returned).texts_at()(10) == 5


def test_kernels_on_an_accelerator_hold_little_unless_it_would_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = watch("bert", holds_all=True)
    watched.kernels = module.USED
    monkeypatch.setattr(Model, "device", torch.device("cuda"))
    config = watched.model.config
    held = 3 * 4 * 10 * 4  # bytes of a token of ten: three layers of four heads
    own = (2 * config.intermediate_size + 3 * config.hidden_size) * 4  # of a token in a plain pass
    weights = sum(weight.numel() for weight in watched.model.network.parameters()) * 4
    monkeypatch.setattr(module, "LEAST_TOKENS", 0)
    fitting = watched.texts_at()(10)
    plain = weights + module.ACCELERATOR_TOKENS * own
    taken = weights + 10 * fitting * (own + held)
    assert 1 < taken / plain <= 1 + 1 / 9 < (taken + 10 * (own + held)) / plain
    monkeypatch.setattr(module, "LEAST_TOKENS", 30_000)
    assert watched.texts_at()(10) == 3000 > fitting


def test_the_residual_stream_is_let_go_of_with_its_layer() -> None:
    capture = survey(tiny("bert"))
    carrier = Carrier(capture)
    watched = Watch(capture, carrier=carrier)
    watched.kernels = module.USED
    after: list[int] = []
    batch = watched.batch([watched.encoder(16).encode(TextPair("The cat sat."))])
    with ExitStack() as hooks:
        for layer in capture.model.core.encoder.layer:
            hook = layer.intermediate.register_forward_pre_hook(
                lambda *_: after.append(len(carrier._streams))
            )
            hooks.callback(hook.remove)
        watched.run_reduced(batch, lambda *_: None)
    assert after == [0, 0, 0]


def test_a_model_that_cannot_be_padded_takes_one_at_a_time() -> None:
    texts_at = watch("convbert").texts_at()
    assert texts_at(3) == 1
    assert watch("convbert").texts_at(8)(3) == 1


# What is seen


def lengths(architecture: str) -> list[tuple[StackName, int, tuple[int, ...], int, int]]:
    """What one pass over two texts shows: stack, layer, shape of the maps, and how many words each side has."""
    watched = watch(architecture)
    encoder = watched.encoder(32)
    texts = [WordText.of(["the", "cat", "sat"]), WordText.of(["it", "was"])]
    seen = []

    def see(stack: StackName, batch: AttentionBatch) -> None:
        words = [int(side.word[0].max()) + 1 for side in (batch.queries, batch.keys)]
        seen.append((stack, batch.layer, tuple(batch.attention.shape), *words))

    watched.run(watched.batch([encoder.encode_words(text) for text in texts]), see)
    return seen


def test_every_layer_of_an_encoder_is_seen() -> None:
    assert lengths("bert") == [("encoder", layer, (2, 4, 5, 5), 3, 3) for layer in range(3)]


def test_each_stack_sees_its_own_tokens() -> None:
    watched = watch("t5")
    encoded = watched.encoder(32).encode(TextPair("the cat sat", "it was"))
    sides: dict[StackName, tuple[int, int]] = {}

    def see(stack: StackName, batch: AttentionBatch) -> None:
        sides[stack] = (batch.queries.ids.shape[1], batch.keys.ids.shape[1])
        assert tuple(batch.attention.shape[2:]) == sides[stack]

    watched.run(watched.batch([encoded]), see)
    assert sides == {"encoder": (4, 4), "decoder": (3, 3), "cross": (3, 4)}


def test_padding_gives_no_attention() -> None:
    watched = watch("bert")
    encoder = watched.encoder(32)
    texts = [encoder.encode_words(WordText.of(["the"] * count)) for count in (6, 1)]

    def see(_: StackName, batch: AttentionBatch) -> None:
        assert not batch.attention[1, :, 3:].any()
        assert not batch.attention[1, :, :, 3:].any()
        assert torch.allclose(batch.attention[1, :, :3].sum(-1), torch.ones(4, 3))

    watched.run(watched.batch(texts), see)


def test_both_texts_may_be_given_one_segment() -> None:
    pair = TextPair("the cat", "it was")
    for one_segment in (False, True):
        watched = watch("bert", one_segment=one_segment)
        batch = watched.batch([watched.encoder(32).encode(pair)])
        assert bool(batch.inputs["token_type_ids"].any()) != one_segment


def test_a_batch_knows_which_texts_were_cut() -> None:
    watched = watch("t5")
    encoder = watched.encoder(4)
    texts = [encoder.encode_words(WordText.of(["the"] * count)) for count in (2, 9, 3)]
    batch = watched.batch(texts)
    assert batch.target is not None
    for side in (batch.source, batch.target):
        assert side.is_cut is not None
        assert side.is_cut.tolist() == [False, True, False]


# Too large for the accelerator


def failing(limit: int, taken: list[list[int]]) -> Callable[[list[int]], None]:
    def add(texts: list[int]) -> None:
        if len(texts) > limit:
            raise torch.OutOfMemoryError("CUDA out of memory")
        taken.append(texts)

    return add


def test_a_batch_that_fits_goes_in_one() -> None:
    taken: list[list[int]] = []
    in_halves([1, 2, 3], failing(3, taken))
    assert taken == [[1, 2, 3]]


def test_a_batch_too_large_for_memory_goes_in_parts() -> None:
    taken: list[list[int]] = []
    in_halves(list(range(7)), failing(2, taken))
    assert [text for part in taken for text in part] == list(range(7))
    assert max(map(len, taken)) <= 2


def test_one_text_too_large_for_memory_fails() -> None:
    taken: list[list[int]] = []
    with pytest.raises(torch.OutOfMemoryError):
        in_halves([1, 2], failing(0, taken))
    assert taken == []


def test_other_failures_are_not_tried_again() -> None:
    tries = []

    def add(texts: list[int]) -> None:
        tries.append(texts)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        in_halves([1, 2], add)
    assert tries == [[1, 2]]
