"""Buckets of like length, padded."""

import pytest
import torch
from tests.helpers.tiny import sentencepiece_tokenizer, wordpiece_tokenizer

from headscope.batches import TokenBatch, lengths_of
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
    assert len(pinned) == (1 if device == "meta" else 0)
    assert waits == [False] * (1 if device == "meta" else tensors)
    assert {tensor.device.type for tensor in (*moved.inputs.values(), moved.source.word)} == {device}


def test_one_copy_takes_a_batch_and_what_was_derived_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # No accelerator here: another kind of memory plays the pinned one, and a copy of it the device's.
    monkeypatch.setattr(batching, "PINNED", {"cpu"})
    monkeypatch.setattr(torch.Tensor, "pin_memory", torch.Tensor.clone)
    monkeypatch.setattr(torch.Tensor, "to", lambda tensor, *_, **__: copies.append(tensor) or tensor.clone())
    copies: list[torch.Tensor] = []
    encoder = TextEncoder(sentencepiece_tokenizer(), "source-target", 32, decoder_start=0)
    encoded = [encoder.encode(TextPair("a cat sat", "a dog")), encoder.encode(TextPair("it"))]
    batch = collate(encoded, pad=0, has_segments=False, one_segment=False)

    def firsts(tokens: TokenBatch) -> tuple[torch.Tensor, list[int]]:
        return tokens.ids[:, :1], tokens.ids[:, 0].tolist()

    bound = batch.knowing([firsts, lengths_of]).bound_for(CPU)
    assert copies == []
    moved = bound.to(CPU)
    assert len(copies) == 1
    assert moved.inputs["input_ids"].data_ptr() == moved.source.ids.data_ptr() != batch.source.ids.data_ptr()
    for name, tensor in batch.inputs.items():
        assert torch.equal(moved.inputs[name], tensor)
    for mine, theirs in ((moved.source, batch.source), (moved.target, batch.target)):
        assert mine is not None
        assert theirs is not None
        for name in ("ids", "is_token", "role", "segment", "word", "word_type", "is_cut"):
            own, expected = getattr(mine, name), getattr(theirs, name)
            assert (own.dtype, own.tolist()) == (expected.dtype, expected.tolist()), name
        found = mine._derived[firsts]
        assert (found[0].tolist(), found[1]) == (theirs.ids[:, :1].tolist(), theirs.ids[:, 0].tolist())
        assert mine._derived[lengths_of].tolist() == theirs.lengths.tolist()
        assert set(mine._derived) == {firsts, lengths_of}


def test_what_is_derived_of_a_bound_batch_later_is_copied_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "PINNED", {"cpu"})
    monkeypatch.setattr(torch.Tensor, "pin_memory", torch.Tensor.clone)
    encoder = TextEncoder(sentencepiece_tokenizer(), "joined", 32)
    bound = collate(
        [encoder.encode(TextPair("the cat sat"))], pad=0, has_segments=False, one_segment=False
    ).bound_for(CPU)
    assert bound.to(CPU).source.lengths.tolist() == bound.source.lengths.tolist() == [3]
    assert bound.to(CPU).source._derived[lengths_of].tolist() == [3]
