"""Findings: the right heads, the right numbers, words that fit the model."""

import numpy as np
import pytest
from tests.helpers.atlases import (
    FEATURES,
    PATTERNS,
    ROLES,
    atlas_of,
    head_distance,
    per_head,
    previous_token_atlas,
    random_atlas,
    stack_arrays,
)

from headscope.report import Finding, findings
from headscope.types import HeadId, LabelledArray


def about(found: list[Finding], topic: str) -> list[Finding]:
    return [finding for finding in found if finding.topic == topic]


def role_atlas(sep: float, *, from_sep: float, stack: str = "encoder"):
    values = np.zeros((2, 2, 3, 5))
    values[..., 4] = 1
    values[..., 0, 1], values[..., 1, 1], values[..., 2, 1] = sep / 2, from_sep, sep / 2
    values[1, 0, 0, 1] = sep
    return atlas_of(
        per_head("role_attention", values, {"query_role": ("all", "sep", "other"), "role": ROLES}),
        stack=stack,
    )


def test_the_previous_token_head_is_found() -> None:
    first = findings(previous_token_atlas())[0]
    assert first.heads == (HeadId(2, 6),)
    assert (first.value, first.stderr) == (0.9, 0.01)
    assert first.text == (
        "Head 2.6 is the strongest previous-token head: it gives the previous token 90.0% ± 1.0 of its "
        "attention."
    )
    assert str(first) == first.text


def test_no_head_is_called_a_next_token_head_when_none_is() -> None:
    following = findings(previous_token_atlas())[2]
    assert following.text == "No head looks much at the next token (best 0.0: 5.0% ± 1.0)."
    assert following.verdict == "unclear"


def test_a_decoder_has_no_next_token() -> None:
    found = findings(previous_token_atlas(stack="decoder"))
    assert len(found) == 2
    assert "next" not in " ".join(map(str, found))


@pytest.mark.parametrize(("sep", "rests"), [(0.05, False), (0.3, False), (0.8, True)])
def test_little_rest_on_the_separator_is_set_beside_bert_base(sep: float, rests: bool) -> None:
    text = " ".join(map(str, findings(role_atlas(sep, from_sep=0.1))))
    assert ("In bert-base many heads give it more than half" in text) == (not rests)
    assert ("1 head gives more than half" in text) == rests


def test_little_attention_to_separators_is_said_plainly() -> None:
    found = findings(role_atlas(0.04, from_sep=0.3))
    assert found[0].text.startswith("No head looks much at [SEP] (best 1.0: 4.0% ± 1.0). In bert-base")
    assert "in 4 of 4 heads" in found[1].text
    assert found[1].value == pytest.approx(0.3 - 0.02)


@pytest.mark.parametrize(("more", "heads"), [(0.0279, 0), (0.0285, 4)])
def test_more_is_clear_beyond_students_t_of_the_texts(more: float, heads: int) -> None:
    """64 texts: 1.998 times sqrt(2) 0.01 is 0.02826; by the normal quantile it would be 0.0277."""
    found = findings(role_atlas(0.2, from_sep=0.1 + more))
    assert f"It gets clearly more (95 % interval above 0) in {heads} of 4 heads" in found[1].text


def test_much_attention_to_separators_is_counted() -> None:
    text = findings(role_atlas(0.8, from_sep=0.9))[0].text
    assert "most from head 1.0: 80.0% ± 1.0. 1 head gives more than half." in text


def test_a_decoder_has_an_end_of_text_and_a_sink() -> None:
    values = np.full((2, 3, len(PATTERNS)), 0.1)
    values[1, 2, PATTERNS.index("first_token")] = 0.7
    roles = np.full((2, 3, 3, 5), 0.2)
    arrays = per_head("named_patterns", values, {"pattern": PATTERNS}) | per_head(
        "role_attention", roles, {"query_role": ("all", "sep", "other"), "role": ROLES}
    )
    text = " ".join(map(str, findings(atlas_of(arrays, stack="decoder"))))
    assert "Attention sink: 1 head of 6 gives the first token more than half" in text
    assert "End of text gets" in text
    assert "[" not in text


