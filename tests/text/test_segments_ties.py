"""Where a segment is split that has two boundaries equally near to its middle."""

from tests.helpers.tiny import wordpiece_tokenizer

from headscope.text.encode import TextEncoder
from headscope.text.items import Sentence, TextPair
from headscope.text.segments import segments


def test_of_two_boundaries_as_near_to_the_middle_the_first_is_taken() -> None:
    encoder = TextEncoder(wordpiece_tokenizer(), "pair", 13)  # room for ten tokens of text
    three = [Sentence("the cat sat", 0), Sentence("a dog saw it", 0), Sentence("it was red", 0)]
    assert list(segments(three, encoder)) == [TextPair("the cat sat", "a dog saw it it was red")]
