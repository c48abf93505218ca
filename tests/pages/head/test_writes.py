"""What a head writes, on its page and in the report: effects beside their control, tokens, copying, whom it reads."""

import re

import numpy as np
import pytest
from tests.helpers.atlases import random_atlas
from tests.planted import with_writes

import headscope as hs
from headscope.atlas import Atlas
from headscope.facts.analyses.writes import head_writes
from headscope.facts.head_arrays import head_arrays
from headscope.pages.atlas import atlas_data
from headscope.pages.head.page import head_page
from headscope.report.page import render
from headscope.types import HeadId


def written(value: float = 2.0, control: float = 0.2, error: float = 0.01) -> Atlas:
    """Of 2 x 2 heads, 1.0 adds so much to the token it looks at."""
    return with_writes(random_atlas(2, 2), value, control, error)


def test_a_clear_effect_is_said_beside_its_control() -> None:
    section = next(one for one in head_page(written(), "encoder", 1, 0).sections if one.key == "writes")
    assert [re.findall(r"[+−]\d\.\d+", text) for text in section.said] == [["+2.00", "+0.20"], ["−0.50"]]
    effects, tokens = section.charts
    assert [(bar.value, bar.mark, bar.pale) for bar in effects.bars] == [
        (2.0, 0.2, False),
        (0.0, 0.0, True),
        (0.0, 0.0, True),
    ]
    assert [(bar.label, bar.value) for bar in tokens.bars] == [("cat", 0.4), ("dog", -0.1)]


@pytest.mark.parametrize(
    ("value", "control", "error"),
    [(2.0, 0.2, 1.0), (0.25, 0.2, 0.001), (0.2, 2.0, 0.01)],
    ids=["unsure", "small", "less than its control"],
)
def test_what_is_not_clear_is_not_said(value: float, control: float, error: float) -> None:
    arrays = head_arrays(written(value, control, error), "encoder", HeadId(1, 0))
    known = head_writes(arrays, 64, heads=4)
    assert known is not None
    assert [effect.text for effect in known.effects] == ["", "", ""]


def test_a_head_that_lowers_what_it_looks_at() -> None:
    known = head_writes(head_arrays(written(-0.5, 0.1), "encoder", HeadId(1, 0)), 64, heads=4)
    assert known is not None
    assert (known.effects[0].verdict, known.effects[0].score.value) == ("below", -0.5)
    assert "−0.50" in known.effects[0].text


def test_earlier_heads_that_it_reads_are_links() -> None:
    section = next(one for one in head_page(written(), "encoder", 1, 0).sections if one.key == "composition")
    assert [(near.head, near.distance, near.note) for near in section.heads] == [
        ("0.1", 0.9, "as keys"),
        ("0.0", 0.3, "as values"),
    ]
    assert section.about.endswith("random matrices have 0.060.")
    keys = {one.key for one in head_page(written(), "encoder", 0, 0).sections}
    assert "composition" not in keys  # nothing comes before the first layer


def test_an_atlas_without_it_says_nothing() -> None:
    keys = {section.key for section in head_page(random_atlas(2, 2), "encoder", 1, 0).sections}
    assert not keys & {"writes", "composition"}


def test_pairs_of_heads_and_ranks_are_no_colours() -> None:
    [stack] = atlas_data(written(), with_maps=False).stacks
    measures = {colouring.key.partition(":")[0] for colouring in stack.colourings}
    assert {"direct_effect", "copying"} <= measures
    assert not measures & {"composition", "written_effect"}


def test_the_report_has_a_section() -> None:
    html = render(written())
    section = html[html.index('id="encoder-probe-writes"') :]
    assert "“cat” +0.40" in section
    assert "as keys (0.90)" in section


def test_a_decoder_keeps_its_tokens_in_the_atlas() -> None:
    result = hs.writes("demo-lm", ["The cat sat on the mat.", "A dog saw it."], max_length=16)
    tokens, effects = (result.to_atlas()[name] for name in ("written_token", "written_effect"))
    raised, lowered = result.tokens("11.7")
    for change, listed in (("raised", raised), ("lowered", lowered)):
        place = {"change": change, "layer": 11, "head": 7}
        assert tokens.sel(place).values.tolist() == [token.token for token in listed]
        assert effects.sel(place).values.tolist() == pytest.approx([token.effect for token in listed])
    mean = result.sums.written[11, 7] / result.sums.tokens
    by_token = (result.directions.double() @ mean).numpy()
    assert [token.effect for token in raised] == pytest.approx(np.sort(by_token)[::-1][:10])
    assert [token.effect for token in lowered] == pytest.approx(np.sort(by_token)[:10])