def test_a_decoder_without_a_sink_is_said_to_have_none() -> None:
    values = np.full((2, 3, 1), 0.1)
    roles = np.full((2, 3, 3, 5), 0.2)
    arrays = per_head("named_patterns", values, {"pattern": ("first_token",)}) | per_head(
        "role_attention", roles, {"query_role": ("all", "sep", "other"), "role": ROLES}
    )
    text = " ".join(map(str, findings(atlas_of(arrays, stack="decoder"))))
    assert "No head gives the first token more than half" in text


def test_broadest_and_sharpest() -> None:
    values = np.array([[[1.0], [2.0]], [[0.0], [3.0]]])
    arrays = per_head("entropy", values, {"query_role": ("all",)}, units="nats")
    found = findings(atlas_of(arrays))
    assert [finding.heads for finding in found[:2]] == [(HeadId(1, 1),), (HeadId(1, 0),)]
    assert "as if it looked evenly at 20 tokens" in found[0].text
    assert "as if it looked evenly at one token" in found[1].text
    assert "even attention would" not in found[0].text  # the atlas has no baseline


def test_a_layer_is_judged_by_the_heads_that_have_a_value() -> None:
    values = np.array([[[1.0], [np.nan]], [[3.0], [2.0]]])
    text = str(findings(atlas_of(per_head("entropy", values, {"query_role": ("all",)}, units="nats")))[2])
    assert "layer 0 is the sharpest (1.00 nats" in text
    assert "layer 1 the broadest (2.50)" in text


def test_local_and_far_heads() -> None:
    values = np.full((2, 2, 21), 1 / 21)
    values[0, 1] = np.eye(21)[FEATURES.index("w00")]
    values[1, 0] = np.eye(21)[FEATURES.index("w12")]
    arrays = per_head("distance_features", values, {"feature": FEATURES})
    even = np.where(np.char.startswith(FEATURES, "w1"), 0.04, 0.0)
    arrays["distance_features_uniform"] = LabelledArray(
        even, ("feature",), {"feature": FEATURES}, "even", "1"
    )
    found = findings(atlas_of(arrays))
    assert [finding.heads for finding in found] == [(HeadId(0, 1),), (HeadId(1, 0),)]
    far = "100.0% of its attention goes to ordinary tokens half the text or more away (evenly: 24.0%)"
    assert far in found[1].text


def test_every_pattern_names_its_strongest_head() -> None:
    values = np.full((1, len(PATTERNS), len(PATTERNS)), 0.1)
    values[0] += 0.5 * np.eye(len(PATTERNS))  # head h follows pattern h
    found = about(
        findings(atlas_of(per_head("named_patterns", values, {"pattern": PATTERNS}))), "Named patterns"
    )
    assert [finding.heads[0].head for finding in found] == list(range(len(PATTERNS)))
    assert found[0].text == "The next word: most in head 0.0, 60.0% ± 1.0."


def test_pairs_and_the_odd_one_out() -> None:
    points = np.array([0.0, 0.01, 0.2, 0.6])
    arrays = head_distance(np.abs(points[:, None] - points[None]), layers=2, heads=2)
    found = findings(atlas_of(arrays))
    assert [finding.heads for finding in found[:3]] == [
        (HeadId(0, 0), HeadId(0, 1)),
        (HeadId(0, 0), HeadId(1, 1)),
        (HeadId(1, 1),),
    ]
    assert found[0].text.startswith("Heads 0.0 and 0.1 are the most alike: 0.010 ± 0.001 nats apart")
    assert (
        "Heads of one layer are not clearly more alike than heads assigned to layers at random (p = 0.3"
        in found[3].text
    )


def test_faithful_distances_are_called_sums() -> None:
    arrays = head_distance(np.array([[0, 5000.0], [5000, 0]]), layers=1, heads=2, stderr=None)
    found = findings(atlas_of(arrays, options='{"faithful": true}'))
    assert (
        found[0].text == "Heads 0.0 and 0.1 are the most alike: 5,000.000 nats (summed over queries) apart."
    )
    assert found[0].stderr is None


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
