from headscope.ablation.plan import RANDOM_SETS, PlannedEdit, each_pair, sentence_masks
from headscope.edits import HeadSet
from headscope.types import HeadId

WITHIN, BETWEEN = "no attention within sentences", "no attention between sentences"


def heads(*names: str) -> HeadSet:
    return HeadSet.of(("encoder", HeadId(*map(int, name.split(".")))) for name in names)


KINDS = {"near": heads("0.0", "0.1", "1.2"), "far": heads("1.0"), "even": heads("0.2", "1.1")}
"""The six heads of two layers."""


def test_masks_of_one_kind_and_of_all_kinds_but_one() -> None:
    """Rows 12 to 19 of Guan's table 3: the mask is on exactly the named heads, and nothing else is done to any."""
    planned = sentence_masks(KINDS)
    expected = {
        "all heads": heads("0.0", "0.1", "0.2", "1.0", "1.1", "1.2"),
        "near": heads("0.0", "0.1", "1.2"),
        "far": heads("1.0"),
        "even": heads("0.2", "1.1"),
        "all but near": heads("0.2", "1.0", "1.1"),
        "all but far": heads("0.0", "0.1", "0.2", "1.1", "1.2"),
        "all but even": heads("0.0", "0.1", "1.0", "1.2"),
    }
    by_hand = [
        edit
        for name, members in expected.items()
        for edit in (
            PlannedEdit(f"{name}: {WITHIN}", members, "intra"),
            PlannedEdit(f"{name}: {BETWEEN}", members, "inter"),
        )
    ]
    assert planned[: len(by_hand)] == by_hand


def test_as_many_random_heads_are_masked_the_same_way() -> None:
    control = sentence_masks(KINDS)[14:]
    assert len(control) == 3 * RANDOM_SETS * 2
    assert [edit.name for edit in control[:3]] == [
        f"3 random heads (1): {WITHIN}", f"3 random heads (1): {BETWEEN}", f"3 random heads (2): {WITHIN}",
    ]  # fmt: skip
    assert [len(edit.heads) for edit in control[::6]] == [3, 1, 2]
    assert control[0].heads == control[1].heads  # the same heads under both masks
    assert [edit.how for edit in control[:2]] == ["intra", "inter"]
    assert len({edit.heads.members for edit in control[:6:2]}) > 1


def test_a_kind_that_all_heads_are_of_has_no_others() -> None:
    names = [edit.name for edit in sentence_masks({"near": heads("0.0", "0.1")})]
    assert names == [f"{name}: {mask}" for name in ("all heads", "near") for mask in (WITHIN, BETWEEN)]


def test_pairs() -> None:
    assert each_pair(KINDS, "zero")[1] == PlannedEdit(
        "near, even", heads("0.0", "0.1", "0.2", "1.1", "1.2"), "zero"
    )


def test_random_sets_are_as_large_as_the_kinds_they_stand_beside() -> None:
    every = [f"{layer}.{head}" for layer in range(6) for head in range(8)]
    planned = sentence_masks({"most": heads(*every[:40]), "few": heads(*every[40:])})
    control = [len(edit.heads) for edit in planned if "random" in edit.name]
    assert control == [40] * 2 * RANDOM_SETS + [8] * 2 * RANDOM_SETS
