"""Findings: the right heads, numbers and verdicts. What is said of them is in tests/gallery."""

import re

import numpy as np
import pytest
from tests import planted
from tests.helpers.atlases import (
    PATTERNS,
    atlas_of,
    per_head,
    previous_token_atlas,
    random_atlas,
    stack_arrays,
)

from headscope.report import Finding, findings
from headscope.types import HeadId


def about(found: list[Finding], topic: str) -> list[Finding]:
    return [finding for finding in found if finding.topic == topic]


def numbers(finding: Finding) -> list[float]:
    """Those of a sentence, in their order."""
    return [float(number) for number in re.findall(r"\d+\.?\d*", finding.text)]


def test_the_previous_token_head_is_found() -> None:
    first = findings(previous_token_atlas())[0]
    assert first.heads == (HeadId(2, 6),)
    assert (first.value, first.stderr) == (0.9, 0.01)
    assert numbers(first) == [2.6, 90, 1]
    assert str(first) == first.text


def test_no_head_is_called_a_next_token_head_when_none_is() -> None:
    following = findings(previous_token_atlas())[2]
    assert (following.heads, following.value, following.verdict) == ((HeadId(0, 0),), 0.05, "unclear")


def test_a_decoder_has_no_next_token() -> None:
    assert len(findings(previous_token_atlas(stack="decoder"))) == 2


@pytest.mark.parametrize(("share", "verdict"), [(0.04, "unclear"), (0.3, None), (0.8, None)])
def test_the_head_that_looks_most_at_the_separator(share: float, verdict: str | None) -> None:
    first, second = findings(planted.looks_at_sep(share, from_sep=0.3))[:2]
    assert (first.heads, first.value, first.verdict) == ((HeadId(1, 0),), share, verdict)
    assert second.value == pytest.approx(0.3 - share / 2)


@pytest.mark.parametrize(("share", "heads"), [(0.3, 0), (0.8, 1)])
def test_heads_that_give_the_separator_more_than_half_are_counted(share: float, heads: int) -> None:
    first = findings(planted.looks_at_sep(share, from_sep=0.1))[0]
    assert (numbers(first)[-1] == heads) == bool(heads)


@pytest.mark.parametrize(("more", "heads"), [(0.0279, 0), (0.0285, 4)])
def test_more_is_clear_beyond_students_t_of_the_texts(more: float, heads: int) -> None:
    """64 texts: 1.998 times sqrt(2) 0.01 is 0.02826; by the normal quantile it would be 0.0277."""
    found = findings(planted.looks_at_sep(0.2, from_sep=0.1 + more))
    assert numbers(found[1])[-2:] == [heads, 4]


@pytest.mark.parametrize(("share", "head", "verdict"), [(0.7, "1.2", None), (0.1, "0.0", "unclear")])
def test_the_sink_of_a_decoder(share: float, head: str, verdict: str | None) -> None:
    sink = findings(planted.with_sink(share))[1]
    assert (list(map(str, sink.heads)), sink.value, sink.verdict) == ([head], share, verdict)
    assert (numbers(sink)[:2] == [1, 6]) == (verdict is None)
    assert "[" not in sink.text  # a decoder has no [SEP]


def test_broadest_and_sharpest() -> None:
    broadest, sharpest = findings(planted.breadths(1, 2, 0, 3))[:2]
    assert (broadest.heads, broadest.value, sharpest.heads, sharpest.value) == (
        (HeadId(1, 1),),
        3,
        (HeadId(1, 0),),
        0,
    )
    assert numbers(broadest)[-1] == 20  # e ** 3


def test_a_layer_is_judged_by_the_heads_that_have_a_value() -> None:
    layers = findings(planted.breadths(1, np.nan, 3, 2))[2]
    assert numbers(layers) == [0, 1, 1, 2.5]


def test_local_and_far_heads() -> None:
    near, far = findings(planted.near_and_far())
    assert (near.heads, far.heads) == ((HeadId(0, 1),), (HeadId(1, 0),))
    assert numbers(far)[-1] == 24  # six windows of 4 %


def test_every_pattern_names_its_strongest_head() -> None:
    found = about(findings(planted.each_pattern()), "Named patterns")
    assert [finding.heads[0].head for finding in found] == list(range(len(PATTERNS)))
    assert [finding.value for finding in found] == [0.6] * len(PATTERNS)


def test_pairs_and_the_odd_one_out() -> None:
    found = findings(planted.on_a_line())
    assert [finding.heads for finding in found[:3]] == [
        (HeadId(0, 0), HeadId(0, 1)),
        (HeadId(0, 0), HeadId(1, 1)),
        (HeadId(1, 1),),
    ]
    assert found[0].value == pytest.approx(0.01)
    assert found[0].stderr == 0.001
    assert found[3].verdict == "unclear"


def test_distances_of_the_published_form_have_no_error() -> None:
    nearest = findings(planted.summed_distances())[0]
    assert (nearest.value, nearest.stderr) == (5000, None)


@pytest.mark.slow
def test_each_stack_has_its_own_findings() -> None:
    atlas = random_atlas(2, 3, stacks=("encoder", "decoder", "cross"))
    found = findings(atlas)
    assert list(dict.fromkeys(finding.stack for finding in found)) == ["encoder", "decoder", "cross"]
    assert findings(atlas, stack="cross") == [finding for finding in found if finding.stack == "cross"]
    assert not about(findings(atlas, stack="cross"), "Neighbours")


def test_missing_values_and_measures_are_passed_over() -> None:
    arrays = stack_arrays(3, 4)
    for name, array in arrays.items():
        if array.dims[:1] == ("layer",):
            array.values[1:] = np.nan  # layers that saw nothing, the last one among them
        if name.startswith("named_patterns"):
            array.values[...] = np.nan
    found = findings(atlas_of(arrays))
    assert found
    assert not about(found, "Named patterns")
    assert all(head.layer == 0 for finding in found if finding.topic != "Likeness" for head in finding.heads)
    assert "nan" not in " ".join(map(str, found))
    assert findings(atlas_of(per_head("other", np.ones((1, 1))))) == []
