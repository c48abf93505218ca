"""Start tokens of decoders, and special tokens that stand in running text."""

from dataclasses import replace

import pytest
from tests.helpers.tiny import byte_tokenizer, sentencepiece_tokenizer, tiny, wordpiece_tokenizer
from tokenizers import AddedToken

from headscope.capture import surveyed
from headscope.pages.tokens import tokens_of
from headscope.run.watch import Watch, start_note, start_token_of
from headscope.text.encode import TextEncoder, special_ids
from headscope.text.items import TextPair
from headscope.types import CLS, OTHER, SEP


def encoder(tokenizer: object, *, start: bool | None, length: int = 20) -> TextEncoder:
    return TextEncoder(tokenizer, "joined", length, start=start)


@pytest.mark.parametrize(
    ("adds", "start", "first"), [(False, True, 3), (True, True, 3), (True, None, 3), (False, None, 20)]
)
def test_a_start_token_is_there_once(adds: bool, start: bool | None, first: int) -> None:
    reader = encoder(sentencepiece_tokenizer(bos=adds), start=start)
    ids = reader.encode(TextPair("the cat sat")).source.ids
    assert (ids[0] == 3) is (first == 3)
    assert ids.count(3) == (first == 3)
    assert reader.start_token == ("<s>" if first == 3 else None)


@pytest.mark.parametrize("adds", [False, True])
def test_without_a_start_token_the_tokenizers_own_is_taken_away(adds: bool) -> None:
    reader = encoder(sentencepiece_tokenizer(bos=adds), start=False)
    plain = encoder(sentencepiece_tokenizer(), start=None).encode(TextPair("the cat sat"))
    assert reader.encode(TextPair("the cat sat")) == plain
    assert reader.start_token is None


@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("start", [False, True])
def test_a_long_text_fills_the_room_beside_the_start_token(adds: bool, start: bool) -> None:
    reader = encoder(sentencepiece_tokenizer(bos=adds), start=start, length=6)
    source = reader.encode(TextPair("the cat sat on the mat and saw it")).source
    assert source.cut
    assert len(source) == 6
    assert reader.room == 6 - start


def test_the_start_token_is_the_first_and_no_word() -> None:
    source = encoder(byte_tokenizer(), start=True).encode(TextPair("a cat")).source
    assert (source.role[0], source.segment[0], source.word[0]) == (CLS, -1, -1)
    assert (source.role[1], source.segment[1], source.word[1]) == (OTHER, 0, 0)


def test_a_text_that_begins_with_it_is_not_given_another() -> None:
    source = encoder(byte_tokenizer(), start=True).encode(TextPair("<|endoftext|>a")).source
    assert source.ids.count(0) == 1


def test_pairs_of_encoders_are_left_alone() -> None:
    tokenizer = wordpiece_tokenizer()
    tokenizer.bos_token = "[CLS]"
    reader = TextEncoder(tokenizer, "pair", 20, start=True)
    assert reader.added == 0
    assert reader.encode(TextPair("the cat [MASK]")) == TextEncoder(tokenizer, "pair", 20).encode(
        TextPair("the cat [MASK]")
    )


def test_marks_of_a_chat_are_special_tokens() -> None:
    tokenizer = byte_tokenizer()
    tokenizer.add_tokens([AddedToken("<|turn|>", special=True)], special_tokens=True)
    mark = tokenizer.convert_tokens_to_ids("<|turn|>")
    assert mark in special_ids(tokenizer)
    reader = encoder(tokenizer, start=True)
    text = "<|turn|>hi<|turn|>yo"
    source = reader.encode(TextPair(text)).source
    assert [token == mark for token in source.ids] == [False, True, False, False, True, False, False]
    assert source.role == [CLS, SEP, OTHER, OTHER, SEP, OTHER, OTHER]
    assert source.segment == [-1, -1, 0, 0, -1, 0, 0]
    assert [word >= 0 for word in source.word] == [segment >= 0 for segment in source.segment]
    shown = tokens_of(reader, source, [text])
    assert shown.words == ["hi", "yo"]
    assert shown.special == [True, True, False, False, True, False, False]


def test_a_model_says_what_its_texts_begin_with() -> None:
    model = tiny("gpt2")
    assert start_token_of(model) == "<|endoftext|>"
    assert "--no-start-token" in (start_note(model) or "")
    without = replace(model, start_token=False)
    assert start_token_of(without) is None
    assert start_note(without) is None
    assert Watch(surveyed(without)).encoder(8).encode(TextPair("a")).source.ids[0] != 0
    llama = tiny("llama")  # whose tokenizer adds it
    assert start_note(llama) is None
    assert start_token_of(llama) == "<s>"
    assert "without the start token <s>" in (start_note(replace(llama, start_token=False)) or "")
    assert start_token_of(tiny("bert")) is None


def test_models_tuned_to_classify_read_as_their_tokenizer_does(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny("gpt2")
    monkeypatch.setattr(model.config, "architectures", ["GPT2ForSequenceClassification"])
    assert model.start is None
    assert start_token_of(model) is None
