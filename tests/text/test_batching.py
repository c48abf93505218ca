"""Buckets of like length, padded."""

import pytest
import torch
from tests.helpers.tiny import sentencepiece_tokenizer, wordpiece_tokenizer

from headscope.text import batching
from headscope.text.batching import READ_AHEAD, Bucketed, collate
from headscope.text.encode import EncodedInput, EncodedText, TextEncoder
from headscope.text.items import TextPair

CPU = torch.device("cpu")


def text(length: int) -> EncodedInput:
    column = list(range(length))
    return EncodedInput(EncodedText(column, column, column, column, column))


def test_every_text_comes_once_and_like_lengths_come_together() -> None:
    lengths = [5, 30, 6, 31, 7, 29]
    found = [[len(item) for item in batch] for batch in Bucketed(lambda length: 3, 32)(map(text, lengths))]
    assert found == [[31, 30, 29], [7, 6, 5]]


def test_reading_ahead_is_bounded() -> None:
    read = 0

    def stream():
        nonlocal read
        for _ in range(1000):
            read += 1
            yield text(4)

    next(Bucketed(lambda length: 2, 8)(stream()))
    assert read == 2 * READ_AHEAD


def test_batch_size_may_depend_on_length() -> None:
    found = [len(batch) for batch in Bucketed(lambda length: 8 // length, 8)(map(text, [8, 8, 2, 2, 2]))]
    assert found == [1, 1, 3]


def test_padding_and_segments() -> None:
    encoder = TextEncoder(wordpiece_tokenizer(), "pair", 32)
    encoded = [encoder.encode(TextPair("a cat", "a dog")), encoder.encode(TextPair("it"))]
    batch = collate(encoded, pad=0, has_segments=True, one_segment=False, device=CPU)
    assert batch.inputs["attention_mask"].tolist() == [[1] * 7, [1, 1, 1, 0, 0, 0, 0]]
    assert batch.inputs["token_type_ids"].tolist() == [[0, 0, 0, 0, 1, 1, 1], [0] * 7]
    assert batch.source.segment.tolist() == [[-1, 0, 0, -1, 1, 1, -1], [-1, 0, -1, -1, -1, -1, -1]]
    assert (batch.texts, batch.tokens) == (2, 10)
    faithful = collate(encoded, pad=0, has_segments=True, one_segment=True, device=CPU)
    assert not faithful.inputs["token_type_ids"].any()
    assert (
        "token_type_ids"
        not in collate(encoded, pad=0, has_segments=False, one_segment=False, device=CPU).inputs
    )


def test_encoder_decoder_batches_hold_both_sides() -> None:
    encoder = TextEncoder(sentencepiece_tokenizer(eos=True), "source-target", 32, decoder_start=0)
    encoded = [
        encoder.encode(TextPair("the cat sat", "a dog")),
        encoder.encode(TextPair("it", "the red cat sat")),
    ]
    batch = collate(encoded, pad=0, has_segments=False, one_segment=False, device=CPU)
    assert batch.target is not None
    assert batch.inputs["input_ids"].shape == (2, 4)
    assert batch.inputs["decoder_input_ids"].shape == (2, 5)
    assert batch.inputs["decoder_attention_mask"].tolist() == [[1, 1, 1, 0, 0], [1] * 5]


@pytest.mark.parametrize("device", ["meta", "cpu"])
def test_a_batch_bound_for_an_accelerator_is_pinned_and_copied_without_waiting(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No accelerator here: "meta" plays one, and what is asked of its tensors is noted.
    pinned: list[torch.Tensor] = []
    waits: list[bool] = []
    to = torch.Tensor.to

    def noted(tensor: torch.Tensor, target: torch.device, *, non_blocking: bool = False) -> torch.Tensor:
        waits.append(not non_blocking)
        return to(tensor, target)

    monkeypatch.setattr(batching, "PINNED", {"meta"})
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: pinned.append(tensor) or tensor)
    encoder = TextEncoder(sentencepiece_tokenizer(), "source-target", 32, decoder_start=0)
    encoded = [encoder.encode(TextPair("a cat", "a dog")), encoder.encode(TextPair("it"))]
    batch = collate(encoded, pad=0, has_segments=False, one_segment=False)
    bound = batch.bound_for(torch.device(device))
    monkeypatch.setattr(torch.Tensor, "to", noted)
    moved = bound.to(torch.device(device))
    tensors = 4 + 2 * 7  # inputs, and what is known of the tokens of source and target
    assert len(pinned) == (tensors if device == "meta" else 0)
    assert waits == [False] * tensors
    assert {tensor.device.type for tensor in (*moved.inputs.values(), moved.source.word)} == {device}
