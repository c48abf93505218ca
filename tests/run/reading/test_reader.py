"""The one reader: what it gives, and what it knows of what it has read."""

import hashlib

import pytest
from tests.helpers.tiny import tiny

from headscope.capture import survey
from headscope.errors import OptionError
from headscope.run.options import check_run_options, longest_text
from headscope.run.reading.reader import Reader, expected_texts
from headscope.run.reading.sample import SentenceSample
from headscope.run.watch import Watch
from headscope.text.corpus import Text, as_corpus
from headscope.text.items import TextPair

TEXTS: list[Text] = [
    "The cat sat on the mat. It was red and blue and the house of a dog was in it.",
    ("the dog", "a cat saw it"),
    ("a dog", None),
    "The mat was ☃ red.",
]


def reader(architecture: str = "bert", *, limit: int | None = None, max_length: int = 16) -> Reader:
    return Reader(as_corpus(TEXTS), Watch(survey(tiny(architecture))).encoder(max_length), limit)


def test_texts_come_in_order_with_their_place() -> None:
    texts = list(reader())
    assert [text.number for text in texts] == list(range(len(texts)))
    assert TextPair("the dog", "a cat saw it") in [text.pair for text in texts]
    assert all(len(text) == len(text.encoded.source) <= 16 for text in texts)


@pytest.mark.parametrize("architecture", ["bert", "t5"])
def test_what_was_read_is_counted(architecture: str) -> None:
    read = reader(architecture)
    texts = list(read)
    assert read.read == len(texts)
    assert read.documents == 4
    sides = [side for text in texts for side in (text.encoded.source, text.encoded.target) if side]
    assert read.tokens == sum(len(side.ids) for side in sides)
    assert read.source_tokens == sum(len(text.encoded.source.ids) for text in texts)
    said = "".join(f"{text.pair.first}\0{text.pair.second or ''}\n" for text in texts)
    assert read.digest.hexdigest() == hashlib.sha256(said.encode()).hexdigest()


def test_unknown_tokens_and_texts_that_lost_their_end_are_counted() -> None:
    read = reader(max_length=8)
    texts = list(read)
    assert read.unknown == 1
    assert read.cut == sum(text.encoded.cut for text in texts) > 0
    note = read.cut_note()
    assert note is not None
    assert note.startswith(f"{read.cut} of {read.read} texts were longer than 8 tokens")
    whole = reader(max_length=40)
    assert len(list(whole)) == whole.read
    assert whole.cut_note() is None


def test_a_second_reading_counts_anew() -> None:
    read = reader()
    first = list(read)
    counts = (read.read, read.documents, read.tokens, read.cut, read.digest.hexdigest())
    assert list(read) == first
    assert (read.read, read.documents, read.tokens, read.cut, read.digest.hexdigest()) == counts


def test_a_limit_stops_it() -> None:
    read = reader(limit=2)
    assert len(list(read)) == read.read == 2


def test_the_sample_is_offered_sentences_and_given_texts() -> None:
    sample = SentenceSample(20)
    list(Reader(as_corpus(TEXTS), Watch(survey(tiny("bert"))).encoder(16), sample=sample))
    assert TextPair("the dog", "a cat saw it") in sample.chosen()
    assert TextPair("The cat sat on the mat.") in sample.chosen()


def test_how_many_texts_there_will_be() -> None:
    read = reader(limit=3)
    assert read.expected(0) == 3
    list(read)
    assert read.expected(2) == 3
    unlimited = reader()
    assert unlimited.expected(0) is None
    texts = list(unlimited)
    assert unlimited.expected(1) == len(texts)


# Options


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"max_length": 65},
            "max_length 65 is more than the 64 tokens tiny-bert takes; give --max-length 64",
        ),
        ({"limit": 0}, "limit must be at least 1, not 0"),
        (
            {"limit": 1, "least": 2, "least_why": "two halves"},
            r"limit must be at least 2 \(two halves\), not 1",
        ),
        ({"batch_size": 0}, "batch_size must be auto or at least 1, not 0"),
        ({"batch_size": "many"}, "batch_size must be auto or at least 1, not 'many'"),
    ],
)
def test_bad_options(options: dict[str, object], says: str) -> None:
    given = {"max_length": 64, "limit": None, "batch_size": "auto", **options}
    with pytest.raises(OptionError, match=says):
        check_run_options(tiny("t5"), tiny("bert"), **given)  # type: ignore[arg-type]


def test_how_long_a_text_may_be() -> None:
    bounded, unbounded = tiny("bert"), tiny("t5")
    assert longest_text(bounded, 20) == 20
    assert longest_text(bounded, None) == longest_text(bounded, None, 384) == 64
    assert longest_text(bounded, None, 32) == 32
    assert longest_text(unbounded, None) == 512
    assert longest_text(unbounded, None, 384) == 384
    assert longest_text(unbounded, None, 700) == 700


def test_progress_counts_what_was_asked_for() -> None:
    assert expected_texts(5, 10, 0.1) == 100
    assert expected_texts(5, 10, 0.1, limit=20) == 20
    assert expected_texts(5, 10, 1.0, limit=20) == 10, "the file has fewer"
    assert expected_texts(5, 10, None, limit=20) == 20
