"""Texts that a model wrote, as pages show them."""

from pathlib import Path

import numpy as np
import pytest
from tests.helpers.tasks import headed

import headscope as hs
from headscope.errors import OptionError
from headscope.pages.looking import TextToShow, Writing, observed_writing
from headscope.pages.page import write_view
from headscope.pages.start import Start

PROMPT = "the cat sat on the mat"


def test_tokens_that_were_written_are_marked_and_every_map_is_there() -> None:
    written = hs.generate(
        "demo-lm", "The old doctor lost a silver letter. The old doctor lost a silver", tokens=4
    )
    observed = observed_writing(written)
    tokens = observed.source
    assert tokens.generated == written.generated
    assert tokens.pieces[written.first] == "letter"
    assert tokens.words[tokens.word[written.first]] == "letter"
    assert observed.output == written.output
    assert "4 tokens" in observed.note
    np.testing.assert_array_equal(observed.layer("decoder", 3), written.attention()[3])


def test_a_model_that_reads_and_writes_has_both_texts() -> None:
    observed = observed_writing(hs.generate(headed("t5", "lm"), PROMPT, tokens=5))
    assert observed.target is not None
    assert observed.source.generated == []
    assert observed.target.generated[0] is False
    assert all(observed.target.generated[1:])
    assert {stack.name for stack in observed.stacks} == {"encoder", "decoder", "cross"}


def test_a_page_of_it_is_written(tmp_path: Path) -> None:
    model = headed("llama", "lm")
    text = TextToShow(PROMPT, None, Start(), writing=Writing(6, temperature=1.0, seed=2))
    looked, beside = text.look(model, None)
    assert beside is None
    assert looked.observed.source.generated.count(True) <= 6
    packed = write_view(tmp_path / "view.html", looked)
    assert packed.embedded.seen is not None
    assert packed.embedded.seen.source.generated == looked.observed.source.generated
    other = TextToShow(PROMPT, None, Start(), beside_text="a dog", writing=Writing(3)).look(model, None)[1]
    assert other is not None
    assert other.observed.text_a == "a dog"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"text_b": "a dog"}, "second text"),
        ({"weigh": "moved"}, "--weigh"),
        ({"neurons": True}, "--neurons"),
        ({"max_length": 8}, "--max-length"),
    ],
)
def test_what_is_only_there_for_texts_that_are_read_is_refused(
    options: dict[str, object], named: str
) -> None:
    with pytest.raises(OptionError, match=named):
        TextToShow(**{"text_a": PROMPT, "text_b": None, "start": Start(), "writing": Writing(3), **options})
