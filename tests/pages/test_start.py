"""What a view shows first: the heads that are named, else all of them and the sharpest; what is refused before that."""

import numpy as np
import pytest
from tests.helpers.tiny import tiny

from headscope.errors import OptionError
from headscope.pages.arrays import from_attentions
from headscope.pages.seen import Observed
from headscope.pages.start import Start
from headscope.pages.start_checks import check_model, check_outline
from headscope.types import HeadId

TOKENS = ["[CLS]", "the", "cat", "sat", "[SEP]"]


@pytest.fixture
def observed() -> Observed:
    """Two layers of two heads: even ones, one that looks at [SEP] only, and one that looks at the word before."""
    weights = np.full((2, 2, 5, 5), 0.2)
    weights[0, 1] = np.eye(5)[4]
    weights[1, 0] = 0.1
    weights[1, 0, range(1, 5), range(4)] = 0.6
    weights[1, 0, 0] = 0.2
    return from_attentions(weights, TOKENS)


def test_the_sharpest_head_looks_at_words(observed: Observed) -> None:
    assert observed.sharpest() == HeadId(1, 0)  # not 0.1, which rests on [SEP]


@pytest.mark.parametrize(
    ("start", "fragment", "shown"),
    [
        (Start(), "view=model", ("model", 1, (0,))),
        (Start(view="matrix"), "view=matrix", ("matrix", 1, (0,))),
        (Start(view="head"), "view=head&layer=1&heads=0", ("head", 1, (0,))),  # never the lines of all heads
        (Start(layer=0), "view=head&layer=0", ("head", 0, ())),  # unless a layer is asked for
        (Start(heads=(1,)), "view=head&layer=0&heads=1", ("head", 0, (1,))),
        (
            Start(view="matrix", stack="encoder", layer=1, heads=(1, 0)),
            "view=matrix&layer=1&stack=encoder&heads=1,0",
            ("matrix", 1, (1, 0)),
        ),
    ],
)
def test_what_is_shown_first(start: Start, fragment: str, shown: tuple, observed: Observed) -> None:
    assert start.fragment(observed) == fragment
    chosen = start.on(observed)
    assert (chosen.view, chosen.layer, chosen.heads) == shown


def test_a_model_beside_with_fewer_heads_shows_what_it_has(observed: Observed) -> None:
    assert Start(stack="decoder", layer=7, heads=(5,)).head_in(observed) == ("encoder", 1, 0)
    assert Start(layer=0, heads=(1,)).head_in(observed) == ("encoder", 0, 1)


@pytest.mark.parametrize(
    ("model", "start", "options", "says"),
    [
        ("bert", Start(stack="cross"), {}, "no stack 'cross'"),
        ("bert", Start(layer=3), {}, "no layer 3; it has 0 to 2"),
        ("bert", Start(heads=(4,)), {}, "no head 0.4; its layers have heads 0 to 3"),
        ("bert", Start(), {"max_length": 65}, "more than the 64 tokens"),
    ],
)
def test_what_the_files_of_a_model_rule_out(model: str, start: Start, options: dict, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        check_outline(tiny(model), start, **{"max_length": None} | options)


def test_what_can_be_shown_is_not_refused() -> None:
    for name, start in (
        ("mpnet", Start()),
        ("bert", Start(view="neuron", layer=2)),
        ("t5", Start(stack="cross")),
    ):
        check_outline(tiny(name), start, max_length=None)
        check_model(tiny(name), start, neurons=None)


def test_what_only_a_loaded_model_tells() -> None:
    with pytest.raises(OptionError, match="no stack 'decoder'; it has encoder"):
        check_model(tiny("bert"), Start(stack="decoder"), neurons=None)
    with pytest.raises(OptionError, match="no layer 9 in its cross"):
        check_model(tiny("t5"), Start(stack="cross", layer=9), neurons=None)
    with pytest.raises(OptionError, match="queries and keys"):
        check_model(tiny("xlnet"), Start(view="neuron"), neurons=None)
