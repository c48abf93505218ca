"""Start tokens of decoders, and special tokens that stand in running text."""

from dataclasses import replace
from typing import Any

import pytest
from tests.helpers.encoding import Encoder, start_note
from tests.helpers.tiny import byte_tokenizer, sentencepiece_tokenizer, tiny, wordpiece_tokenizer
from tokenizers import AddedToken


def encoder(tokenizer: Any, *, start: bool | None, max_length: int = 20) -> Encoder:
    return Encoder(tokenizer, "joined", max_length, start=start)


@pytest.mark.parametrize(
    ("adds", "start", "first"), [(False, True, 3), (True, True, 3), (True, None, 3), (False, None, 20)]
)
def test_a_start_token_is_there_once(adds: bool, start: bool | None, first: int) -> None:
    reader = encoder(sentencepiece_tokenizer(bos=adds), start=start)
    ids = reader.encode("the cat sat").source.ids
    assert (ids[0] == 3) is (first == 3)
    assert ids.count(3) == (first == 3)
    assert reader.start_token == ("<s>" if first == 3 else None)


@pytest.mark.parametrize("adds", [False, True])
def test_without_a_start_token_the_tokenizers_own_is_taken_away(adds: bool) -> None:
    reader = encoder(sentencepiece_tokenizer(bos=adds), start=False)
    plain = encoder(sentencepiece_tokenizer(), start=None).encode("the cat sat")
    assert reader.encode("the cat sat") == plain
    assert reader.start_token is None


@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("start", [False, True])
def test_a_long_text_fills_the_room_beside_the_start_token(adds: bool, start: bool) -> None:
    reader = encoder(sentencepiece_tokenizer(bos=adds), start=start, max_length=6)
    source = reader.encode("the cat sat on the mat and saw it").source
    assert source.is_cut
    assert len(source) == 6
    assert sum(word >= 0 for word in source.word) == 6 - start


def test_the_start_token_is_the_first_and_no_word() -> None:
    source = encoder(byte_tokenizer(), start=True).encode("a cat").source
    assert (source.token_class[0], source.segment[0], source.word[0]) == ("cls", -1, -1)
    assert (source.token_class[1], source.segment[1], source.word[1]) == ("other", 0, 0)


def test_a_text_that_begins_with_it_is_not_given_another() -> None:
    source = encoder(byte_tokenizer(), start=True).encode("<|endoftext|>a").source
    assert source.ids.count(0) == 1


def test_pairs_of_encoders_are_left_alone() -> None:
    tokenizer = wordpiece_tokenizer()
    tokenizer.bos_token = "[CLS]"
    text = "the cat [MASK]"
    with_start = Encoder(tokenizer, "pair", 20, start=True).encode(text)
    assert with_start == Encoder(tokenizer, "pair", 20).encode(text)


def test_marks_of_a_chat_are_special_tokens() -> None:
    tokenizer = byte_tokenizer()
    tokenizer.add_tokens([AddedToken("<|turn|>", special=True)], special_tokens=True)
    reader = encoder(tokenizer, start=True)
    text = "<|turn|>hi<|turn|>yo"
    source = reader.encode(text).source
    assert source.text == ["<|endoftext|>", "<|turn|>", "h", "i", "<|turn|>", "y", "o"]
    assert source.token_class == ["cls", "sep", "other", "other", "sep", "other", "other"]
    assert source.segment == [-1, -1, 0, 0, -1, 0, 0]
    assert [word >= 0 for word in source.word] == [segment >= 0 for segment in source.segment]
    assert reader.shown(text) == (["hi", "yo"], [True, True, False, False, True, False, False])


def test_a_model_says_what_its_texts_begin_with() -> None:
    model = tiny("gpt2")
    assert Encoder.of_model(model).start_token == "<|endoftext|>"
    assert "--no-start-token" in (start_note(model) or "")
    without = replace(model, start_token=False)
    assert Encoder.of_model(without).start_token is None
    assert start_note(without) is None
    assert Encoder.of_model(without).encode("a").source.text == ["a"]
    llama = tiny("llama")  # whose tokenizer adds it
    assert start_note(llama) is None
    assert Encoder.of_model(llama).start_token == "<s>"
    assert "<s>" in (start_note(replace(llama, start_token=False)) or "")
    assert Encoder.of_model(tiny("bert")).start_token is None


def test_models_tuned_to_classify_read_as_their_tokenizer_does(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny("gpt2")
    monkeypatch.setattr(model.config, "architectures", ["GPT2ForSequenceClassification"])
    assert Encoder.of_model(model).start_token is None
