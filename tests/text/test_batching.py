"""Buckets of like length, padded, and taken to where the model is."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.helpers.encoding import Encoder, batch_lengths, columns_of, playing_an_accelerator, taken_to
from tests.helpers.tiny import sentencepiece_tokenizer, wordpiece_tokenizer

PAIRS = [("a cat", "a dog"), ("it", None)]


def test_every_text_comes_once_and_like_lengths_come_together() -> None:
    assert list(batch_lengths([5, 30, 6, 31, 7, 29], 3, longest=32)) == [[31, 30, 29], [7, 6, 5]]


def test_reading_ahead_is_bounded() -> None:
    read = 0

    def lengths() -> Iterator[int]:
        nonlocal read
        for _ in range(1000):
            read += 1
            yield 4

    next(batch_lengths(lengths(), 2, longest=8))
    assert read == 2 * 16  # batches


def test_batch_size_may_depend_on_length() -> None:
    assert list(batch_lengths([8, 8, 2, 2, 2], {8: 1, 2: 4}, longest=8)) == [[8], [8], [2, 2, 2]]


def test_padding_and_segments() -> None:
    encoder = Encoder(wordpiece_tokenizer())
    batch = encoder.batch(PAIRS, has_segments=True)
    assert batch.inputs["attention_mask"].tolist() == [[1] * 7, [1, 1, 1, 0, 0, 0, 0]]
    assert batch.inputs["token_type_ids"].tolist() == [[0, 0, 0, 0, 1, 1, 1], [0] * 7]
    assert batch.source.segment.tolist() == [[-1, 0, 0, -1, 1, 1, -1], [-1, 0, -1, -1, -1, -1, -1]]
    assert batch.source.word.tolist() == [[-1, 0, 1, -1, 2, 3, -1], [-1, 0, -1, -1, -1, -1, -1]]
    assert (batch.texts, batch.tokens) == (2, 10)
    assert not encoder.batch(PAIRS, has_segments=True, published=True).inputs["token_type_ids"].any()
    assert "token_type_ids" not in encoder.batch(PAIRS).inputs


def source_and_target() -> Encoder:
    return Encoder(sentencepiece_tokenizer(eos=True), "source-target", decoder_start=0)


def test_encoder_decoder_batches_hold_both_sides() -> None:
    batch = source_and_target().batch([("the cat sat", "a dog"), ("it", "the red cat sat")])
    assert batch.target is not None
    assert batch.inputs["input_ids"].shape == (2, 4)
    assert batch.inputs["decoder_input_ids"].shape == (2, 5)
    assert batch.inputs["decoder_attention_mask"].tolist() == [[1, 1, 1, 0, 0], [1] * 5]


# No accelerator here: memory of another kind plays that of one.


@pytest.mark.parametrize("accelerator", ["meta", "cpu"])
def test_one_copy_from_pinned_memory_takes_a_batch_to_an_accelerator(accelerator: str) -> None:
    batch = source_and_target().batch(PAIRS)
    with playing_an_accelerator(accelerator) as transfers:
        moved = taken_to(accelerator, batch)
    assert (transfers.pinned, transfers.waited) == (1, [False])
    tensors = [*moved.inputs.values(), *columns_of(moved.source).values()]
    assert {tensor.device.type for tensor in tensors} == {accelerator}


def test_other_devices_pin_nothing_and_nothing_waits() -> None:
    with playing_an_accelerator("meta") as transfers:
        taken_to("cpu", source_and_target().batch(PAIRS))
    assert transfers.pinned == 0
    assert not any(transfers.waited)


def test_a_batch_arrives_with_what_was_derived_of_it() -> None:
    batch = source_and_target().batch([("a cat sat", "a dog"), ("it", None)])
    derived = 0

    def firsts(tokens: Any) -> tuple[Any, list[int]]:
        nonlocal derived
        derived += 1
        return tokens.ids[:, :1], tokens.ids[:, 0].tolist()

    with playing_an_accelerator("cpu") as transfers:
        moved = taken_to("cpu", batch, [firsts])
        assert len(transfers.waited) == 1
    assert derived == 2  # of the source and of the target
    for name, tensor in batch.inputs.items():
        assert moved.inputs[name].tolist() == tensor.tolist()
    assert moved.inputs["input_ids"].data_ptr() == moved.source.ids.data_ptr() != batch.source.ids.data_ptr()
    for ours, theirs in ((moved.source, batch.source), (moved.target, batch.target)):
        assert ours is not None
        assert theirs is not None
        for name, expected in columns_of(theirs).items():
            found = columns_of(ours)[name]
            assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist()), name
        column, numbers = ours.derive(firsts)
        assert (column.tolist(), numbers) == (theirs.ids[:, :1].tolist(), theirs.ids[:, 0].tolist())
    assert derived == 2


def test_what_is_derived_of_a_batch_that_has_arrived_is_right_too() -> None:
    with playing_an_accelerator("cpu"):
        moved = taken_to("cpu", Encoder(sentencepiece_tokenizer(), "joined").batch([("the cat sat", None)]))
        assert moved.source.lengths.tolist() == [3]
