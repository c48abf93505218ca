"""The one reader: what it gives, and what it knows of what it has read."""

import hashlib
import warnings
from typing import Any

import pytest
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.errors import HeadscopeWarning, OptionError
from headscope.passes.options import check_run_options, longest_text
from headscope.passes.reader import expected_texts

TEXTS: list[Any] = [
    "The cat sat on the mat. It was red and blue and the house of a dog was in it.",
    ("the dog", "a cat saw it"),
    ("a dog", None),
    "The mat was ☃ red.",
]


def facts(texts: Any, architecture: str = "bert", **options: Any) -> Any:
    """What an atlas says of the texts that were read."""
    usual: dict[str, Any] = {"max_length": 40, "measures": ["entropy"], "weigh": "looked", "sentences": 0}
    return hs.analyze(tiny(architecture), texts, **usual | options).provenance


@pytest.mark.parametrize("architecture", ["bert", "t5"])
def test_what_was_read_is_counted(architecture: str) -> None:
    pairs = [("the dog", "a cat saw it"), ("a dog", "it")]
    found = facts(pairs, architecture)
    tokenizer = tiny(architecture).tokenizer
    if architecture == "t5":  # what is written begins with its start and has no end
        tokens = sum(len(tokenizer(text).input_ids) for pair in pairs for text in pair)
    else:
        tokens = sum(len(tokenizer(*pair).input_ids) for pair in pairs)
    assert (found["texts"], found["documents"], found["tokens"]) == (2, 2, tokens)
    said = "".join(f"{first}\0{second}\n" for first, second in pairs)
    assert hashlib.sha256(said.encode()).hexdigest() in found["corpus_hash"]


def test_documents_are_cut_into_texts_and_given_ones_are_not() -> None:
    found = facts(TEXTS, max_length=24)
    assert found["documents"] == 4
    assert found["texts"] > 4
    assert facts(TEXTS, max_length=24, limit=2)["texts"] == 2


def test_texts_that_lost_their_end_are_counted() -> None:
    long = [("the cat sat on the mat", None), ("a dog", None)]
    with pytest.warns(
        HeadscopeWarning, match="1 of 2 texts were longer than 5 tokens and their ends were cut"
    ):
        facts(long, max_length=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        facts(long)


def test_a_second_reading_counts_anew() -> None:
    corpus = hs.read_text(hs.sample_path("articles"))
    first, second = (facts(corpus, limit=5, max_length=60) for _ in range(2))
    for name in ("texts", "documents", "tokens", "corpus_hash"):
        assert first[name] == second[name]


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
