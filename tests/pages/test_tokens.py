from headscope.pages.shapes.views import Tokens
from headscope.pages.tokens import word_starts


def test_neighbouring_special_tokens_are_words_of_their_own() -> None:
    pieces = ["<s>", "un", "happy", "</s>", "</s>", "cat", "</s>"]
    tokens = Tokens(
        pieces=pieces,
        words=["unhappy", "cat"],
        word=[-1, 0, 0, -1, -1, 1, -1],
        segment=[-1, 0, 0, -1, -1, 1, -1],
        special=[piece in ("<s>", "</s>") for piece in pieces],
    )
    assert word_starts(tokens).tolist() == [0, 1, 3, 4, 5, 6]
