"""Every token knows its sentence, however the model takes two texts."""

import pytest
from tests.helpers.tiny import tiny

from headscope.explanation.texts import token_sentences
from headscope.text.items import TextPair
from headscope.trace import surveyed
from headscope.trace.watch import Watch

PAIR = TextPair("The cat sat. It was red!", "A dog saw it. The mat was blue.")


def numbers(architecture: str, pair: TextPair, length: int = 60) -> tuple[list[int], list[int] | None]:
    watch = Watch(surveyed(tiny(architecture)))
    return token_sentences(pair, watch.encoder(length).encode(pair), watch.layout)


def test_sentences_of_a_pair() -> None:
    assert numbers("bert", PAIR)[0] == [-1, *[0] * 4, *[1] * 4, -1, *[2] * 5, *[3] * 5, -1]
    assert numbers("bert", TextPair("The cat sat. It was red!"))[0] == [-1, *[0] * 4, *[1] * 4, -1]


def test_a_pair_that_is_cut_keeps_the_sentences_of_what_is_left() -> None:
    found, _ = numbers("bert", PAIR, 13)  # 5 tokens of each text
    assert found == [-1, *[0] * 4, 1, -1, *[2] * 5, -1]


def test_a_decoder_reads_one_running_text() -> None:
    found, target = numbers("llama", PAIR)
    assert target is None
    kinds = [number for number in found if number >= 0]
    assert sorted(set(kinds)) == [0, 1, 2, 3]
    assert kinds == sorted(kinds)


def test_source_and_target_count_for_themselves() -> None:
    source, target = numbers("t5", PAIR)
    assert target is not None
    assert target[0] == -1  # the decoder's start
    for found in (source, target):
        assert sorted(set(found) - {-1}) == [0, 1]


@pytest.mark.parametrize("architecture", ["bert", "llama", "t5", "gpt2"])
def test_no_words_no_sentence(architecture: str) -> None:
    found, _ = numbers(architecture, TextPair("!"))
    assert set(found) <= {-1, 0}
